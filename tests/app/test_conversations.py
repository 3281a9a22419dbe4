"""Conversations and turns over two processes: who adds, who hears of it, and who goes on where one is gone."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stanch.values.fault import Conflict
from stanch.values.message import Message, Role, Text
from stanch.values.turn import JobRunState, TurnProblem, TurnState
from tests.app.gates import ADA, AGENT, BEN, SECONDS, Gates

DUE = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
PROMPT = Message(Role.USER, (Text("hello"),))


@pytest.fixture
def gates(tmp_path: Path) -> Iterator[Gates]:
    made = Gates(tmp_path)
    yield made
    made.close()


def test_a_turn_and_what_was_said_in_it_are_kept(gates: Gates) -> None:
    service, session = gates.service, gates.session(model="a/b")
    turn = service.turn_log.begin(session, [PROMPT], by=ADA)
    assert (turn.node, turn.model, turn.asked_by) == (service.node.id, "a/b", "ada")
    answer = service.messages.add(session, Message(Role.ASSISTANT, (Text("hi"),), model="a/b"), turn.id)
    service.messages.add_all(session, [PROMPT, PROMPT])
    assert service.messages.all(session)[1] == answer
    assert service.messages.list(session, after_seq=2).total == 2
    assert service.turn_log.running(session) == turn
    ended = service.turn_log.end(turn.id, TurnState.COMPLETED, counts={"steps": 1}, by=AGENT)
    assert service.turn_log.list(session).items == (ended,)
    assert service.turn_log.running(session) is None


def test_another_process_neither_begins_nor_adds_nor_ends_but_may_stop(gates: Gates) -> None:
    other, session = gates.opened(), gates.session()
    turn = gates.service.turn_log.begin(session, [PROMPT], by=ADA)
    with pytest.raises(Conflict, match="asked for by ada"):
        other.turn_log.begin(session, [PROMPT], by=BEN)
    with pytest.raises(Conflict, match="by now"):
        other.messages.add(session, PROMPT, turn.id)
    with pytest.raises(Conflict, match="by now"):
        other.turn_log.end(turn.id, TurnState.COMPLETED, by=AGENT)
    assert other.turn_log.claim() == []
    stopped = other.turn_log.stop(turn.id, by=BEN)
    assert stopped.problem == TurnProblem("cancelled", "Stopped by ben")
    with pytest.raises(Conflict, match="is stopped"):
        gates.service.messages.add(session, PROMPT, turn.id)


def test_a_process_that_goes_leaves_its_turn_to_another(gates: Gates) -> None:
    other, third, session = gates.opened(), gates.opened(), gates.session()
    turn = gates.service.turn_log.begin(session, [PROMPT], by=ADA)
    gates.service.close()
    (claimed,) = other.turn_log.claim()
    assert (claimed.id, claimed.node, third.turn_log.claim()) == (turn.id, other.node.id, [])
    other.messages.add(session, PROMPT, turn.id)
    with pytest.raises(Conflict):
        gates.service.messages.add(session, PROMPT, turn.id)


def test_a_restart_goes_on_with_what_the_one_before_left(gates: Gates) -> None:
    session = gates.session()
    turn = gates.service.turn_log.begin(session, [PROMPT], by=ADA)
    again = gates.opened(alone=True)
    assert [one.id for one in again.turn_log.claim()] == [turn.id]
    assert len(again.messages.all(session)) == 1


def test_the_end_of_a_session_is_the_end_of_its_turn(gates: Gates) -> None:
    session = gates.session()
    turn = gates.service.turn_log.begin(session, by=ADA)
    gates.service.sessions.end(session, by=ADA)
    assert gates.service.turn_log.get(turn.id).state is TurnState.STOPPED


def test_listeners_hear_of_messages_until_they_are_done(gates: Gates) -> None:
    other, session = gates.opened(), gates.session()
    start = other.messages.newest()
    heard: queue.Queue[str] = queue.Queue()
    done = other.messages.listen(lambda: heard.put("one"))
    stop = other.messages.listen(lambda: heard.put("two"))
    gates.service.messages.add(session, PROMPT)
    assert {heard.get(timeout=SECONDS), heard.get(timeout=SECONDS)} == {"one", "two"}
    assert other.messages.moved(start).sessions == (session,)
    done()
    done()
    gates.service.messages.add(session, PROMPT)
    assert heard.get(timeout=SECONDS) == "two"
    stop()


def test_a_job_is_run_by_one_process(gates: Gates) -> None:
    other, service = gates.opened(), gates.service
    job = service.jobs.create(
        name="j", cron="0 9 * * *", prompt="p", agent_id="coder", enabled=True, context=None, by=ADA
    ).id
    assert [one.job_runs.claim(job, DUE) for one in (service, other, service)] == [True, False, False]
    session = gates.session()
    run = service.job_runs.start(job, DUE, session)
    assert (run.node, other.job_runs.of_session(session)) == (service.node.id, run)
    ended = other.job_runs.end(job, DUE, JobRunState.COMPLETED, "done")
    assert other.job_runs.list(job).items == (ended,)
    assert other.job_runs.last_fired() == {job: DUE}
