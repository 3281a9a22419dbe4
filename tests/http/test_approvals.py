"""Answers to requests: only an explicit, known one releases a call, once, and the others are told who was first."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.http.served import KEY, PERSON, World
from tests.http.test_calls import resolve, started, submitted


def asked(world: World, **fields: Any) -> tuple[str, str]:
    """A call that waits: the ids of the request and of the call."""
    made = submitted(world, world.session(), **fields)
    return str(made["request"]["request_id"]), str(made["call"]["id"])


def state(world: World, request_id: str) -> str:
    """How the request stands."""
    return str(world.get(f"/api/inbox/approvals/{request_id}")["state"])


def test_the_inbox_says_exactly_what_waits(world: World) -> None:
    assert world.get("/api/inbox") == {"total": 0, "approvals": [], "clarifications": [], "plans": [], "next": None}
    request, _ = asked(world)
    session = world.session()
    question = world.post(f"/api/sessions/{session}/questions", {"question": "Which?", "choices": ["a", "b"]}, 201)
    found = world.get("/api/inbox")
    assert set(found) == {"total", "approvals", "clarifications", "plans", "next"}
    assert (found["total"], found["clarifications"]) == (2, [question])
    assert found["approvals"] == [world.get(f"/api/inbox/approvals/{request}")]
    shown = found["approvals"][0]
    assert "+x" in shown["diff"].splitlines()
    assert (shown["tool_category"], shown["reason"]["code"], shown["state"]) == ("filesystem", "rule", "open")
    assert world.get(f"/api/inbox?session_id={session}")["approvals"] == []
    assert world.get(f"/api/inbox?session_id={session}")["total"] == 1
    assert world.client().get("/api/inbox?cursor=x").status_code == 422


def test_the_inbox_is_paged(world: World) -> None:
    made = [asked(world)[0] for _ in range(5)]
    found: list[str] = []
    cursor = ""
    while True:
        page = world.get(f"/api/inbox?limit=2{cursor}")
        found += [one["request_id"] for one in page["approvals"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert found == made


WRONG: list[Any] = [
    None,
    [],
    "approve",
    True,
    1,
    {},
    {"action": None},
    {"action": True},
    {"action": 1},
    {"action": "true"},
    {"action": "yes"},
    {"action": "APPROVE"},
    {"action": "approved"},
    {"action": " approve"},
    {"action": ["approve"]},
    {"approve": True},
    {"action": "approve", "unknown": 1},
    {"action": "approve", "note": 1},
    {"action": "approve", "arguments": None, "tool": 1},
    {"action": "approve", "arguments": []},
    {"action": "approve", "arguments": "{}"},
    {"action": "approve", "bypass_secs": "60"},
    {"action": "approve", "bypass_secs": True},
    {"action": "approve", "bypass_secs": -1},
    {"action": "approve", "bypass_secs": 1.5},
    {"action": "approve", "bypass_secs": 10**7},
    {"action": "approve", "bypass_secs": 60, "bypass_scope": "everything"},
    {"action": "approve", "bypass_secs": 60, "bypass_scope": "mcp_server"},
    {"action": "approve", "bypass_scope": "all"},
    {"action": "approve", "include_subagents": True},
    {"action": "approve", "bypass_secs": 60, "include_subagents": 1},
    {"action": "reject", "bypass_secs": 0},
    {"action": "reject", "arguments": {}},
    {"action": "reject", "tool": "write_file"},
    {"action": "reject", "note": "x" * 10_001},
]


def test_whatever_is_no_answer_releases_nothing(world: World) -> None:
    request, call = asked(world)
    stored = world.dump()
    for body in WRONG:
        reply = world.client().post(
            f"/api/inbox/approvals/{request}/resolve", json=body, headers={"Content-Type": "application/json"}
        )
        assert reply.status_code == 422, (body, reply.text)
    client = world.client()
    twice = b'{"action": "reject", "action": "approve"}'
    headers = {"Content-Type": "application/json"}
    assert client.post(f"/api/inbox/approvals/{request}/resolve", content=twice, headers=headers).status_code == 400
    assert client.post(f"/api/inbox/approvals/{request}/resolve").status_code in (415, 422)
    assert world.dump() == stored
    assert (state(world, request), world.get(f"/api/calls/{call}")["state"]) == ("open", "awaiting_approval")


@pytest.mark.parametrize("request_id", ["req_0", "none", "%00", "call"])
def test_an_unknown_request_is_not_found(world: World, request_id: str) -> None:
    resolve(world, request_id, 404)


def test_an_agents_own_name_for_a_call_opens_nothing(world: World) -> None:
    _, call = asked(world, tool_call_id="toolu_1")
    resolve(world, "toolu_1", 404)
    resolve(world, call, 404)


def test_whoever_comes_second_is_told_who_was_first(world: World) -> None:
    request, call = asked(world)
    reply = world.client(KEY).post(
        f"/api/inbox/approvals/{request}/resolve", json={"action": "reject", "note": "not now"}
    )
    assert reply.json()["call"]["state"] == "rejected"
    for body in ({"action": "approve"}, {"action": "reject"}, {"action": "approve", "arguments": {}}):
        said = world.post(f"/api/inbox/approvals/{request}/resolve", body, 409)
        assert said["type"].endswith(":answered")
        assert "rejected by ci" in said["detail"]
        won = said["resolution"]
        assert (won["state"], won["resolved_by"], won["surface"], won["note"]) == ("rejected", "ci", "http", "not now")
        assert won["resolved_at"] is not None
    assert world.get(f"/api/calls/{call}")["reason"]["note"] == "not now"


def test_the_very_same_answer_is_no_second_one(world: World) -> None:
    request, call = asked(world)
    body: dict[str, Any] = {"note": "fine", "bypass_secs": 60}
    first = resolve(world, request, **body)
    rows = world.get("/api/audit")["total"]
    again = resolve(world, request, **body)
    assert (again["request"], again["bypass"]) == (first["request"], first["bypass"])
    assert world.get("/api/audit")["total"] == rows
    started(world, call)
    assert resolve(world, request, **body)["call"]["state"] == "running"
    resolve(world, request, 409)
    resolve(world, request, 409, note="other", bypass_secs=60)
    path = f"/api/inbox/approvals/{request}/resolve"
    assert world.client(KEY).post(path, json={"action": "approve", **body}).status_code == 409
    other, _ = asked(world)
    world.post(f"/api/inbox/approvals/{other}/resolve", {"action": "reject"})
    assert world.post(f"/api/inbox/approvals/{other}/resolve", {"action": "reject"})["call"]["state"] == "rejected"
    assert resolve(world, other, 409)["resolution"]["state"] == "rejected"


def test_of_two_who_answer_at_once_one_wins(world: World) -> None:
    requests = [asked(world)[0] for _ in range(10)]
    clients = {name: world.client(who) for name, who in (("ada", PERSON), ("ci", KEY))}
    for request in requests:
        gate, codes = threading.Barrier(2), dict.fromkeys(clients, 0)

        def answer(name: str, request: str = request, gate: Any = gate, codes: Any = codes) -> None:
            action = "approve" if name == "ada" else "reject"
            gate.wait(30)
            path = f"/api/inbox/approvals/{request}/resolve"
            codes[name] = clients[name].post(path, json={"action": action}).status_code

        threads = [threading.Thread(target=answer, args=(name,)) for name in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert sorted(codes.values()) == [200, 409]
        won = next(name for name, code in codes.items() if code == 200)
        assert world.get(f"/api/inbox/approvals/{request}")["resolved_by"] == won


def test_an_edit_that_is_denied_leaves_the_request_open(world: World) -> None:
    request, call = asked(world)
    said = resolve(world, request, 409, arguments={"path": "secrets/x", "content": ""})
    assert said["type"].endswith(":edit-refused")
    assert (said["code"], said["reason"]["rule"]["group"]) == ("rule", "default")
    assert (state(world, request), world.get(f"/api/calls/{call}")["state"]) == ("open", "awaiting_approval")
    resolve(world, request, 422, arguments={"content": "x"})
    assert state(world, request) == "open"


def test_an_edit_is_what_runs(world: World) -> None:
    request, call = asked(world)
    done = resolve(world, request, tool="write_file", arguments={"path": "c.txt", "content": "z"}, note="elsewhere")
    assert (done["call"]["edited"], done["call"]["arguments"]["path"], done["instead"]) == (True, "c.txt", None)
    assert done["request"]["arguments"]["path"] == "c.txt"
    assert started(world, call)["call"]["arguments"] == {"path": "c.txt", "content": "z"}


def test_an_edit_that_asks_for_more_becomes_a_request_of_its_own(world: World) -> None:
    request, call = asked(world)
    edit: dict[str, Any] = {"tool": "execute_cmd", "arguments": {"command": "make"}}
    done = resolve(world, request, **edit)
    assert (done["request"]["state"], done["call"]["state"]) == ("replaced", "awaiting_approval")
    assert done["instead"]["request_id"] == done["call"]["request_id"] != request
    assert resolve(world, request, **edit)["instead"]["request_id"] == done["instead"]["request_id"]
    assert world.get("/api/inbox")["total"] == 1
    started(world, call, 409)
    resolve(world, done["instead"]["request_id"])
    assert started(world, call)["call"]["tool"] == "execute_cmd"


def test_bypasses_are_given_listed_and_ended(world: World) -> None:
    session = world.session()
    path = f"/api/sessions/{session}/bypasses"
    made = world.post(path, {"secs": 900, "scope": "category", "category": "filesystem"}, 201)
    assert (made["scope"], made["category"], made["created_by"]) == ("category", "filesystem", "ada")
    assert world.get(path) == {"items": [made], "total": 1, "next": None}
    assert submitted(world, session)["call"]["reason"]["code"] == "bypass"
    assert world.client().delete(f"{path}/{made['id']}").json()["ended_at"] is not None
    assert world.client().delete(f"{path}/{made['id']}").status_code == 409
    assert world.client().delete(f"/api/sessions/{world.session()}/bypasses/{made['id']}").status_code == 404
    assert submitted(world, session)["call"]["state"] == "awaiting_approval"
    for wrong in ({}, {"secs": None}, {"secs": "1"}, {"secs": 1, "scope": "category"}, {"secs": 1, "category": "x"}):
        world.post(path, wrong, 422)
    world.post("/api/sessions/none/bypasses", {"secs": 0}, 404)
    assert world.client().get("/api/sessions/none/bypasses").status_code == 404


def test_questions_are_asked_and_answered_once(world: World) -> None:
    session = world.session()
    asking = world.post(f"/api/sessions/{session}/questions", {"question": "Which?"}, 201)
    path = f"/api/inbox/clarifications/{asking['request_id']}/resolve"
    for wrong in ({}, {"answer": None}, {"answer": 1}, {"answer": ""}, {"answer": " "}, {"answer": "a", "more": 1}):
        world.post(path, wrong, 422)
    assert world.post(path, {"answer": "the blue one"})["state"] == "answered"
    assert world.get(f"/api/questions/{asking['request_id']}")["answer"] == "the blue one"
    assert world.post(path, {"answer": "the blue one"})["state"] == "answered"
    said = world.post(path, {"answer": "the red one"}, 409)
    assert (said["resolution"]["resolved_by"], said["resolution"]["state"]) == ("ada", "answered")
    world.post("/api/inbox/clarifications/none/resolve", {"answer": "x"}, 404)
    for question in ({}, {"question": ""}, {"question": "?", "choices": "a"}, {"question": "?", "choices": ["x"] * 21}):
        world.post(f"/api/sessions/{session}/questions", question, 422)


def test_every_answer_is_in_the_audit_log_without_an_argument(world: World) -> None:
    request, _ = asked(world, arguments={"path": "a.txt", "content": "canary-91"})
    resolve(world, request, note="canary-92", bypass_secs=60, arguments={"path": "b.txt", "content": "canary-93"})
    log = str(world.get("/api/audit?limit=500"))
    assert "canary" not in log
    row = world.get(f"/api/audit?subject={request}")["items"][0]
    assert (row["action"], row["actor"], row["surface"]) == ("approval.approved", "ada", "http")
    assert (row["detail"]["edited"], row["detail"]["noted"]) == (True, True)
    assert row["detail"]["bypass"]["scope"] == "category"
    assert world.get("/api/audit/verify")["holds"]
