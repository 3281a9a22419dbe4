"""A plan's requests, answered together: ways to have an answer count for what nobody saw, or to lose one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.served import AGENT, KEY, World

Rows = list[dict[str, Any]]


@pytest.fixture
def session(world: World) -> str:
    world.group(
        "asking",
        {"tool_pattern": "@write", "path_pattern": "guarded.txt", "action": "ask", "mandatory": True},
        {"tool_pattern": "@write", "action": "ask"},
        {"tool_pattern": "@read", "action": "allow"},
    )
    return world.session(run_context={"security_group": "asking"})


def write(path: str) -> dict[str, Any]:
    return {"tool": "write_file", "arguments": {"path": path, "content": "x"}}


def submitted(world: World, session: str, *paths: str) -> tuple[str, Rows]:
    """A plan that was submitted, with a call between that asks nobody: its id, and what waits of it, in its order."""
    calls = [write(paths[0]), {"tool": "read_file", "arguments": {"path": "z.txt"}}, *map(write, paths[1:])]
    said = world.post("/api/judge/plan", {"session_id": session, "calls": calls, "submit": True})
    (plan_id,) = {one["plan_id"] for one in said if one["outcome"] == "asks"}
    assert [one["plan_id"] for one in said if one["outcome"] != "asks"] == [None]
    return plan_id, world.get(f"/api/inbox/plans/{plan_id}")["requests"]


def shown(rows: Rows) -> Rows:
    return [{"request_id": one["request_id"], "fingerprint": one["fingerprint"]} for one in rows]


def answer(world: World, plan_id: str, rows: Rows, action: str = "approve", status: int = 200, **more: Any) -> Any:
    body = {"action": action, "requests": shown(rows), **more}
    return world.post(f"/api/inbox/plans/{plan_id}/resolve", body, status)


def states(world: World, rows: Rows) -> list[str]:
    return [world.get(f"/api/calls/{one['call_id']}")["state"] for one in rows]


def outcomes(said: Any) -> list[str]:
    return [one["outcome"] for one in said["answered"]]


def test_the_requests_of_a_plan_are_told_together_in_its_order(world: World, session: str) -> None:
    alone = world.post(f"/api/sessions/{session}/calls", write("alone.txt"), 201)
    plan_id, rows = submitted(world, session, "a.txt", "guarded.txt", "c.txt")
    other_id, others = submitted(world, session, "d.txt")
    assert [(one["plan_place"], one["arguments"]["path"]) for one in rows] == [
        (0, "a.txt"),
        (2, "guarded.txt"),
        (3, "c.txt"),
    ]
    assert [one["mandated"] for one in rows] == [False, True, False]
    found = world.get("/api/inbox?limit=2")
    assert [one["plan_id"] for one in found["approvals"]] == [None, plan_id]
    assert found["plans"] == [{"plan_id": plan_id, "waiting": [one["request_id"] for one in rows]}]
    assert {one["plan_id"] for one in world.get("/api/inbox")["plans"]} == {plan_id, other_id}
    assert world.get(f"/api/inbox/approvals/{alone['request']['request_id']}")["plan_place"] is None
    assert others[0]["plan_id"] == other_id != plan_id


def test_all_of_it_is_approved_each_by_itself_and_runs_once(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt", "guarded.txt", "c.txt")
    said = answer(world, plan_id, rows, note="fine")
    assert outcomes(said) == ["approved"] * 3
    assert said["waiting"] == []
    assert {one["request"]["note"] for one in said["answered"]} == {"fine"}
    audit = [world.get(f"/api/audit?subject={one['request_id']}")["items"] for one in rows]
    assert [[row["action"] for row in one] for one in audit] == [["approval.approved"]] * 3
    assert states(world, rows) == ["pending"] * 3
    started = world.post(f"/api/calls/{rows[0]['call_id']}/start", write("a.txt"))
    assert started["call"]["state"] == "running"
    changed = world.post(f"/api/calls/{rows[1]['call_id']}/start", write("other.txt"))
    assert changed["call"]["reason"]["code"] == "call_changed"
    assert world.rows("SELECT * FROM bypasses") == []


def test_some_of_it_is_answered_and_the_rest_waits(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt", "b.txt", "c.txt")
    said = answer(world, plan_id, rows[1:2], "reject", note="not that")
    assert (outcomes(said), said["waiting"]) == (["rejected"], [rows[0]["request_id"], rows[2]["request_id"]])
    said = answer(world, plan_id, [rows[2], rows[0]])
    assert [one["request_id"] for one in said["answered"]] == [rows[0]["request_id"], rows[2]["request_id"]]
    assert states(world, rows) == ["pending", "rejected", "pending"]


def test_what_came_or_changed_after_it_was_loaded_is_not_answered(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt", "b.txt", "c.txt")
    world.post(f"/api/inbox/approvals/{rows[0]['request_id']}/resolve", {"action": "approve"})
    mandatory = {"group_id": "asking", "tool_pattern": "write_file", "action": "ask", "mandatory": True}
    world.post("/api/approval/rules", {**mandatory, "priority": 0}, 201)
    again = world.post(f"/api/calls/{rows[0]['call_id']}/start")
    assert again["call"]["state"] == "awaiting_approval", "it asks for what nobody was shown"
    edited = {"action": "approve", "arguments": {"path": "else.txt", "content": "y"}}
    instead = world.post(f"/api/inbox/approvals/{rows[1]['request_id']}/resolve", edited)["instead"]
    said = answer(world, plan_id, rows)
    assert outcomes(said) == ["too_late", "too_late", "approved"]
    assert "replaced" in said["answered"][1]["why"]
    assert said["waiting"] == [again["request"]["request_id"], instead["request_id"]]
    assert states(world, rows) == ["awaiting_approval", "awaiting_approval", "pending"]
    now = world.get(f"/api/inbox/plans/{plan_id}")["requests"]
    assert [one["plan_place"] for one in now] == [0, 0, 2, 2, 3]
    assert outcomes(answer(world, plan_id, [one for one in now if one["state"] == "open"])) == ["approved"] * 2


def test_another_fingerprint_is_another_request(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt", "b.txt")
    forged = [{**rows[0], "fingerprint": rows[1]["fingerprint"]}, rows[1]]
    said = answer(world, plan_id, forged)
    assert outcomes(said) == ["not_shown", "approved"]
    assert said["waiting"] == [rows[0]["request_id"]]
    assert states(world, rows) == ["awaiting_approval", "pending"]
    assert outcomes(answer(world, plan_id, forged[:1], "reject")) == ["not_shown"]


def test_what_is_none_of_the_plan_has_nothing_answered(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt")
    _, others = submitted(world, session, "b.txt")
    alone = world.post(f"/api/sessions/{session}/calls", write("alone.txt"), 201)["request"]["request_id"]
    single = world.get(f"/api/inbox/approvals/{alone}")
    for wrong in (others, [single], [rows[0], rows[0]], [{"request_id": "req_0", "fingerprint": "x"}]):
        said = answer(world, plan_id, [*rows, *wrong] if wrong != [rows[0], rows[0]] else wrong, status=422)
        assert "requests" in str(said["errors"])
    assert states(world, [*rows, *others, single]) == ["awaiting_approval"] * 3
    for name in ("none", "plan_0", f"{plan_id}_0000", "plan_" + "0" * 24, "%00", "plan_%25"):
        answer(world, name, rows, status=404)
        assert world.client().get(f"/api/inbox/plans/{name}").status_code == 404


def test_the_very_same_answer_once_more_is_answered_as_it_was(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt", "b.txt")
    first = answer(world, plan_id, rows)
    total = world.get("/api/audit")["total"]
    assert answer(world, plan_id, rows) == first
    assert outcomes(answer(world, plan_id, rows[:1])) == ["approved"]
    assert outcomes(answer(world, plan_id, rows, note="other")) == ["too_late"] * 2
    assert outcomes(answer(world, plan_id, rows, "reject")) == ["too_late"] * 2
    assert world.get("/api/audit")["total"] == total
    body = {"action": "approve", "requests": shown(rows)}
    other = world.client(KEY).post(f"/api/inbox/plans/{plan_id}/resolve", json=body).json()
    assert outcomes(other) == ["too_late"] * 2
    assert "approved by ada" in other["answered"][0]["why"]


def test_one_that_cannot_be_read_keeps_no_other_from_its_answer(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt", "b.txt")
    world.rows(f"UPDATE approvals SET agent_id = '' WHERE request_id = '{rows[0]['request_id']}'")
    said = answer(world, plan_id, rows)
    assert outcomes(said) == ["unreadable", "approved"]
    assert said["answered"][0]["request"] is None
    assert "problem" in world.get(f"/api/inbox/plans/{plan_id}")["requests"][0]


WRONG: list[Any] = [
    {"action": "approve"},
    {"action": "approve", "requests": []},
    {"action": "approve", "requests": "all"},
    {"action": "approve", "requests": None},
    {"action": "approve", "requests": ["req_0"]},
    {"action": "approve", "requests": [{"request_id": "r"}]},
    {"action": "approve", "requests": [{"fingerprint": "f"}]},
    {"action": "yes", "requests": [{"request_id": "r", "fingerprint": "f"}]},
    {"action": "approve", "requests": [{"request_id": "r", "fingerprint": "f"}], "bypass_secs": 60},
    {"action": "approve", "requests": [{"request_id": "r", "fingerprint": "f", "arguments": {}}]},
]


def test_whatever_is_no_answer_releases_nothing(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt")
    for body in WRONG:
        world.post(f"/api/inbox/plans/{plan_id}/resolve", body, 422)
    path = f"/api/inbox/plans/{plan_id}/resolve"
    reply = world.client(AGENT).post(path, json={"action": "approve", "requests": shown(rows)})
    assert reply.status_code == 403
    assert states(world, rows) == ["awaiting_approval"]


def test_no_other_call_comes_into_a_plan_by_its_name(world: World, session: str) -> None:
    plan_id, rows = submitted(world, session, "a.txt")
    named = {**write("b.txt"), "tool_call_id": f"{plan_id}_0001"}
    made = world.post(f"/api/sessions/{session}/calls", named, 201)
    assert not made["call"]["id"].startswith(plan_id)
    assert world.get(f"/api/inbox/plans/{plan_id}")["requests"] == rows


def test_of_a_plan_that_is_more_than_may_wait_nothing_is_asked(
    world: World, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stanch.app.calls.MOST_WAITING", 2)
    calls = [write("a.txt"), {"tool": "read_file", "arguments": {"path": "z.txt"}}, write("b.txt")]
    body = {"session_id": session, "calls": [*calls, write("c.txt")], "submit": True}
    refused = world.post("/api/judge/plan", body, 409)
    assert "would wait for approval" in refused["detail"]
    assert world.get("/api/inbox")["total"] == 0, "nobody is asked about a call whose id its agent was not told"
    world.post("/api/judge/plan", body | {"calls": calls})
    assert world.get("/api/inbox")["total"] == 2, "what asks nobody takes no room"
    alone = world.session(run_context={"security_group": "asking"}, approver=False)
    said = world.post("/api/judge/plan", body | {"session_id": alone})
    assert [one["outcome"] for one in said].count("asks") == 3, "where nobody is asked, nothing waits"
