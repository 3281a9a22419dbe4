"""Calls over REST: asked for, approved, judged again, run once, and whose they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.http.served import AGENT, AGENTS, CLIENT, COPILOT, PERSON, World

CALL = {"tool": "write_file", "arguments": {"path": "a.txt", "content": "x"}}


def submitted(world: World, session: str, **fields: Any) -> Any:
    """A call of a session, as a person's client asks for it."""
    return world.post(f"/api/sessions/{session}/calls", {**CALL, **fields}, 201)


def resolve(world: World, request_id: str, status: int = 200, **body: Any) -> Any:
    """A person's answer."""
    return world.post(f"/api/inbox/approvals/{request_id}/resolve", {"action": "approve", **body}, status)


def started(world: World, call_id: str, status: int = 200, **body: Any) -> Any:
    """What starting a call is answered with."""
    return world.post(f"/api/calls/{call_id}/start", body, status)


def test_a_call_from_its_asking_to_its_end(world: World) -> None:
    session = world.session()
    made = submitted(world, session, tool_call_id="toolu_1")
    call = made["call"]
    assert (call["state"], call["tool_call_id"], made["answer"]["effect"]) == ("awaiting_approval", "toolu_1", "ask")
    assert made["answer"]["reason"]["code"] == call["reason"]["code"] == "rule"
    assert set(made["request"]) == {"request_id", "state", "created_at", "expires_at", "holds_until"}
    assert started(world, call["id"], 409)["type"].endswith(":conflict")
    resolve(world, call["request_id"])
    assert world.get(f"/api/calls/{call['id']}")["state"] == "pending"
    running = started(world, call["id"])
    assert (running["call"]["state"], running["call"]["arguments"]) == ("running", CALL["arguments"])
    assert (running["call"]["edited"], running["answer"]["effect"]) == (False, "ask")
    started(world, call["id"], 409)
    ended = world.post(f"/api/calls/{call['id']}/finish", {"outcome": "completed"})
    assert ended["state"] == "completed"
    for path, body in (("finish", {"outcome": "failed"}), ("cancel", None), ("start", {})):
        world.post(f"/api/calls/{call['id']}/{path}", body, 409)
    assert world.get(f"/api/sessions/{session}/calls")["items"] == [ended]
    assert world.get(f"/api/sessions/{session}/calls?state=pending")["total"] == 0


def test_allowed_and_denied_calls_wait_for_nobody(world: World) -> None:
    session = world.session()
    allowed = submitted(world, session, arguments={"path": "data/a.txt", "content": "x"})
    denied = submitted(world, session, arguments={"path": "secrets/a.txt", "content": "x"})
    assert [one["call"]["state"] for one in (allowed, denied)] == ["pending", "rejected"]
    assert [one["request"] for one in (allowed, denied)] == [None, None]
    assert world.get("/api/inbox")["total"] == 0
    started(world, denied["call"]["id"], 409)
    assert started(world, allowed["call"]["id"])["call"]["state"] == "running"


def test_a_cancelled_call_leaves_the_inbox(world: World) -> None:
    made = submitted(world, world.session())
    world.post(f"/api/calls/{made['call']['id']}/cancel")
    found = world.get(f"/api/inbox/approvals/{made['request']['request_id']}")
    assert (found["state"], world.get("/api/inbox")["total"]) == ("cancelled", 0)
    assert resolve(world, found["request_id"], 409)["resolution"]["state"] == "cancelled"


def test_a_rule_made_since_wins_over_the_approval(world: World) -> None:
    made = submitted(world, world.session())
    resolve(world, made["request"]["request_id"])
    rule = {"tool_pattern": "write_file", "path_pattern": "a.txt", "action": "deny", "priority": 1}
    world.post("/api/approval/rules", rule, 201)
    said = started(world, made["call"]["id"])
    assert (said["call"]["state"], said["call"]["reason"]["code"]) == ("rejected", "rule")
    assert said["answer"]["effect"] == "deny"


def test_a_runner_that_would_run_something_else_runs_nothing(world: World) -> None:
    made = submitted(world, world.session())
    resolve(world, made["request"]["request_id"])
    said = started(world, made["call"]["id"], tool="write_file", arguments={"path": "b.txt", "content": "x"})
    assert (said["call"]["state"], said["call"]["reason"]["code"]) == ("rejected", "call_changed")


def test_a_session_without_an_approver_is_refused_at_once(world: World) -> None:
    session = world.session(approver=False)
    assert world.get(f"/api/sessions/{session}")["approver"] is False
    assert world.get(f"/api/sessions/{world.session()}")["approver"] is True
    made = submitted(world, session)
    assert (made["call"]["state"], made["call"]["reason"]["code"]) == ("rejected", "no_approver")
    world.post(f"/api/sessions/{session}/questions", {"question": "Which?"}, 409)
    world.post("/api/sessions", {"agent_id": "a", "approver": "yes"}, 422)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"tool": "write_file"},
        {"tool": "", "arguments": {}},
        {"tool": "write_file", "arguments": []},
        {"tool": "write_file", "arguments": None},
        {**CALL, "call_id": "x"},
        {**CALL, "cwd": 1},
        {"tool": "write_file", "arguments": {"content": "x"}},
    ],
)
def test_a_call_that_cannot_be_read_is_not_kept(world: World, body: Any) -> None:
    session = world.session()
    world.post(f"/api/sessions/{session}/calls", body, 422)
    assert world.get(f"/api/sessions/{session}/calls")["total"] == 0


@pytest.mark.parametrize("outcome", [None, "running", "rejected", 1, ""])
def test_an_end_that_is_none_is_refused(world: World, outcome: Any) -> None:
    call = submitted(world, world.session(), arguments={"path": "data/a", "content": ""})["call"]["id"]
    started(world, call)
    world.post(f"/api/calls/{call}/finish", {"outcome": outcome}, 422)
    assert world.get(f"/api/calls/{call}")["state"] == "running"


def test_what_is_not_there_is_not_found(world: World) -> None:
    world.post("/api/sessions/none/calls", CALL, 404)
    for path in ("/api/calls/none", "/api/sessions/none/calls", "/api/questions/none", "/api/inbox/approvals/none"):
        assert world.client().get(path).status_code == 404, path
    world.post("/api/calls/none/start", {}, 404)
    world.post("/api/calls/none/finish", {"outcome": "failed"}, 404)
    world.client().delete(f"/api/sessions/{world.session()}").raise_for_status()


def test_an_agent_sees_its_own_calls_and_no_others(world: World) -> None:
    person = world.client(PERSON)
    own = world.post("/api/sessions", {"agent_id": "coder", "principal": _said(AGENT)}, 201)["id"]
    others = world.session()  # the chat model's, on behalf of the same person
    made = {session: submitted(world, session)["call"]["id"] for session in (own, others)}
    asked = {
        session: world.post(f"/api/sessions/{session}/questions", {"question": "?"}, 201)["request_id"]
        for session in (own, others)
    }
    for principal, session, other in ((AGENT, own, others), (COPILOT, others, own)):
        client = world.client(principal)
        for method, path, body in (
            ("POST", "/api/sessions/{session}/calls", CALL),
            ("GET", "/api/sessions/{session}/calls", None),
            ("POST", "/api/sessions/{session}/questions", {"question": "?"}),
            ("GET", "/api/calls/{call}", None),
            ("GET", "/api/questions/{question}", None),
            ("POST", "/api/calls/{call}/cancel", {}),
            ("POST", "/api/calls/{call}/start", {}),
            ("POST", "/api/calls/{call}/finish", {"outcome": "failed"}),
        ):
            theirs = client.request(method, _at(path, other, made, asked), json=body)
            assert theirs.status_code == 404, (principal, method, path, theirs.text)
            if path.endswith(("start", "finish", "cancel")):
                continue
            mine = client.request(method, _at(path, session, made, asked), json=body)
            assert mine.status_code in (200, 201), (principal, method, path, mine.text)
    stranger = world.client(CLIENT)
    assert stranger.post(f"/api/sessions/{own}/calls", json=CALL).status_code == 404
    assert person.get(f"/api/calls/{made[own]}").json()["state"] == "awaiting_approval"


def test_an_agent_runs_what_a_person_approved(world: World) -> None:
    session = world.session()
    agent = world.client(COPILOT)
    made = agent.post(f"/api/sessions/{session}/calls", json=CALL).json()
    resolve(world, made["request"]["request_id"], arguments={"path": "b.txt", "content": "y"})
    running = agent.post(f"/api/calls/{made['call']['id']}/start", json={}).json()["call"]
    assert (running["state"], running["edited"]) == ("running", True)
    assert running["arguments"] == {"path": "b.txt", "content": "y"}
    ended = agent.post(f"/api/calls/{made['call']['id']}/finish", json={"outcome": "completed"})
    assert ended.json()["state"] == "completed"


def test_an_agent_is_never_shown_what_a_person_is(world: World) -> None:
    (world.workspace / "a.txt").write_text("canary 7f3a\n", "utf-8")
    session = world.session()
    agent = world.client(COPILOT)
    made = agent.post(f"/api/sessions/{session}/calls", json=CALL)
    assert "canary" in world.get("/api/inbox")["approvals"][0]["diff"]
    seen = [made.text, agent.get(f"/api/calls/{made.json()['call']['id']}").text]
    resolve(world, made.json()["request"]["request_id"])
    seen.append(agent.post(f"/api/calls/{made.json()['call']['id']}/start", json={}).text)
    assert not [one for one in seen if "canary" in one]


@pytest.mark.parametrize(
    "principal",
    [{"kind": "user", "id": "ada"}, {"kind": "delegated", "id": "ada"}, {"kind": "mcp", "id": "editor"}, {}],
)
def test_a_session_is_an_agents(world: World, principal: dict[str, str]) -> None:
    world.post("/api/sessions", {"agent_id": "a", "principal": principal}, 422)


def test_calls_wait_as_long_as_the_policy_says(serve: Callable[[str], World]) -> None:
    world = serve('version = 1\n[approvals.expires_after]\ncron = 60\n[[groups]]\nid = "default"\n')
    made = submitted(world, world.session(source="cron"))
    assert made["request"]["expires_at"] is not None
    assert submitted(world, world.session(source="web"))["request"]["expires_at"] is None


def _said(principal: Any) -> dict[str, str]:
    return {"kind": principal.kind.value, "id": principal.id, "service_id": principal.service_id}


def _at(path: str, session: str, made: dict[str, str], asked: dict[str, str]) -> str:
    return path.format(session=session, call=made[session], question=asked[session])


def test_agents_are_of_several_kinds() -> None:
    assert {AGENT, COPILOT} < set(AGENTS)
