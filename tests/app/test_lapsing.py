"""An approval holds for a time: ways to use it later than that, or to lose one that still holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from stanch.app.approving import Edit
from stanch.gate.approval import holds_until
from stanch.values.approval import CallRecord, CallState
from stanch.values.fault import BadCall, Conflict
from stanch.values.identity import Source
from stanch.values.records import AuditRecord
from tests.app.gates import ADA, AGENT, POLICY, Clock, Gates

LAST = '[[groups.rules]]\ntool = "*"\naction = "ask"\n'


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gates(tmp_path: Path, clock: Clock) -> Iterator[Gates]:
    made = Gates(tmp_path, clock)
    yield made
    made.close()


def stands(gates: Gates, call: CallRecord) -> tuple[CallState, str]:
    now = gates.service.calls.get(call.id)
    return now.state, now.reason["code"]


def actions(gates: Gates, call: CallRecord) -> list[tuple[str, str]]:
    rows = gates.store.list_audit(subject=call.id).items
    return [(row.action, row.actor) for row in rows if isinstance(row, AuditRecord)]


def test_it_cannot_be_started_once_its_time_is_over_though_no_sweeper_came_by(gates: Gates, clock: Clock) -> None:
    call = gates.approved(gates.session(source=Source.CRON))
    clock.move(61)
    started = gates.service.calls.start(call.id, by=AGENT)
    assert (started.call.state, started.call.reason["code"]) == (CallState.REJECTED, "approval_lapsed")
    assert actions(gates, call)[-1] == ("call.expire", "stanch")
    with pytest.raises(Conflict, match="rejected"):
        gates.service.calls.start(call.id, by=AGENT)


def test_the_sweeper_ends_it_once_with_a_row_and_an_event(gates: Gates, clock: Clock) -> None:
    call = gates.approved(gates.session(source=Source.CRON))
    before = gates.store.last_event()
    clock.move(61)
    assert gates.store.expire_due() == [call.id]
    assert gates.store.expire_due() == []
    assert stands(gates, call) == (CallState.REJECTED, "approval_lapsed")
    (told,) = gates.store.list_events(before, ("call",))
    assert isinstance(told, AuditRecord)
    assert (told.action, told.subject, told.detail["state"]) == ("call.expire", call.id, "rejected")


def test_it_is_counted_from_the_answer_and_not_from_the_asking(gates: Gates, clock: Clock) -> None:
    made = gates.ask(gates.session(source=Source.CRON))
    assert made.approval is not None
    clock.move(59)
    done = gates.service.approving.approve(made.approval.request_id, by=ADA)
    clock.move(59)
    assert gates.store.expire_due() == []
    until = holds_until(done.approval)
    assert until is not None
    assert done.approval.resolved_at is not None
    assert until - done.approval.resolved_at == timedelta(seconds=60)
    assert gates.service.calls.start(done.call.id, by=AGENT).call.state is CallState.RUNNING
    clock.move(3600)
    assert gates.store.expire_due() == []
    assert stands(gates, done.call)[0] is CallState.RUNNING


def test_an_approval_of_a_source_without_a_time_holds(gates: Gates, clock: Clock) -> None:
    call = gates.approved(gates.session())
    clock.move(10_000_000)
    assert gates.store.expire_due() == []
    assert gates.service.calls.start(call.id, by=AGENT).call.state is CallState.RUNNING


def test_a_policy_that_gives_more_time_since_gives_none_to_what_was_approved_before(gates: Gates, clock: Clock) -> None:
    call = gates.approved(gates.session(source=Source.CRON))
    gates.write_policy(POLICY.replace("cron = 60", "cron = 6000"))
    clock.move(61)
    assert gates.store.expire_due() == [call.id]


def test_an_edit_holds_for_as_long_as_any_approval(gates: Gates, clock: Clock) -> None:
    made = gates.ask(gates.session(source=Source.CRON))
    assert made.approval is not None
    edit = Edit(arguments={"path": "b.txt", "content": "y"})
    done = gates.service.approving.approve(made.approval.request_id, edit=edit, by=ADA)
    assert done.call.state is CallState.PENDING
    clock.move(61)
    assert gates.store.expire_due() == [done.call.id]


def test_one_that_asks_anew_has_the_time_of_the_new_request(gates: Gates, clock: Clock) -> None:
    call = gates.approved(gates.session(source=Source.CRON))
    mandatory = '[[groups.rules]]\ntool = "@write"\naction = "ask"\nmandatory = true\n\n'
    gates.write_policy(POLICY.replace(LAST, mandatory + LAST))
    clock.move(30)
    again = gates.service.calls.start(call.id, by=AGENT)
    assert again.call.state is CallState.AWAITING_APPROVAL
    assert again.approval is not None
    clock.move(45)
    assert gates.store.expire_due() == []
    gates.service.approving.approve(again.approval.request_id, by=ADA)
    clock.move(45)
    assert gates.store.expire_due() == []
    clock.move(16)
    assert gates.store.expire_due() == [call.id]


def test_a_call_that_nobody_had_to_approve_has_no_time(gates: Gates, clock: Clock) -> None:
    made = gates.ask(gates.session(source=Source.CRON), path="free", content="x")
    clock.move(10_000)
    assert gates.store.expire_due() == []
    assert gates.service.calls.start(made.call.id, by=AGENT).call.state is CallState.RUNNING


def test_a_row_that_cannot_be_read_hides_no_other(gates: Gates, clock: Clock, tmp_path: Path) -> None:
    session = gates.session(source=Source.CRON)
    broken, far, other = (gates.approved(session, path=f"{name}.txt", content="x") for name in "abc")
    with closing(sqlite3.connect(tmp_path / "stanch.db", isolation_level=None)) as connection:
        connection.execute(f"UPDATE approvals SET agent_id = '' WHERE call_id = '{broken.id}'")
        # Nobody but a person with a database client writes this, and there are no dates beyond it.
        connection.execute(
            f"UPDATE approvals SET expires_at = '9999-12-31T23:59:59.999999+00:00', resolved_at = "
            f"'9000-01-01T00:00:00.000000+00:00' WHERE call_id = '{far.id}'"
        )
    clock.move(61)
    assert gates.store.expire_due() == [other.id]
    assert stands(gates, far)[0] is CallState.PENDING
    assert stands(gates, broken)[0] is CallState.PENDING


def test_no_answer_and_no_repetition_brings_it_back(gates: Gates, clock: Clock) -> None:
    made = gates.ask(gates.session(source=Source.CRON))
    assert made.approval is not None
    gates.service.approving.approve(made.approval.request_id, answer="d", by=ADA)
    clock.move(61)
    gates.store.expire_due()
    with pytest.raises((Conflict, BadCall), match="approved"):
        gates.service.approving.approve(made.approval.request_id, by=ADA)
    again = gates.service.approving.approve(made.approval.request_id, answer="d", by=ADA)
    assert again.call.state is CallState.REJECTED


def test_who_starts_it_while_the_sweeper_ends_it_is_told_how_it_stands(
    gates: Gates, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = gates.approved(gates.session(source=Source.CRON))
    clock.move(61)
    lapse = gates.store.lapse_call

    def slower(call_id: str) -> CallRecord:
        monkeypatch.undo()
        assert gates.store.expire_due() == [call_id]
        return lapse(call_id)

    monkeypatch.setattr(gates.store, "lapse_call", slower)
    with pytest.raises(Conflict, match="is rejected, and is not to be started"):
        gates.service.calls.start(call.id, by=AGENT)
    assert actions(gates, call)[-1] == ("call.expire", "stanch")
    assert [action for action, _ in actions(gates, call)].count("call.expire") == 1
