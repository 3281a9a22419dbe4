"""Documents of stored files that try to be more: paths, halves of secrets, changes in between, other tiers."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from stanch.delivery.admit import require_admitted_content
from stanch.runtime.scripted_reply import say
from tests.delivery.stage import BRAM, CURIOUS, LABEL, MODEL, Stage, State
from tests.delivery.test_documents_table import attached, compiled, picture, put

E, U, C = State.ENTRIES, State.UNKNOWN, State.EMPTY


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "in/../../secret.md",
        "/secret.md",
        "//secret.md",
        "..\\secret.md",
        "secret.md\x00.png",
        "secret.md\n",
        "%2e%2e/secret.md",
        "file:///etc/passwd",
        "http://127.0.0.1/secret.md",
        "\u202esecret.md",
        "ｓecret.md",
        "secret.md/",
        " secret.md",
    ],
)
def test_a_path_in_a_document_means_one_stored_file_or_none(stage: Stage, path: str) -> None:
    put(stage, U, "secret.md")
    put(stage, C, "in/a.md.j2", "{{ text(path) }}")
    reply = stage.ask("GET", "/api/files/compiled/in/a.md.j2", params={"values": json.dumps({"path": path})})
    if path == "secret.md/":  # the same file, written otherwise: what holds for it is asked all the same
        stage.assert_withheld(reply, "content_unknown")
        return
    assert reply.status_code == 422, reply.text
    assert "is not there" in reply.json()["detail"]


def test_a_rule_that_closes_a_folder_closes_it_to_documents(stage: Stage) -> None:
    put(stage, C, "secrets/a.md", "calm")
    put(stage, C, "in.md.j2", "{{ include('secrets/a.md') }}")
    reply = compiled(stage, "in.md.j2")
    assert (reply.status_code, "calm" in reply.text) == (403, False)
    assert stage.send("GET", "/api/files/compiled/in.md.j2").status_code == 200


def test_somebody_elses_file_is_not_there(stage: Stage) -> None:
    stage.send("PUT", "/api/files/text/own.md?mine=true", json={"content": "of ada"})
    put(stage, C, "in.md.j2", "{{ include('own.md') }}")
    assert "of ada" in stage.send("GET", "/api/files/compiled/in.md.j2").json()["html"]
    reply = stage.send("GET", "/api/files/compiled/in.md.j2", BRAM)
    assert (reply.status_code, "of ada" in reply.text) == (422, False)


def test_two_halves_of_a_secret_are_one_on_a_page(stage: Stage) -> None:
    half = len(stage.value) // 2
    put(stage, C, "x.md", stage.value[:half])
    put(stage, C, "y.md", stage.value[half:])
    put(stage, C, "a.html.j2", "<p>{{ include('x.md') }}{{ include('y.md') }}</p>")
    assert f"<p>{LABEL}</p>" in compiled(stage, "a.html.j2").json()["html"]
    put(stage, C, "b.html.j2", "<p>{{ text('x.md') }}{{ text('y.md') }}</p>")
    assert f"<p>{LABEL}</p>" in compiled(stage, "b.html.j2").json()["html"]


def test_a_secret_of_a_template_is_no_part_of_it(stage: Stage) -> None:
    put(stage, E, "a.md.j2", "{% set k = '" + stage.value + "' %}{{ k }} {{ k|length }} {{ k[3:9] }}|{{ k|upper }}|")
    page = compiled(stage, "a.md.j2")
    assert LABEL in page.json()["html"]
    assert stage.value[3:9] not in page.text
    assert stage.value.upper()[3:9] not in page.text
    assert f" {len(stage.value)} " not in page.json()["html"]


def test_the_version_that_was_admitted_is_the_one_that_is_read(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    put(stage, C, "a.md.j2", "{{ include('b.md') }}")
    put(stage, C, "b.md", "first")
    admitted = require_admitted_content

    def changing(delivery: Any, source: Any) -> Any:
        found = admitted(delivery, source)
        if source.id.startswith("b.md"):
            put(stage, U, "b.md", stage.value)
        return found

    monkeypatch.setattr("stanch.content.compile_reading.require_admitted_content", changing)
    assert "first" in compiled(stage, "a.md.j2").json()["html"]
    monkeypatch.undo()
    stage.assert_withheld(compiled(stage, "a.md.j2"), "content_unknown")


def test_a_picture_with_a_vaults_value_in_its_head_is_not_sent(stage: Stage) -> None:
    """Nobody recorded anything of it, and it is withheld on its way to the provider all the same, or made anew."""
    stage.secret("OTHER", "the key is nowhere and nothing else")
    picture(stage, State.UNRECORDED)
    stage.tool("files_show", path="p.png")
    assert "nowhere" not in json.dumps(stage.models.bodies()[-1])


def test_what_is_attached_stays_with_whom_it_was_for(stage: Stage) -> None:
    put(stage, C, "private/a.txt", "only for the trusted")
    session = stage.chat_of(MODEL)
    stage._steps.append(say("seen"))
    assert attached(stage, "private/a.txt", session=session).json()["state"] == "completed"
    stage.post(f"/api/sessions/{session}/model", {"model": CURIOUS})
    messages = stage.send("GET", f"/api/sessions/{session}/messages").json()["items"]
    assert [one["type"] for one in messages[0]["parts"]] == ["text", "text"]
    withheld = stage.send("GET", f"/api/sessions/{session}/withheld").json()
    assert sum(withheld["pieces"].values()) >= 1, withheld
    # The model of a tier that is closed there is not given it in the first place.
    other = stage.chat_of(CURIOUS)
    refused = attached(stage, "private/a.txt", session=other)
    stage.assert_withheld(refused, "content_tier")


def test_what_may_be_attached(stage: Stage) -> None:
    put(stage, C, "large.txt", "x" * 300_000)
    for paths, status in ((["nowhere.txt"], 404), (["../a.txt"], 422), (["large.txt"], 422), (["x"] * 11, 422)):
        reply = attached(stage, *paths)
        assert reply.status_code == status, reply.text
    assert stage.models.bodies() == []


def test_a_view_says_what_it_may_do(stage: Stage) -> None:
    put(stage, C, "a.html", "<h1>x</h1><script>act()</script><svg onload=act()></svg>")
    reply: httpx2.Response = stage.ask("GET", "/api/files/view/a.html")
    assert "act()" not in reply.text
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox; ")
    assert reply.headers["content-disposition"].startswith("inline; ")
    assert reply.headers["x-content-type-options"] == "nosniff"
    put(stage, C, "p.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script>act()</script></svg>")
    assert stage.ask("GET", "/api/files/image/p.svg").status_code == 422
    assert "<svg" not in stage.ask("GET", "/api/files/view/p.svg").text
