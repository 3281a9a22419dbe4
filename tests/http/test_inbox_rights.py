"""What an agent may do, as a table over every route of the application: its own calls and questions, and nothing else.

A route that is in no table is one that it may not use.
"""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.routing import APIRoute

from stanch.app.permissions import Right
from stanch.surfaces.http.access import right_for
from stanch.surfaces.http.application import ROUTERS
from stanch.values.identity import Principal, PrincipalKind
from tests.http.served import AGENTS, CLIENT, KEY, WORKFLOW, World

# What an agent may use, with what it is answered about a session, a call or a question that is not its own.
MAY = {
    ("GET", "/healthz"): {200},
    ("POST", "/api/check"): {200},
    ("POST", "/api/explain"): {200},
    ("GET", "/api/approval/tools"): {200},
    ("POST", "/api/sessions/{session_id}/calls"): {404},
    ("GET", "/api/sessions/{session_id}/calls"): {404},
    ("GET", "/api/calls/{call_id}"): {404},
    ("POST", "/api/calls/{call_id}/start"): {404},
    ("POST", "/api/calls/{call_id}/finish"): {404},
    ("POST", "/api/calls/{call_id}/cancel"): {404},
    ("POST", "/api/sessions/{session_id}/questions"): {404},
    ("GET", "/api/questions/{request_id}"): {404},
}
BODIES: dict[str, Any] = {
    "/api/check": {"tool": "read_file", "arguments": {"path": "a.txt"}},
    "/api/explain": {"tool": "read_file", "arguments": {"path": "a.txt"}},
    "/api/judge": {"face": "attachment", "access": "read", "path": "a.txt"},
    "/api/judge/plan": {"calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}]},
    "/api/sessions/{session_id}/calls": {"tool": "read_file", "arguments": {"path": "a.txt"}},
    "/api/sessions/{session_id}/questions": {"question": "?"},
    "/api/sessions/{session_id}/bypasses": {"secs": 0},
    "/api/sessions/{session_id}/messages": {"text": "go"},
    "/api/sessions/{session_id}/model": {"model": "m"},
    "/api/sessions/{session_id}/run_context": None,
    "/api/calls/{call_id}/finish": {"outcome": "completed"},
    "/api/inbox/approvals/{request_id}/resolve": {"action": "approve"},
    "/api/inbox/clarifications/{request_id}/resolve": {"answer": "x"},
    "/api/inbox/plans/{plan_id}/resolve": {"action": "approve", "requests": [{"request_id": "r", "fingerprint": "f"}]},
}
FORBIDDEN = (
    ("GET", "/api/inbox"),
    ("GET", "/api/inbox/approvals/{request_id}"),
    ("POST", "/api/inbox/approvals/{request_id}/resolve"),
    ("GET", "/api/inbox/plans/{plan_id}"),
    ("POST", "/api/inbox/plans/{plan_id}/resolve"),
    ("POST", "/api/inbox/clarifications/{request_id}/resolve"),
    ("GET", "/api/sessions/{session_id}/bypasses"),
    ("POST", "/api/sessions/{session_id}/bypasses"),
    ("DELETE", "/api/sessions/{session_id}/bypasses/{bypass_id}"),
    ("GET", "/api/events"),
    ("POST", "/api/sessions"),
    ("DELETE", "/api/sessions/{session_id}"),
    ("POST", "/api/sessions/{session_id}/run_context"),
    ("POST", "/api/sessions/{session_id}/model"),
    ("POST", "/api/sessions/{session_id}/turns"),
    ("POST", "/api/sessions/{session_id}/messages"),
    ("GET", "/api/sessions/{session_id}/messages"),
    ("GET", "/api/sessions/{session_id}/turns"),
    ("GET", "/api/sessions/{session_id}/live"),
    ("GET", "/api/turns/{turn_id}"),
    ("POST", "/api/turns/{turn_id}/stop"),
    ("POST", "/api/approval/rules"),
    ("POST", "/api/tool-permission-groups"),
    ("POST", "/api/tokens"),
    ("GET", "/api/audit"),
    ("GET", "/api/policy"),
    ("GET", "/api/tiers"),
)


@pytest.fixture
def waiting(world: World) -> dict[str, str]:
    """What there is that is not an agent's own, by the parameters of paths."""
    session = world.session()
    world.rows("UPDATE sessions SET principal_id = 'somebody'")
    made = world.post(f"/api/sessions/{session}/calls", {"tool": "execute_cmd", "arguments": {"command": "make"}}, 201)
    calls = [{"tool": "execute_cmd", "arguments": {"command": "make all"}}]
    (planned,) = world.post("/api/judge/plan", {"session_id": session, "calls": calls, "submit": True})
    held = world.post(f"/api/sessions/{session}/bypasses", {"secs": 0}, 201)
    return {
        "session_id": session,
        "call_id": made["call"]["id"],
        "request_id": made["request"]["request_id"],
        "bypass_id": held["id"],
        **dict.fromkeys(("project_id", "ticket_id", "job_id", "group_id", "token_id", "turn_id"), "default"),
        "rule_id": "1",
        "plan_id": planned["plan_id"],
    }


def routes() -> list[tuple[str, str]]:
    """Every route of the API, described or not."""
    found = [one for router in ROUTERS for one in router.routes if isinstance(one, APIRoute)]
    return sorted({(method, one.path) for one in found for method in one.methods or ()})


@pytest.mark.parametrize("principal", [*AGENTS, CLIENT, WORKFLOW], ids=lambda one: f"{one.kind}-{one.service_id}")
def test_an_agent_gets_nothing_beyond_the_table(world: World, waiting: dict[str, str], principal: Any) -> None:
    client, stored = world.client(principal), world.dump()
    approvals = world.rows("SELECT * FROM approvals") + world.rows("SELECT * FROM calls")
    found = routes()
    assert set(FORBIDDEN) <= set(found)
    assert set(MAY) <= set(found)
    assert not set(MAY) & set(FORBIDDEN)
    may = MAY | ({("POST", "/api/history/redact"): {422}} if principal is WORKFLOW else {})
    for method, path in found:
        if right_for(method, path) is Right.CONTENT or path == "/links/{token}":
            continue  # which is admitted item by item, and drawn in tests/delivery
        body = None if method in ("GET", "DELETE") else BODIES.get(path, {})
        address = path.replace(":path}", "}").format(**waiting, name="STRIPE_KEY", path="a.txt")
        reply = client.request(method, address, json=body, headers={"Content-Type": "application/json"})
        assert reply.status_code in may.get((method, path), {403}), (method, path, reply.text)
        assert waiting["request_id"] not in reply.text or path.startswith("/api/questions"), (method, path)
    assert world.dump() == stored
    assert world.rows("SELECT * FROM approvals") + world.rows("SELECT * FROM calls") == approvals


@pytest.mark.parametrize("path", ["/api/check", "/api/explain"])
@pytest.mark.parametrize("principal", [*AGENTS, CLIENT, WORKFLOW], ids=lambda one: f"{one.kind}-{one.service_id}")
def test_an_agent_is_told_nothing_of_what_the_gate_says_to_another(
    world: World, waiting: dict[str, str], principal: Any, path: str
) -> None:
    asked = {**BODIES[path], "session_id": waiting["session_id"]}
    there, absent = (
        world.client(principal).post(path, json={**asked, "session_id": one}) for one in (asked["session_id"], "none")
    )
    assert (there.status_code, absent.status_code) == (404, 404)
    assert there.json()["type"] == absent.json()["type"]
    own = world.session(principal={"kind": "delegated", "id": principal.id, "service_id": "copilot"})
    hands = world.client(Principal(PrincipalKind.DELEGATED, principal.id, "copilot"))
    assert hands.post(path, json={**asked, "session_id": own}).status_code == 200
    assert world.post(path, asked)["effect"] == "allow"


def test_a_key_may_answer_for_a_person(world: World, waiting: dict[str, str]) -> None:
    path = f"/api/inbox/approvals/{waiting['request_id']}/resolve"
    done = world.client(KEY).post(path, json={"action": "approve"})
    assert done.status_code == 200
    assert done.json()["request"]["resolved_by"] == KEY.id


def test_nobody_answers_without_a_token(world: World, waiting: dict[str, str]) -> None:
    client = world.client()
    for path in ("/api/inbox", "/api/events", f"/api/inbox/approvals/{waiting['request_id']}"):
        assert client.get(path, headers={"Authorization": "Bearer stanch_wrong"}).status_code == 401
    path = f"/api/inbox/approvals/{waiting['request_id']}/resolve"
    reply = client.post(path, json={"action": "approve"}, headers={"Authorization": "Bearer stanch_wrong"})
    assert reply.status_code == 401
    assert world.get(f"/api/calls/{waiting['call_id']}")["state"] == "awaiting_approval"
