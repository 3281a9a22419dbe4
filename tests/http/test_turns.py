"""A live session has a new context from its next turn; a turn that is under way keeps the one it began with."""

from __future__ import annotations

import pytest

from stanch.app.turns import Turn, Turns
from stanch.values.decision import Effect
from stanch.values.fault import Conflict, NotFound
from tests.http.served import BY, World

GRANT = {"allow_fs_writes": ["out"]}


def begin(world: World, session: str) -> None:
    world.post(f"/api/sessions/{session}/turns", status=201)


def test_a_turn_keeps_its_context_and_the_next_one_has_the_new_one(world: World) -> None:
    session = world.session()
    begin(world, session)
    world.set_context(f"/api/sessions/{session}/run_context", GRANT)
    assert world.answer("write_file", "out/a", session_id=session) == ("ask", "rule")
    begin(world, session)
    assert world.answer("write_file", "out/a", session_id=session) == ("allow", "write_grant")
    world.set_context(f"/api/sessions/{session}/run_context", None)
    assert world.answer("write_file", "out/a", session_id=session) == ("allow", "write_grant")
    begin(world, session)
    assert world.answer("write_file", "out/a", session_id=session) == ("ask", "rule")


def test_without_a_turn_the_stored_context_counts_at_once(world: World) -> None:
    session = world.session()
    assert world.answer("write_file", "out/a", session_id=session) == ("ask", "rule")
    world.set_context(f"/api/sessions/{session}/run_context", GRANT)
    assert world.answer("write_file", "out/a", session_id=session) == ("allow", "write_grant")


def test_a_projects_new_context_reaches_its_live_sessions_with_their_next_turn(world: World) -> None:
    project = world.post("/api/projects", {"name": "p"}, 201)["id"]
    ticket = world.post(f"/api/projects/{project}/tickets", {"title": "t"}, 201)["id"]
    opening = f"/api/projects/{project}/session"
    chat = world.post(opening, {"agent_id": "a"}, 201)["id"]
    on_ticket = world.post(opening, {"agent_id": "a", "ticket_id": ticket}, 201)["id"]
    own = world.post(opening, {"agent_id": "a"}, 201)["id"]
    world.set_context(f"/api/sessions/{own}/run_context", {})
    for session in (chat, on_ticket, own):
        begin(world, session)
    world.set_context(f"/api/projects/{project}/run_context", GRANT)
    for session in (chat, on_ticket, own):
        assert world.answer("write_file", "out/a", session_id=session) == ("ask", "rule")
        begin(world, session)
    assert world.answer("write_file", "out/a", session_id=chat) == ("allow", "write_grant")
    assert world.answer("write_file", "out/a", session_id=on_ticket) == ("allow", "write_grant")
    assert world.answer("write_file", "out/a", session_id=own) == ("ask", "rule"), "it was given one of its own"
    world.set_context(f"/api/projects/{project}/tickets/{ticket}/run_context", {})
    begin(world, on_ticket)
    assert world.answer("write_file", "out/a", session_id=on_ticket) == ("ask", "rule")


def test_a_rule_that_denies_from_now_on_denies_within_a_turn(world: World) -> None:
    session = world.session(run_context=GRANT)
    begin(world, session)
    assert world.answer("write_file", "out/a", session_id=session) == ("allow", "write_grant")
    world.post("/api/approval/rules", {"tool_pattern": "@write", "action": "deny", "priority": 1}, 201)
    assert world.answer("write_file", "out/a", session_id=session) == ("deny", "rule")


def test_a_turn_is_over_when_the_next_one_cannot_begin(world: World) -> None:
    session = world.session(run_context=GRANT)
    begin(world, session)
    world.set_context(f"/api/sessions/{session}/run_context", {"working_directory": "here"})
    (world.workspace / "here").symlink_to("here")
    assert world.answer("write_file", "out/a", session_id=session) == ("allow", "write_grant")
    assert world.client().post(f"/api/sessions/{session}/turns").status_code == 422
    assert world.answer("write_file", "out/a", session_id=session) == ("ask", "store_unreadable")


def test_another_model_counts_within_a_turn(world: World) -> None:
    session = world.session()
    begin(world, session)
    assert world.answer("read_file", "a", session_id=session) == ("allow", "read_grant")
    assert world.post(f"/api/sessions/{session}/model", {"model": "m-1"})["model"] == "m-1"
    assert world.answer("read_file", "a", session_id=session)[0] == "ask"
    world.post(f"/api/sessions/{session}/model", {"model": None})
    assert world.answer("read_file", "a", session_id=session) == ("allow", "read_grant")


def test_an_ended_session_gets_no_answer(world: World) -> None:
    session = world.session(run_context=GRANT)
    begin(world, session)
    world.store.end_session(session, by=BY)  # as another node does
    with pytest.raises(Conflict, match="has ended"):
        world.service.check(session, "write_file", {"path": "out/a", "content": ""})
    with pytest.raises(Conflict, match="has ended"):
        world.service.turn(session)
    with pytest.raises(NotFound):
        world.service.turn("nobody")
    assert world.service.turns.of(session) is None


def test_a_turn_is_bound_once_for_each_policy(world: World) -> None:
    session = world.session()
    turn = world.service.turn(session)
    first = world.service.check(session, "read_file", {"path": "a"})
    again = world.service.check(session, "read_file", {"path": "a"})
    assert first.session is again.session
    assert first.decision.effect is Effect.ALLOW
    world.group("more")
    later = world.service.check(session, "read_file", {"path": "a"})
    assert later.session is not first.session
    assert later.decision.policy_version != first.decision.policy_version
    assert world.service.turns.of(session) is turn


def test_only_so_many_turns_are_kept() -> None:
    turns = Turns(most=2)
    for name in ("a", "b", "a", "c"):
        turns.begin(Turn(name, None))
    assert [turns.of(name) is not None for name in ("a", "b", "c")] == [True, False, True]
