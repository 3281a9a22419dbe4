"""`/api/judge` and `/api/judge/plan`: who may ask about which session, and that nothing unwanted is stored."""

from __future__ import annotations

import time
from typing import Any

import pytest

from stanch.values.identity import Principal, PrincipalKind
from tests.http.served import AGENTS, CLIENT, KEY, WORKFLOW, World

ASKED = {"face": "attachment", "access": "read", "path": "a.txt"}
PLAN = {"calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}]}
BOTH = pytest.mark.parametrize(("path", "body"), [("/api/judge", ASKED), ("/api/judge/plan", PLAN)])


@pytest.mark.parametrize("principal", [*AGENTS, CLIENT, WORKFLOW], ids=lambda one: f"{one.kind}-{one.service_id}")
@BOTH
def test_an_agent_asks_about_its_own_sessions_only(
    world: World, principal: Principal, path: str, body: dict[str, Any]
) -> None:
    others = world.session(principal={"kind": "delegated", "id": "eve", "service_id": "copilot"})
    client = world.client(principal)
    assert client.post(path, json=body).status_code == 403
    replies = [client.post(path, json={**body, "session_id": one}) for one in (others, "none")]
    assert [reply.status_code for reply in replies] == [404, 404]
    own = world.session(principal={"kind": "delegated", "id": principal.id, "service_id": "copilot"})
    hands = world.client(Principal(PrincipalKind.DELEGATED, principal.id, "copilot"))
    assert hands.post(path, json={**body, "session_id": own}).status_code == 200


@BOTH
def test_a_key_asks_about_anything_and_nothing_is_stored(world: World, path: str, body: dict[str, Any]) -> None:
    session, client = world.session(), world.client(KEY)
    stored = world.dump()
    for about in ({}, {"session_id": session}, {"group": "gone", "agent": "digest", "source": "cron"}):
        assert client.post(path, json={**body, **about}).status_code == 200
    assert world.dump() == stored
    assert world.rows("SELECT * FROM calls") == world.rows("SELECT * FROM approvals") == []


def test_one_file_is_answered_with_its_verdict_and_several_with_theirs(world: World) -> None:
    one = world.post("/api/judge", ASKED)
    assert one == {"verdict": "no_objection", "judged": f"{world.workspace}/a.txt"}
    several = world.post("/api/judge", {**ASKED, "path": None, "paths": ["a.txt", "a\0", "b"]})
    assert [said["verdict"] for said in several] == ["no_objection", "unanswerable", "no_objection"]
    assert several[1].keys() == {"verdict", "layer", "cause", "reason"}
    assert world.post("/api/judge", {**ASKED, "deadline_at": 10**400})["verdict"] == "no_objection"
    late = world.post("/api/judge", {**ASKED, "deadline_at": int(time.time() * 1000) - 1})
    assert (late["verdict"], late["cause"]) == ("unanswerable", "timed_out")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"path": None}, "one of 'path' and 'paths'"),
        ({"paths": ["b"]}, "one of 'path' and 'paths'"),
        ({"face": "A"}, "lower case letters"),
        ({"face": None}, "face"),
        ({"access": "run"}, "access"),
        ({"path": ""}, "path"),
        ({"path": None, "paths": []}, "paths"),
        ({"deadline_at": "soon"}, "deadline_at"),
        ({"nobody": 1}, "nobody"),
    ],
)
def test_what_cannot_be_used_is_refused(world: World, wrong: dict[str, Any], says: str) -> None:
    assert says in str(world.post("/api/judge", {**ASKED, **wrong}, 422))


def test_a_stored_session_is_judged_with_those_above_it(world: World) -> None:
    world.group("closed", {"tool_pattern": "*", "path_pattern": "secret", "action": "deny"})
    parent = world.session(run_context={"security_group": "closed"})
    child = world.session(parent_id=parent)
    asked = {**ASKED, "path": "secret/k", "session_id": child}
    assert world.post("/api/judge", asked)["verdict"] == "deny"
    assert world.post("/api/judge", {**asked, "path": "a.txt"})["verdict"] == "no_objection"
    assert world.post("/api/judge", {**ASKED, "session_id": "none"}, 404)


def test_the_asks_of_a_plan_are_put_to_the_inbox_before_the_calls_are_made(world: World) -> None:
    world.group("asking", {"tool_pattern": "@write", "action": "ask"}, {"tool_pattern": "@read", "action": "allow"})
    session = world.session(run_context={"security_group": "asking"})
    write = {"tool": "write_file", "arguments": {"path": "a.txt", "content": "x"}}
    plan = {"session_id": session, "calls": [write, *PLAN["calls"]]}
    assert [one["outcome"] for one in world.post("/api/judge/plan", plan)] == ["asks", "passes"]
    assert world.get("/api/inbox")["approvals"] == []
    first, second = world.post("/api/judge/plan", {**plan, "submit": True})
    assert (first["outcome"], second["call_id"], second["after"]) == ("asks", None, [0])
    (request,) = world.get("/api/inbox")["approvals"]
    world.post(f"/api/inbox/approvals/{request['request_id']}/resolve", {"action": "approve"})
    other = {"tool": "write_file", "arguments": {"path": "b.txt", "content": "x"}}
    assert world.post(f"/api/calls/{first['call_id']}/start", other)["call"]["state"] == "rejected"
    again = world.post("/api/judge/plan", {**plan, "submit": True})[0]["call_id"]
    (request,) = world.get("/api/inbox")["approvals"]
    world.post(f"/api/inbox/approvals/{request['request_id']}/resolve", {"action": "approve"})
    assert world.post(f"/api/calls/{again}/start", write)["call"]["state"] == "running"
    assert world.post(f"/api/calls/{again}/start", write, 409)
    assert world.post("/api/judge/plan", {**PLAN, "submit": True}, 422)


def test_a_list_that_is_empty_or_too_long_is_told_so(world: World) -> None:
    asked = {"face": "attachment", "access": "read"}
    for paths, says in (([], "'paths' is empty"), (["a"] * 10_001, "'paths' has more than ")):
        assert world.post("/api/judge", {**asked, "paths": paths}, 422)["detail"].startswith(says)
    assert world.post("/api/judge/plan", {"calls": []}, 422)["detail"] == "'calls' is empty"
