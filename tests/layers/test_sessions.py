"""What a stored session has of skills, rows and policies holds for it and for every session below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import stanch
from stanch.app.content import CallRefused
from stanch.app.embedding import Embedded
from stanch.app.service import Service
from stanch.gate.approval import Move
from stanch.policies import Effect, PolicyRequest, Rewrite, Says
from stanch.storage.engine import url_of
from stanch.storage.store import Store
from stanch.values.approval import CallState
from stanch.values.decision import Decision
from stanch.values.fault import BadFields, BrokenRow, Conflict
from stanch.values.identity import Source
from stanch.values.narrowing import Narrowing, Row
from stanch.values.records import Actor, SessionRecord
from tests.layers.asked import RULES, said
from tests.stores.template import new_file

TABLES = """
[[skills]]
id = "router"
allowed_tools = ["read_file"]
[[skills.rules]]
tool = "web_search"
[[skills]]
id = "child"
"""
ADA = Actor("ada", "test")
ROW = {"tool": "@write", "path": "src", "action": "deny"}
ASK = {"tool": "@write", "path": "src", "action": "ask"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "stanch.toml").write_text(RULES + TABLES, "utf-8")
    new_file(tmp_path / "stanch.db")
    return tmp_path


def embedded(place: Path, **given: Any) -> Embedded:
    return stanch.embed(place / "stanch.toml", store=place / "stanch.db", **given)


@pytest.fixture
def program(place: Path) -> Iterator[Embedded]:
    with embedded(place) as made:
        yield made


def asked(program: Embedded, session: str, tool: str = "write_file", **arguments: Any) -> Decision:
    given = arguments or {"path": "src/a", "content": "x"}
    return program.service.check(session, tool, given, trace=True).decision


def search(program: Embedded, session: str) -> tuple[str, str, str]:
    return said(asked(program, session, "web_search", query="x"))


DENIED = ("deny", "rule", "skill_rows")
ALLOWED = ("allow", "rule", "persisted_rules")


def test_a_skill_forbids_while_it_is_active(program: Embedded) -> None:
    session, sessions = program.session("coder"), program.service.sessions
    assert search(program, session) == ALLOWED
    assert sessions.set_skills(session, add=["router"], by=ADA).skills == ("router",)
    assert search(program, session) == DENIED
    assert sessions.set_skills(session, add=["child", "router"], by=ADA).skills == ("router", "child")
    assert search(program, session) == DENIED
    assert sessions.set_skills(session, remove=["router"], by=ADA).skills == ("child",)
    assert search(program, session) == ALLOWED
    with pytest.raises(Conflict, match="not active"):
        sessions.set_skills(session, remove=["router"], by=ADA)
    with pytest.raises(BadFields, match="did you mean 'router'"):
        sessions.set_skills(session, add=["routr"], by=ADA)


def test_an_allow_list_of_a_skill_is_no_fence(program: Embedded) -> None:
    session = program.session("coder", skills=["router"])
    assert said(asked(program, session, path="other", content="x")) == ALLOWED


def test_a_subagent_is_under_the_skills_of_its_parent(program: Embedded) -> None:
    parent = program.session("coder", skills=["router"])
    below = program.session("helper", parent=program.session("helper", parent=parent, skills=["child"]))
    decision = asked(program, below, "web_search", query="x")
    assert said(decision) == DENIED
    assert decision.reason.rule is not None
    assert decision.reason.rule.group == "skill:router"


def test_a_skill_that_is_gone_from_the_policy_is_no_skill_without_rows(place: Path, program: Embedded) -> None:
    session = program.session("coder", skills=["router"])
    (place / "stanch.toml").write_text(RULES, "utf-8")
    program.service.refresh()
    assert search(program, session) == ("ask", "layer_failed", "skill_rows")


def test_rows_narrow_one_session_and_are_never_widened_by_an_update(program: Embedded) -> None:
    sessions = program.service.sessions
    session = program.session("coder", narrowing=[{**ROW, "frozen": True}, {"tool": "run_code", "action": "ask"}])
    assert said(asked(program, session)) == ("deny", "rule", "narrowing")
    assert said(asked(program, program.session("coder"))) == ALLOWED
    with pytest.raises(Conflict, match=r"row 1 of the session .* is frozen"):
        sessions.narrow(session, add=[ASK], remove=[1, 2], by=ADA)
    made = sessions.narrow(session, add=[ASK], remove=[2], by=ADA)
    assert [(row.id, row.action, row.frozen) for row in made.narrowing.rows] == [
        (1, Effect.DENY, True), (3, Effect.ASK, False),
    ]  # fmt: skip
    assert said(asked(program, session)) == ("deny", "rule", "narrowing")
    assert sessions.narrow(session, remove=[3], by=ADA).narrowing.next == 4
    with pytest.raises(Conflict, match="has no row 3"):
        sessions.narrow(session, remove=[3], by=ADA)


@pytest.mark.parametrize(
    "row",
    [
        {"tool": "@write", "action": "allow"}, {"tool": "@write"}, {"action": "deny"}, {"tool": "", "action": "deny"},
        {"tool": "@wrte", "action": "deny"}, {"tool": "a", "action": "deny", "real_approval": True},
        {"tool": "a", "action": "deny", "id": 1}, {"tool": "a", "action": "deny", "path": "a/***/b[" + "\0"},
    ],
)  # fmt: skip
def test_a_row_that_is_none_is_refused(program: Embedded, row: Mapping[str, Any]) -> None:
    with pytest.raises(BadFields):
        program.session("coder", narrowing=[row])


def test_rows_outlive_their_process(place: Path) -> None:
    with embedded(place) as first:
        session = first.session("coder", narrowing=[ROW], skills=["router"])
    with embedded(place) as second:
        assert said(asked(second, session)) == ("deny", "rule", "narrowing")
        assert search(second, session) == DENIED


def test_rows_that_cannot_be_read_are_no_smaller_list(place: Path, program: Embedded) -> None:
    session = program.session("coder", narrowing=[ROW])
    store = program._store
    for column, value in (
        ("narrowing", '{"next": 2, "rows": []'), ("narrowing", "[]"), ("skills", '"router"'), ("skills", "[1]"),
        ("narrowing", '{"next": 2, "rows": [{"id": 1, "tool": "a", "action": "allow"}]}'),
        ("narrowing", '{"next": 1, "rows": [{"id": 1, "tool": "a", "action": "deny"}]}'),
    ):  # fmt: skip
        with store._engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, session))
        with pytest.raises(BrokenRow):
            store.get_session(session)
        assert asked(program, session, path="other", content="x").effect is not Effect.ALLOW
        with store._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE sessions SET narrowing = NULL, skills = '[]' WHERE id = ?", (session,))


def test_an_ancestors_row_asks_a_person_whatever_bypass_there_is(program: Embedded) -> None:
    parent = program.session("coder", narrowing=[ASK])
    below = program.session("helper", parent=parent)
    assert not asked(program, parent).mandated
    decision = asked(program, below)
    assert said(decision) == ("ask", "rule", "narrowing")
    assert decision.mandated


def heard(into: list[tuple[str, str | None]], name: str, says: Any = None) -> Any:
    def policy(request: PolicyRequest) -> Any:
        into.append((name, request.agent))
        return says

    return policy


def test_each_policy_of_a_line_is_asked_once_and_the_reason_names_the_layer(program: Embedded) -> None:
    calls: list[tuple[str, str | None]] = []
    top = program.session("coder", policy=heard(calls, "top", Says(Effect.DENY, "no")))
    middle = program.session("helper", parent=top)
    below = program.session("scout", parent=middle, policy=heard(calls, "below"))
    assert said(asked(program, below)) == ("deny", "policy_says", "inherited_constraint")
    assert calls == [("below", "scout"), ("top", "scout")]
    calls.clear()
    assert said(asked(program, top)) == ("deny", "policy_says", "caller_policy")
    assert calls == [("top", "coder")]


def test_an_ancestors_policy_is_a_live_reference(program: Embedded) -> None:
    top = program.session("coder", policy=lambda _: None)
    below = program.session("helper", parent=top)
    assert said(asked(program, below)) == ALLOWED
    program.service.sessions.replace_policy(top, lambda _: Says(Effect.ASK))
    decision = asked(program, below)
    assert said(decision) == ("ask", "policy_says", "inherited_constraint")
    assert decision.mandated
    with pytest.raises(Conflict):
        program.service.sessions.replace_policy(below, lambda _: None)


def test_the_policy_of_an_ancestor_that_has_ended_is_not_silent(program: Embedded) -> None:
    top = program.session("coder", policy=lambda _: None)
    below = program.session("helper", parent=top)
    program.service.sessions.end(top, by=ADA)
    assert said(asked(program, below)) == ("ask", "layer_failed", "inherited_constraint")


def test_a_policy_whose_process_is_gone_is_not_silent(place: Path) -> None:
    with embedded(place) as first:
        top = first.session("coder", policy=lambda _: None)
        below = first.session("helper", parent=top)
        assert said(asked(first, below)) == ALLOWED
    with embedded(place) as second:
        assert said(asked(second, top)) == ("ask", "layer_failed", "caller_policy")
        assert said(asked(second, below)) == ("ask", "layer_failed", "inherited_constraint")


def test_a_policy_for_every_session_is_asked_for_it_and_for_those_below(place: Path) -> None:
    def policy_for(record: SessionRecord) -> Any:
        return (lambda _: Says(Effect.DENY, record.agent_id)) if record.agent_id == "coder" else None

    with embedded(place, policy_for=policy_for) as program:
        top = program.session("coder")
        below, other = program.session("helper", parent=top), program.session("helper")
        assert said(asked(program, top)) == ("deny", "policy_says", "caller_policy")
        assert said(asked(program, below)) == ("deny", "policy_says", "inherited_constraint")
        assert said(asked(program, other)) == ALLOWED
        program.service.sessions.end(top, by=ADA)
        assert said(asked(program, below)) == ("ask", "layer_failed", "inherited_constraint")


def test_an_ancestors_policy_changes_no_arguments(program: Embedded) -> None:
    top = program.session("coder", policy=lambda _: Rewrite({"path": "b", "content": "x"}))
    assert said(asked(program, program.session("helper", parent=top))) == (
        "ask", "layer_failed", "inherited_constraint",
    )  # fmt: skip


def elsewhere(request: PolicyRequest) -> Rewrite | None:
    """A hook that has everything written into one file."""
    return None if request.arguments["path"] == "kept" else Rewrite({**request.arguments, "path": "kept"})


def test_what_a_hook_made_of_a_call_is_what_ancestors_judge_and_what_runs(place: Path) -> None:
    ran: list[Mapping[str, Any]] = []
    with embedded(place, hooks=[elsewhere]) as program:
        top = program.session("coder", narrowing=[{"tool": "@write", "path": "kept", "action": "deny"}])
        assert said(asked(program, program.session("helper", parent=top))) == ("deny", "rule", "narrowing")
        other = program.session("coder")
        done = program.run(other, "write_file", {"path": "src/a", "content": "x"}, lambda _, given: ran.append(given))
    assert (done.call.state, done.call.edited) == (CallState.COMPLETED, True)
    assert ran == [{"path": "kept", "content": "x"}]


def test_a_call_that_a_hook_makes_another_after_its_approval_does_not_run(place: Path) -> None:
    changes: list[Rewrite] = []
    with embedded(place, hooks=[lambda _: changes[0] if changes else None]) as program:
        session = program.session("coder", narrowing=[ASK])
        submitted = program.service.calls.submit(session, "write_file", {"path": "src/a", "content": "x"}, by=ADA)
        assert submitted.approval is not None
        program.approve(submitted.approval.request_id, by="ada")
        changes.append(Rewrite({"path": "src/b", "content": "y"}))
        started = program.service.calls.start(submitted.call.id, by=ADA)
        assert (started.call.state, started.call.reason["code"]) == (CallState.AWAITING_APPROVAL, "call_changed")
        changes.clear()
        free = program.service.calls.submit(session, "write_file", {"path": "free", "content": "x"}, by=ADA)
        changes.append(Rewrite({"path": "other", "content": "y"}))
        begun = program.service.calls.start(free.call.id, by=ADA)
        assert (begun.call.state, begun.call.reason["code"]) == (CallState.REJECTED, "call_changed")


def test_a_call_that_a_hook_never_leaves_as_it_is_does_not_run(place: Path) -> None:
    turns: list[int] = []

    def hook(request: PolicyRequest) -> Rewrite | None:
        return Rewrite({**request.arguments, "content": f"{request.arguments['content']}y"}) if turns else None

    with embedded(place, hooks=[hook]) as program:
        session = program.session("coder")
        free = program.service.calls.submit(session, "write_file", {"path": "free", "content": "x"}, by=ADA)
        turns.append(1)
        begun = program.service.calls.start(free.call.id, by=ADA)
        assert (begun.call.state, begun.call.reason["code"]) == (CallState.REJECTED, "rewrite_loop")


def test_a_call_that_a_hook_makes_another_once_is_changed_and_does_not_run(place: Path) -> None:
    changes: list[str] = ["free"]

    def hook(request: PolicyRequest) -> Rewrite | None:
        wanted = {"path": changes[0], "content": "x"}
        return None if request.arguments == wanted else Rewrite(wanted)

    with embedded(place, hooks=[hook]) as program:
        session = program.session("coder")
        made = program.service.calls.submit(session, "write_file", {"path": "src/a", "content": "x"}, by=ADA)
        assert made.call.arguments == {"path": "free", "content": "x"}
        changes[0] = "other"
        started = program.service.calls.start(made.call.id, by=ADA)
        assert (started.call.state, started.call.reason["code"]) == (CallState.REJECTED, "call_changed")


def test_a_person_sees_what_a_hook_made_of_a_call(place: Path) -> None:
    with embedded(place, hooks=[elsewhere]) as program:
        session = program.session("coder", narrowing=[{"tool": "@write", "action": "ask"}])
        made = program.service.calls.submit(session, "write_file", {"path": "src/a", "content": "x"}, by=ADA)
        assert made.approval is not None
        assert made.approval.arguments == {"path": "kept", "content": "x"} == made.call.arguments
        program.approve(made.approval.request_id, by="ada")
        started = program.service.calls.start(made.call.id, by=ADA)
        assert started.call.state is CallState.RUNNING
        program.service.calls.finish(made.call.id, Move.COMPLETE, by=ADA)


def test_another_node_has_no_policy_of_a_session_that_was_given_one(place: Path, program: Embedded) -> None:
    session = program.session("coder", policy=lambda _: None)
    store = Store(url_of(f"sqlite:///{place / 'stanch.db'}"))
    other = Service.open(store=store, policy=place / "stanch.toml", workspace=place)
    try:
        decision = other.check(session, "read_file", {"path": "a"}).decision
        assert said(decision) == ("ask", "layer_failed", "caller_policy")
    finally:
        other.close()
        store.close()


def test_a_session_record_keeps_its_rows() -> None:
    row = Row(1, "a", Effect.DENY)
    assert Narrowing((row,), 2).rows == (row,)
    assert Source("cron") is Source.CRON


def test_an_operation_on_stored_content_does_not_run_with_what_nobody_judged(place: Path) -> None:
    def narrower(request: PolicyRequest) -> Rewrite | None:
        wanted = {"path": "notes"}
        return None if request.arguments == wanted else Rewrite(wanted)

    with embedded(place, hooks=[narrower]) as program:
        session = program.session("coder")
        principal = program.service.sessions.get(session).principal
        content = program.service.content
        access = content.access(principal, ADA, session_id=session)
        with pytest.raises(CallRefused) as refused, content.judged(access, "files_list", {"path": ""}):
            pytest.fail("it ran")
        assert refused.value.told["code"] == "call_changed"
        with content.judged(access, "files_list", {"path": "notes"}):
            pass


def test_an_approval_is_for_the_words_that_a_person_was_shown(place: Path) -> None:
    words = ["may it write?"]
    with embedded(place, hooks=[lambda _: Says(Effect.ASK, words[0])]) as program:
        session = program.session("coder")
        made = program.service.calls.submit(session, "write_file", {"path": "a", "content": "x"}, by=ADA)
        assert made.approval is not None
        program.approve(made.approval.request_id, by="ada")
        words[0] = "may it write elsewhere?"
        assert program.service.calls.start(made.call.id, by=ADA).call.state is CallState.AWAITING_APPROVAL
        (again,) = program.waiting(session)
        program.approve(again.request_id, by="ada")
        assert program.service.calls.start(made.call.id, by=ADA).call.state is CallState.RUNNING
