"""What is approved is what runs, or nothing does: calls from their asking to their end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.app.approving import Edit, EditRefused
from stanch.app.running import Ran
from stanch.gate.approval import Move
from stanch.values.approval import ApprovalState, CallState
from stanch.values.call import Category
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.fault import Conflict, NotFound
from stanch.values.identity import Source
from stanch.values.records import Broken
from tests.app.gates import ADA, AGENT, BEN, POLICY, Clock, Gates, until


@pytest.fixture
def gates(tmp_path: Path) -> Iterator[Gates]:
    made = Gates(tmp_path)
    yield made
    made.close()


@pytest.fixture
def timed(tmp_path: Path) -> Iterator[tuple[Gates, Clock]]:
    clock = Clock()
    made = Gates(tmp_path, clock)
    yield made, clock
    made.close()


def begun(gates: Gates, call_id: str, **given: Any) -> tuple[CallState, str]:
    """What starting the call leads to: its state, and the reason's code."""
    started = gates.service.calls.start(call_id, by=AGENT, **given)
    return started.call.state, str(started.call.reason["code"])


def test_a_call_that_needs_nobody_runs_once(gates: Gates) -> None:
    made = gates.ask(gates.session(), path="free/a.txt", content="x")
    assert (made.call.state, made.approval) == (CallState.PENDING, None)
    assert begun(gates, made.call.id)[0] is CallState.RUNNING
    with pytest.raises(Conflict, match="is running"):
        gates.service.calls.start(made.call.id, by=AGENT)
    assert gates.service.calls.finish(made.call.id, Move.COMPLETE, by=AGENT).state is CallState.COMPLETED
    for again in (Move.COMPLETE, Move.FAIL, Move.CANCEL):
        with pytest.raises(Conflict, match="completed"):
            gates.service.calls.finish(made.call.id, again, by=AGENT)


def test_a_call_that_is_denied_waits_for_nobody(gates: Gates) -> None:
    made = gates.ask(gates.session(), path="closed/a.txt", content="x")
    assert (made.call.state, made.approval, made.call.reason["code"]) == (CallState.REJECTED, None, "rule")
    assert gates.service.inbox.list().total == 0
    with pytest.raises(Conflict, match="rejected"):
        gates.service.calls.start(made.call.id, by=AGENT)


def test_what_a_person_is_shown(gates: Gates) -> None:
    (gates.workspace / "a.txt").write_text("one\ntwo\n", "utf-8")
    made = gates.ask(gates.session(), path="a.txt", content="one\nthree\n")
    shown = made.approval
    assert shown is not None
    assert (shown.tool_name, dict(shown.arguments)) == ("write_file", {"path": "a.txt", "content": "one\nthree\n"})
    assert shown.diff is not None
    assert shown.diff.splitlines()[-3:] == [" one", "-two", "+three"]
    assert (shown.tool_category, shown.reason["rule"]["id"]) == (Category.FILESYSTEM, 4)
    assert shown.targets[0]["path"] == str(gates.workspace / "a.txt")
    assert gates.service.inbox.list().approvals.items == (shown,)


def test_an_approval_lets_its_call_run_and_leaves_nothing_behind(gates: Gates) -> None:
    session = gates.session()
    call = gates.approved(session)
    assert (call.state, call.reason["code"]) == (CallState.PENDING, "approved")
    assert begun(gates, call.id)[0] is CallState.RUNNING
    again = gates.ask(session)
    assert again.call.state is CallState.AWAITING_APPROVAL, "once is once"


def test_a_rule_that_came_to_deny_wins(gates: Gates) -> None:
    call = gates.approved(gates.session())
    denying = POLICY.replace('path = "closed"', 'path = "a.txt"')
    gates.write_policy(denying)
    assert begun(gates, call.id) == (CallState.REJECTED, "rule")


def test_a_file_that_became_a_link_is_another_target(gates: Gates) -> None:
    (gates.workspace / "other.txt").write_text("other", "utf-8")
    call = gates.approved(gates.session())
    (gates.workspace / "a.txt").symlink_to("other.txt")
    assert begun(gates, call.id) == (CallState.REJECTED, "target_changed")


def test_a_directory_that_became_a_link_into_what_is_closed_is_denied(gates: Gates) -> None:
    (gates.workspace / "closed").mkdir()
    call = gates.approved(gates.session(), path="open/a.txt", content="x")
    (gates.workspace / "open").symlink_to("closed")
    assert begun(gates, call.id) == (CallState.REJECTED, "rule")


def test_a_script_that_says_something_else_is_another_target(gates: Gates) -> None:
    script = gates.workspace / "x.sh"
    script.write_text("echo one\n", "utf-8")
    session, run = gates.session(), {"tool": "execute_cmd", "command": "sh x.sh"}
    kept, changed = gates.approved(session, **run), gates.approved(session, **run)
    assert begun(gates, kept.id)[0] is CallState.RUNNING
    script.write_text("echo two\n", "utf-8")
    assert begun(gates, changed.id) == (CallState.REJECTED, "target_changed")


def test_another_context_makes_it_another_call(gates: Gates) -> None:
    session = gates.session()
    call = gates.approved(session)
    gates.context(session, RunContext(allow_fs_writes=("logs",)))
    assert begun(gates, call.id) == (CallState.REJECTED, "call_changed")


@pytest.mark.parametrize(
    "given",
    [
        {"arguments": {"path": "b.txt", "content": "x"}},
        {"arguments": {"path": "a.txt", "content": "x", "more": 1}},
        {"arguments": {}},
        {"tool": "edit_file"},
    ],
)
def test_a_runner_that_would_run_something_else_runs_nothing(gates: Gates, given: dict[str, Any]) -> None:
    call = gates.approved(gates.session())
    assert begun(gates, call.id, **given) == (CallState.REJECTED, "call_changed")


def test_one_and_true_are_not_the_same_argument(gates: Gates) -> None:
    call = gates.approved(gates.session(), path="a.txt", content="x", n=1)
    assert begun(gates, call.id, arguments={"path": "a.txt", "content": "x", "n": True})[0] is CallState.REJECTED


def test_an_ask_that_was_not_shown_is_asked_anew(gates: Gates) -> None:
    call = gates.approved(gates.session())
    gates.write_policy(POLICY.replace('path = "guarded"', 'path = "a.txt"'))
    started = gates.service.calls.start(call.id, by=AGENT)
    assert started.call.state is CallState.AWAITING_APPROVAL
    assert started.approval is not None
    assert started.approval.request_id != call.request_id
    gates.service.approving.approve(started.approval.request_id, by=ADA)
    assert begun(gates, call.id)[0] is CallState.RUNNING


def test_what_expires_is_rejected_and_cannot_be_answered_late(timed: tuple[Gates, Clock]) -> None:
    gates, clock = timed
    made = gates.ask(gates.session(source=Source.CRON))
    asked = gates.service.inbox.ask(gates.session(source=Source.CRON), "Which?", by=AGENT)
    assert made.approval is not None
    assert made.approval.expires_at is not None
    clock.move(61)
    with pytest.raises(Conflict, match="expired"):
        gates.service.approving.approve(made.approval.request_id, by=ADA)
    with pytest.raises(Conflict, match="expired"):
        gates.service.approving.approve(
            made.approval.request_id, edit=Edit(arguments={"path": "b", "content": ""}), by=ADA
        )
    assert gates.service.inbox.list().total == 0
    call = gates.service.calls.get(made.call.id)
    assert (call.state, call.reason["code"]) == (CallState.REJECTED, "approval_expired")
    assert gates.service.inbox.question(asked.request_id).state.value == "expired"


def test_parallel_requests_are_answered_singly(gates: Gates) -> None:
    session = gates.session()
    first, second, third = (gates.ask(session, path=f"{name}.txt", content="x") for name in "abc")
    assert first.approval is not None
    assert third.approval is not None
    gates.service.approving.approve(first.approval.request_id, by=ADA)
    gates.service.approving.reject(third.approval.request_id, note="not that one", by=BEN)
    states = [gates.service.calls.get(one.call.id).state for one in (first, second, third)]
    assert states == [CallState.PENDING, CallState.AWAITING_APPROVAL, CallState.REJECTED]
    assert gates.service.calls.get(third.call.id).reason["note"] == "not that one"
    assert gates.service.inbox.list().total == 1


def test_a_second_answer_is_told_who_was_first(gates: Gates) -> None:
    made = gates.ask(gates.session())
    assert made.approval is not None
    gates.service.approving.reject(made.approval.request_id, by=BEN)
    for answer in (gates.service.approving.approve, gates.service.approving.reject):
        with pytest.raises(Conflict, match="rejected by ben"):
            answer(made.approval.request_id, by=ADA)
    with pytest.raises(NotFound):
        gates.service.approving.approve("req_unknown", by=ADA)


# --- edits ---------------------------------------------------------------------------------------------------------


def test_an_edit_is_judged_from_the_start(gates: Gates) -> None:
    made = gates.ask(gates.session())
    assert made.approval is not None
    request = made.approval.request_id
    with pytest.raises(EditRefused) as refused:
        gates.service.approving.approve(request, edit=Edit(arguments={"path": "closed/x", "content": ""}), by=ADA)
    assert refused.value.decision.effect is Effect.DENY
    assert gates.service.inbox.approval(request).state is ApprovalState.OPEN
    done = gates.service.approving.approve(request, edit=Edit(arguments={"path": "b.txt", "content": "y"}), by=ADA)
    assert (done.call.edited, dict(done.call.arguments)) == (True, {"path": "b.txt", "content": "y"})
    ran: list[Any] = []
    gates.service.runner.resume(made.call.id, lambda tool, given: ran.append((tool, dict(given))), by=AGENT)
    assert ran == [("write_file", {"path": "b.txt", "content": "y"})]


def test_an_edit_that_asks_for_more_is_asked_about(gates: Gates) -> None:
    made = gates.ask(gates.session())
    assert made.approval is not None
    edit = Edit(arguments={"path": "guarded/x", "content": ""})
    done = gates.service.approving.approve(made.approval.request_id, edit=edit, by=ADA)
    assert done.approval.state is ApprovalState.REPLACED
    assert done.instead is not None
    assert (done.call.state, done.call.request_id) == (CallState.AWAITING_APPROVAL, done.instead.request_id)
    with pytest.raises(Conflict, match="replaced"):
        gates.service.approving.approve(made.approval.request_id, edit=edit, by=BEN)
    assert gates.service.calls.get(made.call.id).request_id == done.instead.request_id


# --- who is there --------------------------------------------------------------------------------------------------


def test_without_an_approver_asks_are_rejected_at_once(gates: Gates) -> None:
    session = gates.session(approver=False)
    below = gates.session(parent_id=session)
    for one in (session, below):
        made = gates.ask(one)
        assert (made.call.state, made.call.reason["code"]) == (CallState.REJECTED, "no_approver")
        with pytest.raises(Conflict, match="nobody"):
            gates.service.inbox.ask(one, "Which?", by=AGENT)
    assert gates.service.inbox.list().total == 0


def test_an_ended_session_cancels_what_waits(gates: Gates) -> None:
    session = gates.session()
    waiting, approved, running = gates.ask(session), gates.approved(session), gates.approved(session)
    gates.service.calls.start(running.id, by=AGENT)
    question = gates.service.inbox.ask(session, "Which?", by=AGENT)
    gates.service.sessions.end(session, by=ADA)
    states = [gates.service.calls.get(one).state for one in (waiting.call.id, approved.id, running.id)]
    assert states == [CallState.CANCELLED, CallState.CANCELLED, CallState.RUNNING]
    assert gates.service.inbox.question(question.request_id).state.value == "cancelled"
    assert waiting.approval is not None
    with pytest.raises(Conflict, match="cancelled by ada"):
        gates.service.approving.approve(waiting.approval.request_id, by=BEN)
    with pytest.raises(Conflict, match="ended"):
        gates.ask(session)


def test_what_waits_outlives_a_restart_and_runs_once(gates: Gates) -> None:
    made = gates.ask(gates.session())
    assert made.approval is not None
    gates.service.close()
    gates.service = gates.opened(alone=True)
    (found,) = gates.service.inbox.list().approvals.items
    assert not isinstance(found, Broken)
    assert found.request_id == made.approval.request_id
    gates.service.approving.approve(found.request_id, by=ADA)
    ran: list[str] = []
    runner = gates.service.runner
    first = runner.resume(made.call.id, lambda tool, _: ran.append(tool), by=AGENT)
    second = runner.resume(made.call.id, lambda tool, _: ran.append(tool), by=AGENT)
    assert (first.ran, second.call.state, ran) == (True, CallState.COMPLETED, ["write_file"])


def test_a_call_of_a_process_that_died_is_interrupted_and_not_run_again(gates: Gates) -> None:
    call = gates.approved(gates.session())
    gates.service.calls.start(call.id, by=AGENT)
    dead = gates.service.node
    dead._stopped.set()  # as if it were gone: it says nothing any more, and ends nothing
    after = gates.opened(alone=True)
    found = after.calls.get(call.id)
    assert (found.state, found.reason["code"]) == (CallState.INTERRUPTED, "interrupted")
    assert after.runner.resume(call.id, lambda *_: pytest.fail("it ran"), by=AGENT).call == found


def test_of_many_who_start_a_call_one_runs_it(gates: Gates) -> None:
    call = gates.approved(gates.session())
    other = gates.opened()
    ran: list[str] = []
    ended: list[Ran[None]] = []
    gate = threading.Barrier(6)

    def run(service: Any) -> None:
        gate.wait(30)
        ended.append(service.runner.resume(call.id, lambda tool, _: ran.append(tool), by=AGENT))

    threads = [threading.Thread(target=run, args=(one,)) for one in (gates.service, other) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ran == ["write_file"]
    assert len(ended) == 6


def test_a_runner_waits_for_a_person_and_no_longer_than_it_was_told(gates: Gates) -> None:
    session = gates.session()
    given = {"path": "a.txt", "content": "x"}
    left = gates.service.runner.run(session, "write_file", given, lambda *_: "ran", wait_seconds=0, by=AGENT)
    assert (left.ran, left.call.state) == (False, CallState.AWAITING_APPROVAL)
    ended: list[Ran[str]] = []
    thread = threading.Thread(
        target=lambda: ended.append(gates.service.runner.run(session, "write_file", given, lambda *_: "ran", by=AGENT))
    )
    thread.start()
    until(lambda: gates.service.inbox.list().total == 2, "the second request")
    second = gates.service.inbox.list().approvals.items[1]
    assert not isinstance(second, Broken)
    gates.service.approving.approve(second.request_id, by=ADA)
    thread.join(30)
    assert [(one.ran, one.result) for one in ended] == [(True, "ran")]


def test_what_fails_has_failed(gates: Gates) -> None:
    session = gates.session()

    def fail(*_: Any) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        gates.service.runner.run(session, "write_file", {"path": "free/x", "content": ""}, fail, by=AGENT)
    (call,) = gates.service.calls.list(session).items
    assert not isinstance(call, Broken)
    assert call.state is CallState.FAILED


# --- the inbox -----------------------------------------------------------------------------------------------------


def test_the_inbox_is_paged_and_filtered(gates: Gates) -> None:
    one, other = gates.session(), gates.session()
    for at in range(5):
        gates.ask(one, path=f"{at}.txt", content="x")
    for at in range(2):
        gates.service.inbox.ask(one, f"{at}?", by=AGENT)
    gates.ask(other)
    approvals: list[Any] = []
    questions: list[Any] = []
    cursor = None
    while True:
        page = gates.service.inbox.list(session_id=one, limit=2, cursor=cursor)
        assert page.total == 7
        approvals += page.approvals.items
        questions += page.clarifications.items
        cursor = page.next
        if cursor is None:
            break
    assert [row.arguments["path"] for row in approvals] == [f"{at}.txt" for at in range(5)]
    assert [row.question for row in questions] == ["0?", "1?"]
    assert gates.service.inbox.list().total == 8
