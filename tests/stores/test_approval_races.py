"""Two who approve or start, a clock that runs out and a session that cancels, all at the same moment: one wins.

Each race has two nodes on one store, so that no lock within a process helps. Every other is told who was first, and the
call stands where the winner brought it.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stanch.gate.approval import Move
from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, ApprovalState, CallRecord, CallState, Fingerprint
from stanch.values.fault import Conflict
from stanch.values.identity import Source
from stanch.values.records import Actor, AuditRecord
from tests.stores.conftest import new_database, postgresql_server
from tests.stores.places import BY, PostgresqlPlace, new_session

__all__ = ["new_database", "postgresql_server"]

ROUNDS = pytest.mark.parametrize("rounds", [60, pytest.param(1000, marks=pytest.mark.soak)])
SECONDS = 60.0
LATER = datetime(2100, 1, 1, tzinfo=UTC)
AFTERWARDS = datetime(2200, 1, 1, tzinfo=UTC)
OUTCOME = {
    ApprovalState.APPROVED: CallState.PENDING,
    ApprovalState.REJECTED: CallState.REJECTED,
    ApprovalState.EXPIRED: CallState.REJECTED,
    ApprovalState.CANCELLED: CallState.CANCELLED,
}

Nodes = tuple[Store, Store]


@pytest.fixture(params=["sqlite", "postgresql"])
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Nodes]:
    """Two nodes on one new store."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'races.db'}"
    else:
        make: Callable[[], PostgresqlPlace] = request.getfixturevalue("new_database")
        url = make().url
    one, other = Store.open(url), Store.open(url)
    one.migrate()
    yield one, other
    one.close()
    other.close()


def waiting(store: Store, session: str, number: int) -> ApprovalRecord:
    """A new call that waits for approval until the far future, and whose approval holds until after `LATER`."""
    now = datetime.now(UTC)
    reason = {"code": "rule", "layer": "persisted_rules", "subject": "make", "sentence": "It asks"}
    call = CallRecord(
        id=f"call_{number}", session_id=session, tool_call_id="c", tool="execute_cmd", arguments={"command": "make"},
        state=CallState.AWAITING_APPROVAL, reason=reason, request_id=f"req_{number}", created_at=now, changed_at=now,
    )  # fmt: skip
    approval = ApprovalRecord(
        request_id=f"req_{number}", call_id=call.id, session_id=session, tool_call_id="c", tool_name=call.tool,
        arguments=call.arguments, targets=(), agent_id="a", source=Source.API, context_label="", reason=reason,
        asked=("persisted_rules:rule:default/6",), scripts={}, fingerprint=Fingerprint("a", "b", "c"),
        created_at=now - timedelta(days=9), expires_at=LATER - timedelta(days=1),
    )  # fmt: skip
    store.add_call(call, approval, by=BY)
    return approval


def race(works: list[Callable[[], object]]) -> list[object]:
    """What each came to, all begun at once: its result, or the `Conflict` it met."""
    gate, found = threading.Barrier(len(works)), [None] * len(works)

    def begin(at: int, work: Callable[[], object]) -> None:
        gate.wait(SECONDS)
        try:
            found[at] = work()  # type: ignore[call-overload]
        except Conflict as why:
            found[at] = why  # type: ignore[call-overload]

    threads = [threading.Thread(target=begin, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    return list(found)


def answers(one: Store, other: Store, request: str, call: str) -> list[Callable[[], object]]:
    """Whatever may happen to a request at once: two people, the clock, and a cancellation."""
    ann, bob = Actor("ann", "console"), Actor("bob", "cli")
    return [
        lambda: one.resolve_approval(request, ApprovalState.APPROVED, by=ann),
        lambda: other.resolve_approval(request, ApprovalState.REJECTED, note="no", by=bob),
        lambda: other.expire_due(LATER) and one.get_approval(request),
        lambda: one.move_call(call, Move.CANCEL, by=BY),
    ]


def start(store: Store, node: str, pending: CallRecord) -> Callable[[], object]:
    """A runner on a node that starts a call which it has seen pending."""
    return lambda: store.move_call(pending.id, Move.START, node=node, expected=pending, by=BY)


def lapse(store: Store, call_id: str) -> Callable[[], object]:
    """A sweeper that has looked around already. WHY: one that has to do so first is hardly ever the faster."""
    return lambda: store.lapse_call(call_id, now=AFTERWARDS)


@ROUNDS
def test_one_answer_wins_and_the_others_are_told_whose_it_was(nodes: Nodes, rounds: int) -> None:
    one, other = nodes
    seed = random.randrange(1 << 32)
    print(f"random seed: {seed}")
    chance, winners = random.Random(seed), set()
    session = new_session(one).id
    for number in range(rounds):
        request = waiting(chance.choice(nodes), session, number).request_id
        works = answers(one, other, request, f"call_{number}")
        chance.shuffle(works)
        found = race(works)
        approval, call = other.get_approval(request), one.get_call(f"call_{number}")
        assert approval.state is not ApprovalState.OPEN
        after_approval = approval.state is ApprovalState.APPROVED and call.state is CallState.CANCELLED
        assert call.state is OUTCOME[approval.state] or after_approval, (approval.state, call.state)
        won = [got for got in found if isinstance(got, tuple)]
        told = [str(got) for got in found if isinstance(got, Conflict)]
        assert len(won) == (approval.state in (ApprovalState.APPROVED, ApprovalState.REJECTED))
        for message in told:
            assert str(approval.resolved_by) in message or call.state.value in message, message
        winners.add(approval.state)
        rows = one.list_audit(subject=request).items
        assert len(rows) == (approval.state is not ApprovalState.CANCELLED), "an answer left no row, or two"
    assert len(winners) > 1, "the races were none"
    assert one.verify_audit().broken is None


@ROUNDS
def test_a_released_call_is_started_once(nodes: Nodes, rounds: int) -> None:
    one, other = nodes
    session = new_session(one).id
    for number in range(rounds):
        request = waiting(one, session, number).request_id
        one.resolve_approval(request, ApprovalState.APPROVED, by=BY)
        pending = other.get_call(f"call_{number}")
        starts = ((one, "n1"), (other, "n2"), (one, "n1"), (other, "n2"))
        found = race([start(store, node, pending) for store, node in starts])
        started = [call for call in found if isinstance(call, CallRecord)]
        assert len(started) == 1
        assert one.get_call(f"call_{number}") == replace(started[0])
        assert one.get_call(f"call_{number}").state is CallState.RUNNING
    rows = one.list_audit(action="call.start", limit=100)
    assert rows.total == rounds


@ROUNDS
def test_a_call_is_started_or_its_approval_is_over_and_never_both(nodes: Nodes, rounds: int) -> None:
    one, other = nodes
    chance, winners = random.Random(), set()
    session = new_session(one).id
    for number in range(rounds):
        request = waiting(one, session, number).request_id
        one.resolve_approval(request, ApprovalState.APPROVED, by=BY)
        pending = other.get_call(f"call_{number}")
        works: list[Callable[[], object]] = [
            start(one, "n1", pending),
            start(other, "n2", pending),
            lambda: one.expire_due(AFTERWARDS),
            lapse(one, pending.id),
            lapse(other, pending.id),
        ]
        chance.shuffle(works)
        found = race(works)
        call = one.get_call(pending.id)
        moved = [got for got in found if isinstance(got, CallRecord)]
        started = [got for got in moved if got.state is CallState.RUNNING]
        ended = [got for got in found if got == [pending.id] or (got in moved and got not in started)]
        assert len(started) + len(ended) == 1, found
        assert call.state is (CallState.RUNNING if started else CallState.REJECTED)
        assert call.reason["code"] == ("rule" if started else "approval_lapsed")
        for told in (got for got in found if isinstance(got, Conflict)):
            assert call.state.value in str(told), told
        assert [row.action for row in one.list_audit(subject=pending.id).items if isinstance(row, AuditRecord)][1:] == [
            "call.start" if started else "call.expire"
        ]
        winners.add(call.state)
    assert len(winners) == 2, "the races were none"
    assert one.verify_audit().broken is None
