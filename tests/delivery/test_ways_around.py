"""Ways around the gate that were found once: another operation, another reader, another moment, the same bytes."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from stanch.content.runs import ReadRun, read_run
from stanch.storage.content_knowledge import KnowledgeRows
from tests.content.documents import xlsx
from tests.delivery.stage import CURIOUS, LABEL, NAME, Stage, State
from tests.http.served import BY, COPILOT, KEY, PERSON, WORKFLOW


def put(stage: Stage, path: str, content: str, **query: Any) -> None:
    reply = stage.send("PUT", f"/api/files/text/{path}", json={"content": content}, params=query)
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize("everywhere", [True, False])
def test_an_edit_does_not_tell_what_a_secret_holds(stage: Stage, everywhere: bool) -> None:
    """A guess that is written beside a secret is replaced there alone, whether or not the secret holds it, too."""
    stage.free()
    text = f"é the key is {stage.value} and nothing else\n"
    stage.write(State.ENTRIES, "PUT", "/api/files/text/a.txt", json={"content": text})
    answers = []
    for guess in (stage.value[:6], "qqqqqq"):
        change = {"old": "nothing else", "new": f"nothing else {guess}"}
        assert stage.ask("PATCH", "/api/files/text/a.txt", json=change).status_code == 200
        reply = stage.ask("PATCH", "/api/files/text/a.txt", json={"old": f"{guess}", "new": "", "all": everywhere})
        answers.append((reply.status_code, reply.json().get("replaced"), reply.json().get("places")))
        assert stage.send("PATCH", "/api/files/text/a.txt", json={"old": " else ", "new": " else"}).status_code == 200
    assert answers[0] == answers[1]
    assert answers[0][:2] == (200, 1)
    assert stage.send("GET", "/api/files/text/a.txt").json()["text"] == text, "the secret is what it was"
    reply = stage.ask("PATCH", "/api/files/text/a.txt", json={"old": f"is {LABEL}", "new": "x"})
    assert reply.json()["errors"][0]["message"].startswith("'old' takes in a place where a secret was taken out")


@pytest.mark.parametrize("principal", [PERSON, KEY, WORKFLOW], ids=lambda one: one.kind.value)
def test_what_a_step_writes_is_known_as_its_arguments_are(stage: Stage, principal: Any) -> None:
    """A run is repeated by somebody who says nothing of secrets: what it writes is no more known for that."""
    words = "the key is nowhere"
    steps = [
        {"tool": "files_write", "arguments": {"path": "out.txt", "content": words}},
        {"tool": "knowledge_add", "arguments": {"title": "out", "text": words}},
        {"tool": "runs_record", "arguments": {"name": "out", "output": words}},
        {"tool": "tables_create", "arguments": {"name": "out", "columns": [{"name": "a"}]}},
        {"tool": "tables_insert", "arguments": {"table": "out", "rows": [{"a": words}]}},
    ]
    run = stage.write(State.UNKNOWN, "POST", "/api/runs", json={"name": "n", "steps": steps}).json()["id"]
    done = stage.send("POST", f"/api/runs/{run}/execute", principal, json={}).json()
    assert done["run"]["state"] == "completed", done
    stage.assert_withheld(stage.ask("GET", "/api/files/text/out.txt"), "content_unknown")
    assert stage.ask("GET", "/api/knowledge/documents").json()["reasons"] == {"content_unknown": 1}
    assert stage.ask("GET", "/api/tables/out/rows").json()["items"] == []
    (made,) = [one["id"] for one in stage.send("GET", "/api/runs").json()["items"] if one["name"] == "out"]
    assert words not in stage.ask("GET", f"/api/runs/{made}").text
    assert stage.send("GET", "/api/files/text/out.txt").json()["text"] == words


def test_what_a_step_writes_carries_a_secret_that_was_forgotten(stage: Stage) -> None:
    steps = [{"tool": "files_write", "arguments": {"path": "out.txt", "content": stage.written(State.ENTRIES)}}]
    run = stage.write(State.ENTRIES, "POST", "/api/runs", json={"name": "n", "steps": steps}).json()["id"]
    stage.service.vault.revoke(NAME, by=BY)
    stage.service.vault.forget(NAME, by=BY)
    assert stage.send("POST", f"/api/runs/{run}/execute", json={}).status_code == 201
    stage.assert_withheld(stage.ask("GET", "/api/files/content/out.txt"), "content_opaque")
    read = stage.ask("GET", "/api/files/text/out.txt")
    stage.assert_clean(read)
    assert LABEL in read.json()["text"]


def test_a_call_does_not_say_again_what_a_run_has_stored(stage: Stage) -> None:
    """The arguments of a step are stored content, and the call that a step is holds them."""
    stage.free()
    steps = [{"tool": "execute_cmd", "arguments": {"command": f"echo {stage.value}"}}]
    run = stage.write(State.ENTRIES, "POST", "/api/runs", json={"name": "n", "steps": steps}).json()["id"]
    stage.assert_clean(stage.ask("POST", f"/api/runs/{run}/execute", json={}))
    listed = stage.ask("GET", f"/api/sessions/{stage.chat}/calls")
    stage.assert_clean(listed)
    assert f"echo {LABEL}" in listed.text
    (call,) = listed.json()["items"]
    stage.assert_clean(stage.ask("GET", f"/api/calls/{call['id']}"))
    assert stage.holds(stage.send("GET", f"/api/calls/{call['id']}").content), "for a person it is what it is"
    # One that has not run yet, and is started, finished or taken back.
    for end in ("finish", "cancel"):
        made = stage.service.calls.submit(stage.chat, "execute_cmd", {"command": f"echo {stage.value}"}, by=BY)
        path = f"/api/calls/{made.call.id}"
        started = stage.ask("POST", f"{path}/start", json={})
        assert started.json()["call"]["state"] == "running"
        stage.assert_clean(started)
        stage.assert_clean(
            stage.ask("POST", f"{path}/{end}", json={"outcome": "completed"} if end == "finish" else None)
        )


@pytest.mark.parametrize("form", ["xlsx", "utf-16"])
def test_a_run_file_is_known_by_its_text(stage: Stage, form: str) -> None:
    """A document holds its text packed, in which no value is found."""
    data = xlsx({"S": [[stage.value]]}) if form == "xlsx" else stage.value.encode("utf-16")
    named = {"file": "f.bin", "base64": base64.b64encode(data).decode()}
    run = stage.write(State.ENTRIES, "POST", "/api/runs", json={"name": "n", "output": named}).json()["id"]
    stage.assert_withheld(stage.ask("GET", f"/api/runs/{run}/files/f.bin"), "content_opaque")
    read = stage.ask("GET", f"/api/runs/{run}?base64=true").json()
    assert [one["code"] for one in read["not_inlined"]] == ["content_opaque"]
    stage.write(State.ENTRIES, "PUT", f"/api/runs/{run}/files/g.bin", content=data)
    stage.assert_withheld(stage.ask("GET", f"/api/runs/{run}/files/g.bin"), "content_opaque")
    assert stage.send("GET", f"/api/runs/{run}/files/f.bin").content == data


def test_no_page_and_no_archive_names_a_closed_file(stage: Stage) -> None:
    for path in ("open/a.txt", "private/plans.txt", "z.txt"):
        put(stage, path, "x")
    chat = stage.chat_of(CURIOUS)
    found, cursor, texts = [], None, []
    while True:
        query = {"limit": 1, **({} if cursor is None else {"cursor": cursor})}
        page = stage.ask("GET", "/api/files", session=chat, params=query)
        found += [one["path"] for one in page.json()["items"]]
        texts.append(page.text)
        cursor = page.json()["next"]
        if cursor is None:
            break
        texts.append(base64.urlsafe_b64decode(cursor.partition(".")[2] + "==").decode("latin-1"))
    assert found == ["open/a.txt", "z.txt"]
    assert len(texts) == 5
    reply = stage.ask("GET", "/api/files/archive", session=chat)
    with zipfile.ZipFile(io.BytesIO(reply.content)) as packed:
        manifest = packed.read("stanch-manifest.json").decode()
        assert set(packed.namelist()) == {"open/a.txt", "z.txt", "stanch-manifest.json"}
    assert json.loads(manifest)["withheld"] == 1
    assert not any("private" in text or "plans" in text for text in [*texts, manifest])


def test_a_page_goes_on_behind_a_name_with_a_secret(stage: Stage) -> None:
    stage.secret("OTHER", "longsecretvalue1")
    for path in ("a/longsecretvalue1.txt", "z.txt"):
        put(stage, path, "x")
    first = stage.ask("GET", "/api/files?limit=1").json()
    assert [one["path"] for one in first["items"]] == ["a/{{OTHER}}.txt"]
    second = stage.ask("GET", "/api/files", params={"limit": 1, "cursor": first["next"]})
    assert [one["path"] for one in second.json()["items"]] == ["z.txt"]
    for other in ("x", stage.send("GET", "/api/files?limit=1").json()["next"]):
        assert stage.ask("GET", "/api/files", params={"cursor": other}).status_code == 422


def test_what_came_from_elsewhere_on_the_disk_is_withheld_item_by_item(stage: Stage) -> None:
    outside = stage.root / "outside.txt"
    outside.write_text("outside words", "utf-8")
    steps = [{"tool": "read_file", "arguments": {"path": str(outside)}}]
    run = stage.send("POST", "/api/runs", json={"name": "n", "input": "seen", "steps": steps}).json()["id"]
    stage.free()
    new = stage.send("POST", f"/api/runs/{run}/execute", json={"session": stage.chat}).json()["run"]["id"]
    bound = stage.chat_of("fake/scripted")
    read = stage.ask("GET", f"/api/runs/{new}", session=bound)
    assert read.status_code == 200, read.text
    assert read.json()["values"]["input"] == "seen"
    assert [one["code"] for one in read.json()["steps"][0]["withheld"]] == ["content_asks"]
    ran = stage.ask("POST", "/api/tools/read_file/execute", json={"arguments": {"path": str(outside)}})
    assert ran.json()["value"] == "outside words"


def test_a_result_that_a_person_approved_is_given(stage: Stage) -> None:
    """The yes to the call is one to what it reads."""
    outside = stage.root / "outside.txt"
    outside.write_text("outside words", "utf-8")
    arguments = {"path": str(outside)}
    call = stage.approved("tools_execute", {"tool": "read_file", "arguments": arguments})
    asked = stage.ask("POST", "/api/tools/read_file/execute", call=call, json={"arguments": arguments})
    inner = asked.json()["reason"]["call_id"]
    (waits,) = stage.get("/api/inbox")["approvals"]
    stage.post(f"/api/inbox/approvals/{waits['request_id']}/resolve", {"action": "approve"})
    again = stage.approved("tools_execute", {"tool": "read_file", "arguments": arguments, "call": inner})
    reply = stage.ask("POST", "/api/tools/read_file/execute", call=again, json={"arguments": arguments, "call": inner})
    assert reply.json().get("value") == "outside words", reply.text


@pytest.mark.parametrize("part", ["text/c.txt", "grep?pattern=unknownwords", "search?query=unknownwords", "archive"])
def test_a_file_whose_row_was_led_to_other_bytes_is_unknown(stage: Stage, part: str) -> None:
    body = {"content": "some unknownwords here"}
    stage.write(State.UNKNOWN, "PUT", "/api/files/text/u.txt", json=body)
    put(stage, "c.txt", "clean")
    stage.rows("UPDATE files SET (digest, size) = (SELECT digest, size FROM files WHERE path = 'u.txt')")
    reply = stage.ask("GET", f"/api/files/{part}")
    assert b"some unknown" not in reply.content
    if part == "archive":
        with zipfile.ZipFile(io.BytesIO(reply.content)) as packed:
            assert packed.namelist() == ["stanch-manifest.json"]


@pytest.mark.parametrize("part", ["/text", "", None])
def test_a_document_that_is_changed_meanwhile_is_withheld(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, part: str | None
) -> None:
    """What is known of the one that came is not known of the one that went."""
    body = {"title": "unknowntitle", "text": "unknownwords"}
    made = stage.write(State.UNKNOWN, "POST", "/api/knowledge/documents", json=body).json()["id"]
    real: Callable[..., Any] = KnowledgeRows.document_provenance
    done: list[int] = []

    def racing(self: KnowledgeRows, ids: Any) -> Any:
        if not done:
            done.append(1)
            change = {"title": "t", "text": "clean", "tags": ["x"]}
            assert stage.send("PATCH", f"/api/knowledge/documents/{made}", json=change).status_code == 200
        return real(self, ids)

    monkeypatch.setattr(KnowledgeRows, "document_provenance", racing)
    path = "/api/knowledge/documents" if part is None else f"/api/knowledge/documents/{made}{part}"
    reply = stage.ask("GET", path)
    assert done
    assert "unknown" not in reply.text.replace("content_unknown", "").replace("nobody can say", "")
    assert stage.ask("GET", f"/api/knowledge/documents/{made}/text").json()["text"] == "clean"


def test_no_header_of_a_download_holds_a_secret(stage: Stage) -> None:
    stage.secret("OTHER", "longsecretvalue1")
    put(stage, "longsecretvalue1", "x", media_type="text/longsecretvalue1")
    reply = stage.ask("GET", "/api/files/content/longsecretvalue1")
    assert reply.status_code == 200
    assert "longsecretvalue1" not in str(reply.headers)
    assert "longsecretvalue1" in str(stage.send("GET", "/api/files/content/longsecretvalue1").headers)


def test_an_approved_call_may_say_what_is_meant_anyway(stage: Stage) -> None:
    said = {"path": "a.txt", "content": "x", "mine": False}
    call = stage.approved("files_write", said)
    reply = stage.ask("PUT", "/api/files/text/a.txt", call=call, json={"content": "x"})
    assert reply.status_code == 200, reply.text
    call = stage.approved("files_write", said)
    assert stage.ask("PUT", "/api/files/text/a.txt", call=call, json={"content": "y"}).status_code == 403
    call = stage.approved("tools_execute", {"tool": "execute_cmd", "arguments": {"command": "true", "timeout": 1}})
    body = {"arguments": {"command": "true", "timeout": True}}
    reply = stage.ask("POST", "/api/tools/execute_cmd/execute", call=call, json=body)
    assert reply.json()["reason"]["code"] == "call_changed", "1 is not true"
    # As the command says it, which leaves nothing out.
    stage.service.tools.add("look_up", lambda _: "found")
    call = stage.approved("tools_execute", {"tool": "look_up", "arguments": {}})
    reply = stage.ask("POST", "/api/tools/look_up/execute", call=call, json={})
    assert "call_id" in reply.json()["reason"], "now it is the call of the tool that waits"


def test_a_result_made_of_items_without_a_path_is_closed_with_them(stage: Stage) -> None:
    """One item of a place that is open does not open the others that it is told with."""
    policy = stage.policy.read_text("utf-8").replace('otherwise = { read = "allow"', 'otherwise = { read = "deny"')
    stage.write_policy(policy.replace('path = "private"\nread = "deny"', 'path = "open"\nread = "allow"'))
    put(stage, "open/a.txt", "x")
    stage.send("POST", "/api/knowledge/imports", json={"path": "open/a.txt", "title": "openly"})
    body = {"name": "n", "input": 1, "steps": [{"tool": "knowledge_list", "arguments": {}}]}
    run = stage.send("POST", "/api/runs", json=body).json()["id"]
    results = []
    for _ in range(2):
        new = stage.send("POST", f"/api/runs/{run}/execute", json={}).json()["run"]["id"]
        access = stage.content.access(COPILOT, BY, session_id=stage.chat_of(CURIOUS), tool="runs_read")
        read = stage.content.leaving(access, read_run(access, ReadRun(run=new)))
        results.append(read["steps"][0]["values"].get("result"))
        stage.send("POST", "/api/knowledge/documents", json={"title": "closely", "text": "x"})
    assert [one["title"] for one in results[0]["items"]] == ["openly"]
    assert results[1] is None


@pytest.mark.parametrize("figure", ["sum", "avg"])
def test_a_figure_made_of_several_cells_tells_no_number_that_is_a_secret(stage: Stage, figure: str) -> None:
    """Whoever knows the other cells takes them away again. Secrets in other columns change nothing."""
    stage.secret("ACCOUNT", "8765432109")
    columns = [{"name": "n", "type": "integer"}, {"name": "a"}]
    stage.send("POST", "/api/tables", json={"name": "t", "columns": columns})
    stage.send("POST", "/api/tables/t/rows", json={"rows": [{"n": 5}, {"n": 7}]})
    asked = {"figures": [{"figure": figure, "column": "n"}]}
    carried = {"rows": [{"n": 6, "a": stage.value}]}
    stage.write(State.ENTRIES, "POST", "/api/tables/t/rows", json=carried)
    (told,) = stage.ask("POST", "/api/tables/t/query", json=asked).json()["figures"]
    assert (told["withheld"], told["value"]) == (False, 18 if figure == "sum" else 6.0)
    headers = stage.headers(State.ENTRIES, "ACCOUNT")
    assert stage.send(
        "POST", "/api/tables/t/rows", WORKFLOW, json={"rows": [{"n": 8765432109}]}, headers=headers
    ).is_success
    (told,) = stage.ask("POST", "/api/tables/t/query", json=asked).json()["figures"]
    assert (told["withheld"], told["value"], told["reason"]) == (True, None, "content_cut")
    few = {**asked, "filters": [{"column": "n", "how": "<", "value": 7}]}
    (told,) = stage.ask("POST", "/api/tables/t/query", json=few).json()["figures"]
    assert told["value"] is not None, "over rows that do not hold it"
    (told,) = stage.send("POST", "/api/tables/t/query", json=asked).json()["figures"]
    assert told["value"] is not None
