"""Runs and tools over REST: who may, what is refused, and that nothing of a session is another's."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from stanch.app.tools import ToolResult
from stanch.secrets.text import Secret
from stanch.values.fault import BadInput
from stanch.values.vault import SecretScope
from tests.http.served import AGENT, BY, CLIENT, COPILOT, ORGANIZATION_AGENT, PERSON, WORKFLOW, World
from tests.stores.places import together

COPILOTS = {"kind": COPILOT.kind.value, "id": COPILOT.id, "service_id": COPILOT.service_id}


def record(world: World, *steps: dict[str, Any], **more: Any) -> str:
    """The id of a new run."""
    return str(world.post("/api/runs", {"name": "nightly", "steps": list(steps), **more}, 201)["id"])


def chat(world: World, *, free: bool = False) -> str:
    """A session of the chat's model. `free`: its ordinary asks are bypassed."""
    session = world.session(principal=COPILOTS)
    if free:
        world.post(f"/api/sessions/{session}/bypasses", {"secs": 0, "scope": "all"}, 201)
    return session


def command(text: str) -> dict[str, Any]:
    return {"tool": "execute_cmd", "arguments": {"command": text}, "result": "recorded"}


def approve(world: World, call_id: str, **more: Any) -> None:
    request = world.get(f"/api/calls/{call_id}")["request_id"]
    world.post(f"/api/inbox/approvals/{request}/resolve", {"action": "approve", **more})


def test_who_may_use_runs(world: World) -> None:
    run = record(world)
    for who, status in ((PERSON, 200), (WORKFLOW, 200), (CLIENT, 200), (AGENT, 403), (ORGANIZATION_AGENT, 403)):
        assert world.client(who).get(f"/api/runs/{run}").status_code == status, who
        reply = world.client(who).post("/api/tools/nothing/execute", json={})
        assert reply.status_code == (422 if status == 200 else 403), who
    reply = world.client(COPILOT).get(f"/api/runs/{run}")
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "session")
    foreign = world.session()
    assert world.client(COPILOT).get(f"/api/runs/{run}", headers={"Stanch-Session": foreign + "x"}).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/runs?limit=0", None),
        ("GET", "/api/runs?state=marker", None),
        ("GET", "/api/runs?cursor=marker", None),
        ("GET", "/api/runs/RUN?parts=marker", None),
        ("GET", "/api/runs/RUN?after=-1", None),
        ("GET", f"/api/runs/{'r' * 300}", None),
        ("GET", f"/api/runs/RUN/files/{'r' * 600}", None),
        ("POST", "/api/runs", {"steps": []}),
        ("POST", "/api/runs", {"name": ""}),
        ("POST", "/api/runs", {"name": "a\nb"}),
        ("POST", "/api/runs", {"name": "n", "marker": 1}),
        ("POST", "/api/runs", {"name": "n", "steps": [{"tool": "t", "state": "marker"}]}),
        ("POST", "/api/runs", {"name": "n", "steps": [{"tool": "t"}] * 1001}),
        ("POST", "/api/runs/RUN/execute", {"name": ""}),
        ("POST", "/api/runs/RUN/execute", {"marker": 1}),
        ("POST", "/api/tools/execute_cmd/execute", {"secrets": [""]}),
        ("POST", "/api/tools/execute_cmd/execute", {"call": ""}),
        ("POST", f"/api/tools/{'t' * 300}/execute", {}),
    ],
)
def test_what_cannot_be_used_is_refused_without_its_words(world: World, method: str, path: str, body: Any) -> None:
    run = record(world)
    reply = world.client().request(method, path.replace("RUN", run), **({} if body is None else {"json": body}))
    assert reply.status_code == 422, reply.text


def test_what_is_not_there(world: World) -> None:
    run = record(world)
    for path in ("/api/runs/none", "/api/runs/none/files", f"/api/runs/{run}/files/none", f"/api/runs/{run}/text/none"):
        assert world.client().get(path).status_code == 404, path
    for path in ("/api/runs/none/execute", "/api/runs/none/resume"):
        assert world.client().post(path, json={}).status_code == 404
    assert world.client().post(f"/api/runs/{run}/resume", json={}).status_code == 409
    assert world.client().post(f"/api/runs/{run}/execute", json={"session": "none"}).status_code == 404
    reply = world.client().post("/api/tools/none/execute", json={"session": chat(world)})
    assert reply.status_code == 404


def test_a_file_is_uploaded_once_and_not_too_large(world: World) -> None:
    run = record(world, output={"file": "a.txt"})
    path = f"/api/runs/{run}/files/a.txt"
    made = world.client().put(path, content=b"words", headers={"Content-Type": "text/plain; charset=utf-8"})
    assert (made.status_code, made.json()["text"], made.json()["media_type"]) == (201, True, "text/plain")
    assert world.client().put(path, content=b"other").status_code == 409
    assert world.client().get(path).content == b"words"
    assert world.client().get(path).headers["content-disposition"].startswith("attachment")
    assert world.client().put(f"{path}2", content=b"x", headers={"Content-Type": "<b>"}).status_code == 422
    assert world.client().put(f"/api/runs/{run}/files/..%2Fx", content=b"x").status_code == 422
    assert world.client().put("/api/runs/none/files/x", content=b"x").status_code == 404
    large = world.client().put(f"{path}3", content=bytes(33 << 20))
    assert large.status_code == 413
    shown = world.get(f"/api/runs/{run}?base64=true")
    assert shown["values"]["output"]["base64"] == base64.b64encode(b"words").decode()


def test_no_command_runs_without_a_session(world: World) -> None:
    marker = world.workspace / "made"
    run = record(world, command(f"touch {marker}"))
    for who in (PERSON, WORKFLOW, CLIENT):
        assert world.client(who).post(f"/api/runs/{run}/execute", json={}).status_code == 422, who
        body = {"arguments": {"command": f"touch {marker}"}}
        assert world.client(who).post("/api/tools/execute_cmd/execute", json=body).status_code == 422, who
    assert not marker.exists()


def test_nobody_acts_in_the_session_of_another(world: World) -> None:
    marker, session = world.workspace / "made", chat(world, free=True)
    run = record(world, command(f"touch {marker}"))
    for who in (WORKFLOW, CLIENT):
        reply = world.client(who).post(f"/api/runs/{run}/execute", json={"session": session})
        assert reply.status_code == 404, reply.text
        body = {"session": session, "arguments": {"command": f"touch {marker}"}}
        assert world.client(who).post("/api/tools/execute_cmd/execute", json=body).status_code == 404
    mine = chat(world, free=True)
    for path in (f"/api/runs/{run}/execute", "/api/tools/execute_cmd/execute"):
        reply = world.client(COPILOT).post(path, json={"session": session}, headers={"Stanch-Session": mine})
        assert reply.status_code == 422, reply.text
    assert not marker.exists()


def test_a_run_of_a_session_goes_on_in_it_alone(world: World) -> None:
    strict, loose = chat(world), chat(world, free=True)
    run = record(world, command("echo a"))
    waits = world.post(f"/api/runs/{run}/execute", {"session": strict}, 201)["run"]
    assert waits["state"] == "paused"
    reply = world.client(COPILOT).post(f"/api/runs/{waits['id']}/resume", json={}, headers={"Stanch-Session": loose})
    assert reply.status_code in (409, 422), reply.text
    assert world.client(WORKFLOW).post(f"/api/runs/{waits['id']}/resume", json={}).status_code == 404
    assert world.get(f"/api/runs/{waits['id']}")["run"]["state"] == "paused"


def test_a_command_runs_once_however_often_it_is_gone_on_with(world: World) -> None:
    log, session = world.workspace / "log", chat(world)
    run = record(world, command(f"echo a >> {log}"), command(f"echo b >> {log}"))
    shown = world.post(f"/api/runs/{run}/execute", {"session": session}, 201)
    run_id = shown["run"]["id"]
    for done in ("a\n", "a\nb\n"):
        waiting = next(step for step in shown["steps"] if step["state"] == "waiting")
        approve(world, waiting["call_id"])
        ended = together(*(lambda: world.client().post(f"/api/runs/{run_id}/resume", json={}) for _ in range(5)))
        assert sorted(one.status_code for one in ended) == [200, 409, 409, 409, 409]
        assert log.read_text("utf-8") == done
        shown = world.get(f"/api/runs/{run_id}")
    assert shown["run"]["state"] == "completed"


def test_a_call_that_its_model_ran_itself_is_not_run_again(world: World) -> None:
    log, session = world.workspace / "log", chat(world)
    run = record(world, command(f"echo a >> {log}"))
    shown = world.post(f"/api/runs/{run}/execute", {"session": session}, 201)
    call = shown["steps"][0]["call_id"]
    approve(world, call)
    started = world.client(COPILOT).post(f"/api/calls/{call}/start", json={})
    assert started.json()["call"]["state"] == "running"
    after = world.post(f"/api/runs/{shown['run']['id']}/resume", {})
    assert (after["run"]["state"], after["steps"][0]["state"]) == ("failed", "refused")
    assert not log.exists()


def test_what_a_person_edited_is_what_runs(world: World) -> None:
    log, session = world.workspace / "log", chat(world)
    run = record(world, command(f"echo a >> {log}"))
    shown = world.post(f"/api/runs/{run}/execute", {"session": session}, 201)
    edited = {"command": f"echo edited >> {log}"}
    approve(world, shown["steps"][0]["call_id"], arguments=edited)
    after = world.post(f"/api/runs/{shown['run']['id']}/resume", {})
    assert after["run"]["state"] == "completed", after
    assert after["steps"][0]["values"]["arguments"] == edited
    assert log.read_text("utf-8") == "edited\n"


def test_an_operation_is_a_step_and_none_begins_another_run(world: World) -> None:
    run = record(world, {"tool": "runs_list", "arguments": {}, "result": "old"})
    done = world.post(f"/api/runs/{run}/execute", {}, 201)
    assert done["run"]["state"] == "completed"
    assert done["steps"][0]["values"]["result"]["total"] == 2
    for tool in ("runs_execute", "runs_resume", "tools_execute"):
        again = record(world, {"tool": tool, "arguments": {"run": run, "tool": "execute_cmd"}, "result": "old"})
        shown = world.post(f"/api/runs/{again}/execute", {"session": chat(world, free=True)}, 201)
        assert (shown["run"]["state"], shown["steps"][0]["state"]) == ("failed", "failed"), tool
    broken = record(world, {"tool": "runs_read", "arguments": {"marker": "marker"}, "result": "old"})
    shown = world.post(f"/api/runs/{broken}/execute", {}, 201)
    assert shown["steps"][0]["values"]["result"] == {"error": "its arguments cannot be used"}


def test_a_tool_that_asks_is_named_with_its_call(world: World, tmp_path: Path) -> None:
    session, log = chat(world), world.workspace / "log"
    body = {"session": session, "arguments": {"command": f"echo a >> {log}"}}
    path = "/api/tools/execute_cmd/execute"
    asked = world.client().post(path, json=body)
    assert (asked.status_code, asked.json()["type"].rpartition(":")[2]) == (403, "approval-needed")
    call = asked.json()["reason"]["call_id"]
    assert world.client().post(path, json={**body, "call": call}).status_code == 403
    approve(world, call)
    other = {**body, "arguments": {"command": f"echo b >> {log}"}, "call": call}
    assert world.client().post(path, json=other).json()["type"].rpartition(":")[2] == "call-refused"
    assert world.client().post(path, json={**body, "call": call, "session": chat(world)}).status_code == 404
    assert world.client().post("/api/tools/read_file/execute", json={**body, "call": call}).status_code == 403
    ended = together(*(lambda: world.client().post(path, json={**body, "call": call}) for _ in range(4)))
    assert sorted(one.status_code for one in ended) == [200, 403, 403, 403]
    assert log.read_text("utf-8") == "a\n"


def test_a_tool_that_a_rule_denies_does_not_run(world: World) -> None:
    log = world.workspace / "log"
    world.post("/api/approval/rules", {"priority": 1, "tool_pattern": "execute_cmd", "action": "deny"}, 201)
    session = chat(world, free=True)
    body = {"arguments": {"command": f"echo a >> {log}"}}
    reply = world.client(COPILOT).post("/api/tools/execute_cmd/execute", json=body, headers={"Stanch-Session": session})
    assert (reply.status_code, reply.json()["type"].rpartition(":")[2]) == (403, "call-refused")
    run = record(world, command(f"echo a >> {log}"), command("echo b"))
    shown = world.post(f"/api/runs/{run}/execute", {"session": session}, 201)
    assert (shown["run"]["state"], shown["run"]["failed_at"]) == ("failed", 1)
    assert shown["steps"][0]["reason"]["code"] == "rule"
    assert not log.exists()


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [("GOOD_NAME", "value-of-it-4711", 200), ("PATH", "value-of-it-4711", 422), ("HOME", "value-of-it-4711", 422),
     ("LC_ALL", "value-of-it-4711", 422), ("HTTPS_PROXY", "value-of-it-4711", 422), ("IFS", "value-of-it-4711", 422),
     ("BASH_ENV", "value-of-it-4711", 422), ("LD_PRELOAD", "value-of-it-4711", 422),
     ("STANCH_TOKEN", "value-of-it-4711", 422), ("PIN", "4711", 422)],
)  # fmt: skip
def test_which_secrets_a_command_may_have(world: World, name: str, value: str, status: int) -> None:
    session = chat(world, free=True)
    world.service.vault.set(name, Secret(value), by=BY)
    body = {"session": session, "arguments": {"command": "true"}, "secrets": [name]}
    assert world.client().post("/api/tools/execute_cmd/execute", json=body).status_code == status
    assert world.client().post("/api/tools/read_file/execute", json=body).status_code == 422
    calls = world.get(f"/api/sessions/{session}/calls")["items"]
    assert len(calls) == (1 if status == 200 else 0), "a call that cannot be is not submitted"


def test_a_secret_of_somebody_else_or_one_that_is_revoked_is_not_there(world: World) -> None:
    world.service.vault.set("HERS", Secret("value-of-hers"), scope=SecretScope.USER, owner="bram", by=BY)
    world.service.vault.set("MINE", Secret("value-of-mine"), scope=SecretScope.USER, owner="ada", by=BY)
    world.service.vault.set("OLD", Secret("value-of-old"), by=BY)
    world.service.vault.revoke("OLD", by=BY)
    session = chat(world, free=True)
    for name, status in (("HERS", 404), ("OLD", 404), ("NONE", 404), ("MINE", 200)):
        body = {"session": session, "arguments": {"command": "true"}, "secrets": [name]}
        reply = world.client().post("/api/tools/execute_cmd/execute", json=body)
        assert reply.status_code == status, name
        assert name not in reply.text or status == 200


def test_a_person_sees_which_secrets_a_command_gets_and_may_take_them_away(world: World) -> None:
    world.service.vault.set("KEY_A", Secret("value-of-a-4711"), by=BY)
    session = chat(world)
    body = {"session": session, "arguments": {"command": "echo [$KEY_A]"}, "secrets": ["KEY_A"]}
    path = "/api/tools/execute_cmd/execute"
    call = world.client().post(path, json=body).json()["reason"]["call_id"]
    assert world.get(f"/api/calls/{call}")["arguments"]["secrets"] == ["KEY_A"]
    approve(world, call, arguments={"command": "echo [$KEY_A]", "secrets": []})
    done = world.client().post(path, json={**body, "call": call})
    assert (done.status_code, done.json().get("value")) == (200, "[]\n[exit code 0]"), done.text
    given = {**body, "arguments": {"command": "true", "secrets": ["KEY_A"]}}
    assert world.client().post(path, json=given).status_code == 422


def test_a_tool_of_the_program(world: World) -> None:
    session = chat(world, free=True)

    def breaks(_: Any) -> Any:
        raise RuntimeError("marker")

    tools = world.service.tools
    tools.add("breaks", breaks)
    tools.add("says_no", lambda _: ToolResult("no", failed=True))
    tools.add("no_json", lambda _: {1, 2})
    tools.add("echoes", dict)
    for name in ("echoes", "execute_cmd", "files_read", ""):
        with pytest.raises(BadInput):
            tools.add(name, dict)
    for tool, value, failed in (
        ("breaks", "breaks broke: RuntimeError", True),
        ("says_no", "no", True),
        ("no_json", "no_json broke: TypeError", True),
        ("echoes", {"a": 1}, False),
    ):
        done = world.post(f"/api/tools/{tool}/execute", {"session": session, "arguments": {"a": 1}})
        assert (done["value"], done["failed"]) == (value, failed)
        assert world.get(f"/api/calls/{done['call_id']}")["state"] == ("failed" if failed else "completed")
    run = record(world, {"tool": "echoes", "arguments": {"b": 2}, "result": "old"})
    shown = world.post(f"/api/runs/{run}/execute", {"session": session}, 201)
    assert shown["steps"][0]["values"]["result"] == {"b": 2}
