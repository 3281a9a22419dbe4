"""The rows of the policy table about documents that are made of files, and about files as they are shown."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import httpx2
import pypdf
import pytest
from PIL import Image, PngImagePlugin

from stanch.runtime.scripted_reply import say
from tests.delivery.stage import CLEAN, LABEL, MODEL, OTHERS, Stage, State, gate_off
from tests.http.served import WORKFLOW

U, E = State.UNKNOWN, State.ENTRIES
BINARY = {"Content-Type": "application/octet-stream"}
WITHHELD = [(U, "content_unknown"), (E, "content_opaque")]
TEMPLATE = (
    "# Report\n\n{{ include('parts/' ~ day ~ '.md') }}\n{{ table('parts/t.csv') }}\n"
    "{% if day == 'never' %}{{ include('unknown.md') }}{{ text('secrets.md') }}{% endif %}\n"
)


def put(stage: Stage, state: State, path: str = "a.md", text: str | None = None) -> str:
    """A text file of that state."""
    text = stage.written(state) if text is None else text
    stage.write(state, "PUT", f"/api/files/text/{path}", json={"content": text})
    return text


def picture(stage: Stage, state: State, path: str = "p.png") -> bytes:
    """A picture of that state: the secret stands in its head, but for the clean ones."""
    out, head = io.BytesIO(), PngImagePlugin.PngInfo()
    head.add_text("comment", stage.written(state))
    Image.new("RGB", (64, 48), "red").save(out, "PNG", pnginfo=head)
    headers = {**stage.headers(state), **BINARY}
    if state is State.EMPTY:
        # WHY: bytes carry whatever their writer says that it used.
        del headers["Stanch-Secrets"]
    reply = stage.send("PUT", f"/api/files/content/{path}", WORKFLOW, content=out.getvalue(), headers=headers)
    assert reply.status_code < 300, reply.text
    return out.getvalue()


def compiled(stage: Stage, path: str = "a.md", **values: Any) -> httpx2.Response:
    reply = stage.ask("GET", f"/api/files/compiled/{path}", params={"values": json.dumps(values)})
    stage.assert_clean(reply)
    return reply


def pdf(stage: Stage, path: str = "a.md", **values: Any) -> httpx2.Response:
    return stage.ask("GET", f"/api/files/pdf/{path}", params={"values": json.dumps(values)})


def words_of(data: bytes) -> str:
    return "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages)


def report(stage: Stage, state: State) -> None:
    """A template, a part of which is of that state."""
    put(stage, State.EMPTY, "report.md.j2", TEMPLATE)
    put(stage, state, "parts/monday.md")
    put(stage, State.EMPTY, "parts/t.csv", "name,size\nred,3\n")
    put(stage, U, "unknown.md")


# a rendered view


@pytest.mark.parametrize(("state", "code"), WITHHELD)
def test_rendered_view__withheld(stage: Stage, state: State, code: str) -> None:
    put(stage, state)
    stage.assert_withheld(stage.ask("GET", "/api/files/view/a.md"), code)
    picture(stage, state)
    put(stage, State.EMPTY, "b.md", "![red](p.png)")
    stage.assert_withheld(stage.ask("GET", "/api/files/view/b.md"), code)


@pytest.mark.parametrize("state", CLEAN)
def test_rendered_view__clean(stage: Stage, state: State) -> None:
    put(stage, state, text="# Title\n\nthe key is *nowhere*\n")
    reply = stage.ask("GET", "/api/files/view/a.md")
    assert reply.status_code == 200, reply.text
    assert "<h1>Title</h1>" in reply.text
    assert "<em>nowhere</em>" in reply.text


# a streamed picture


@pytest.mark.parametrize(("state", "code"), WITHHELD)
def test_streamed_picture__withheld(stage: Stage, state: State, code: str) -> None:
    picture(stage, state)
    for width in ({}, {"width": 16}):
        stage.assert_withheld(stage.ask("GET", "/api/files/image/p.png", params=width), code)


@pytest.mark.parametrize("state", CLEAN)
def test_streamed_picture__clean(stage: Stage, state: State) -> None:
    data = picture(stage, state)
    reply = stage.ask("GET", "/api/files/image/p.png")
    assert (reply.content, reply.headers["content-type"]) == (data, "image/png")
    small = stage.ask("GET", "/api/files/image/p.png", params={"width": 16})
    assert Image.open(io.BytesIO(small.content)).size == (16, 12)


# a file in a chat


def attached(stage: Stage, *paths: str, session: str | None = None) -> httpx2.Response:
    session = session or stage.chat_of(MODEL)
    path = f"/api/sessions/{session}/messages?wait=30"
    return stage.send("POST", path, json={"text": "look", "attachments": list(paths)})


@pytest.mark.parametrize(("state", "code"), WITHHELD)
def test_inline_attachment__withheld(stage: Stage, state: State, code: str) -> None:
    picture(stage, state)
    put(stage, state, "a.txt")
    for path in ("p.png", "a.txt"):
        told = stage.tool("files_show", path=path)
        stage.assert_clean(told)
        assert "and nothing else" not in told
        assert "image/png" not in told
        sent = len(stage.models.bodies())
        session = stage.chat_of(MODEL)
        stage.assert_withheld(attached(stage, path, session=session), code)
        assert len(stage.models.bodies()) == sent
        assert stage.send("GET", f"/api/sessions/{session}/messages").json()["total"] == 0


@pytest.mark.parametrize("state", CLEAN)
def test_inline_attachment__clean(stage: Stage, state: State) -> None:
    picture(stage, state)
    put(stage, state, "a.txt")
    assert "the key is nowhere and nothing else" in stage.tool("files_show", path="a.txt")
    stage.tool("files_show", path="p.png")
    assert "data:image/png;base64," in json.dumps(stage.models.bodies()[-1])
    stage._steps.append(say("seen"))
    assert attached(stage, "p.png", "a.txt").json()["state"] == "completed"
    (words,) = [one for one in stage.models.bodies()[-1]["messages"] if one["role"] == "user"]
    assert [one["type"] for one in words["content"]] == ["text", "image_url", "text"]
    assert "the key is nowhere" in words["content"][2]["text"]


def test_an_attachment_meets_the_rules_as_the_one_who_attaches_it_would(stage: Stage) -> None:
    for path in ("mine.txt", "theirs.txt", "shut.txt"):
        put(stage, State.EMPTY, path)
    context = {"working_directory": "work"}
    for path, action in (("mine.txt", "ask"), ("theirs.txt", "ask"), ("shut.txt", "deny")):
        rule = {"tool_pattern": "@read", "path_pattern": path, "action": action, "mandatory": path == "theirs.txt"}
        stage.post("/api/approval/rules", {**rule, "priority": 1}, 201)
    stage._steps.append(say("seen"))
    session = stage.chat_of(MODEL, run_context=context)
    assert stage.ask("GET", "/api/files/text/mine.txt", session=session).status_code == 403
    assert attached(stage, "mine.txt", session=session).json()["state"] == "completed"
    for path in ("theirs.txt", "shut.txt"):
        sent = len(stage.models.bodies())
        assert attached(stage, path, session=session).status_code == 403
        assert len(stage.models.bodies()) == sent


# a document as a page


def test_compiled_page__unknown(stage: Stage) -> None:
    report(stage, U)
    refused = compiled(stage, "report.md.j2", day="monday")
    stage.assert_withheld(refused, "content_unknown")
    assert refused.json()["reason"]["subject"] == "file parts/monday.md"
    # Whoever asks for a page that does not read it gets one.
    put(stage, State.EMPTY, "parts/tuesday.md", "calm")
    assert "calm" in compiled(stage, "report.md.j2", day="tuesday").json()["html"]
    put(stage, U)
    stage.assert_withheld(compiled(stage), "content_unknown")
    told = stage.tool("files_compile", path="a.md")
    stage.assert_clean(told)
    assert "and nothing else" not in told


def test_compiled_page__entries(stage: Stage) -> None:
    report(stage, E)
    page = compiled(stage, "report.md.j2", day="monday").json()
    assert f"the key is {LABEL} and nothing else" in page["html"]
    assert page["files"] == ["report.md.j2", "parts/monday.md", "parts/t.csv"]
    told = stage.tool("files_compile", path="report.md.j2", values={"day": "monday"})
    stage.assert_clean(told)
    assert f"the key is {LABEL} and nothing else" in told
    # What a page makes of a text never parts a secret that stood in it.
    marked = "ab_cd_ef*gh*ij<b>k</b>"
    stage.secret("MARKED", marked)
    headers = stage.headers(E, "MARKED")
    stage.write(E, "PUT", "/api/files/text/m.md", json={"content": f"x {marked} y"}, headers=headers)
    assert "x {{MARKED}} y" in compiled(stage, "m.md").json()["html"]
    # Errors name what the document names, which may be a secret.
    put(stage, E, "e.md.j2", f"\n{{{{ include('{stage.value}.md') }}}}")
    failed = compiled(stage, "e.md.j2")
    assert (failed.status_code, f"'{LABEL}.md'" in failed.json()["detail"]) == (422, True)
    put(stage, E, "e.md.j2", f"\n{{{{ x{stage.value[3:9]} }}}}{stage.value}")
    failed = compiled(stage, "e.md.j2")
    assert failed.json()["detail"].startswith("'e.md.j2': ")
    assert failed.status_code == 422
    # A picture is bytes, in a page too.
    picture(stage, E)
    put(stage, State.EMPTY, "b.md", "![red](p.png)")
    stage.assert_withheld(compiled(stage, "b.md"), "content_opaque")


@pytest.mark.parametrize("state", CLEAN)
def test_compiled_page__clean(stage: Stage, state: State) -> None:
    report(stage, state)
    page = compiled(stage, "report.md.j2", day="monday").json()
    assert "the key is nowhere and nothing else" in page["html"]
    assert "<td>red</td>" in page["html"]
    data = picture(stage, state)
    put(stage, state, "b.md", "![red](p.png)")
    html = compiled(stage, "b.md").json()["html"]
    shown = base64.b64decode(html.partition("base64,")[2].partition('"')[0])
    assert Image.open(io.BytesIO(shown)).size == Image.open(io.BytesIO(data)).size
    assert "red" in stage.tool("files_compile", path="b.md")


# a document as a PDF


@pytest.mark.parametrize(("state", "code"), WITHHELD)
def test_compiled_pdf__withheld(stage: Stage, state: State, code: str) -> None:
    put(stage, state)
    stage.assert_withheld(pdf(stage), code)
    report(stage, state)
    stage.assert_withheld(pdf(stage, "report.md.j2", day="monday"), code)
    put(stage, State.EMPTY, "parts/tuesday.md", "calm")
    assert pdf(stage, "report.md.j2", day="tuesday").status_code == 200


@pytest.mark.parametrize("state", CLEAN)
def test_compiled_pdf__clean(stage: Stage, state: State) -> None:
    report(stage, state)
    reply = pdf(stage, "report.md.j2", day="monday")
    assert reply.headers["content-type"] == "application/pdf"
    assert "the key is nowhere and nothing else" in words_of(reply.content)
    assert pypdf.PdfReader(io.BytesIO(reply.content)).metadata.title == "Report"  # type: ignore[union-attr]


# everybody else


def test_nothing_is_read_of_what_is_known_of_a_document_for_anybody_else(stage: Stage) -> None:
    report(stage, E)
    picture(stage, U)
    put(stage, E, "b.md", f"![red](p.png) {stage.value}")
    values = {"values": json.dumps({"day": "monday"})}
    ways: list[tuple[str, dict[str, Any]]] = [
        ("compiled/report.md.j2", values),
        ("pdf/report.md.j2", values),
        ("view/b.md", {}),
        ("image/p.png", {"width": 32}),
        ("pdf/b.md", {}),
    ]
    before = stage.reads
    for way, query in ways:
        given = {stage.send("GET", f"/api/files/{way}", who, params=query).content for who in OTHERS}
        with gate_off():
            given.add(stage.send("GET", f"/api/files/{way}", params=query).content)
        assert len(given) == 1, way
        assert stage.value.encode() in given.pop() or "pdf" in way or "image" in way
    assert stage.reads == before
