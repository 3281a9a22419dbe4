"""Scheduled jobs: each time run once, in a session of its own, and ended whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stanch.app import scheduling
from stanch.app.scheduling import GONE, SKIPPED
from stanch.runtime.scripted_reply import fail, say, use
from stanch.values.approval import ApprovalRecord, CallState
from stanch.values.context import RunContext
from stanch.values.fault import BadFields, Conflict, NotFound
from stanch.values.identity import Source
from stanch.values.records import JobRecord
from stanch.values.turn import JobRunState, TurnState
from tests.runtime.clocked import Clocked
from tests.runtime.world import PERSON, until
from tests.stores.conftest import new_database, postgresql_server
from tests.stores.places import PostgresqlPlace, together

__all__ = ["new_database", "postgresql_server"]


def test_a_run_has_a_session_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    script = [use("execute_cmd", command="echo ran >> log"), say("done")]
    with Clocked(tmp_path, script) as world:
        job = world.job(cron=f"{(world.clock() + timedelta(minutes=1)).minute} * * * *")
        assert world.service.scheduler.run_due() == [], "its first time is still to come"
        (session_id,) = world.due()
        run = world.ended(job)
        assert (run.state, run.session_id, run.outcome) == (JobRunState.COMPLETED, session_id, None)
        assert run.due_at == world.clock()
        session = world.service.sessions.get(session_id)
        assert (session.source, session.job_id, session.agent_id) == (Source.CRON, job.id, "bob")
        assert session.run_context is not None
        assert session.run_context.security_group == "jobs", "the default for such sessions"
        assert session.ended_at is not None
        assert (world.workspace / "log").read_text() == "ran\n"
        assert world.service.scheduler.run_due() == [], "each time is run once"


def test_a_run_has_the_context_of_its_job(tmp_path: Path) -> None:
    with Clocked(tmp_path, [use("execute_cmd", command="echo hi"), say("done")]) as world:
        (world.workspace / "sub").mkdir()
        job = world.job(context=RunContext(working_directory="sub", system_prompt=("Be brief.",)))
        (session,) = world.due()
        request = until(lambda: _waiting(world))
        assert request.cwd == str(world.workspace / "sub"), "its own context names no group, so that no rule allows it"
        world.service.approving.reject(request.request_id, by=PERSON)
        assert world.ended(job).state is JobRunState.COMPLETED
        assert "Be brief." in str(world.models.bodies()[0]["messages"])
        assert "Rejected by ada" in world.results(session)[0]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_time_is_run_once_by_all_processes_together(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # WHY: the store goes by the time of the machine, minutes behind: what was claimed just now would be long ago.
    monkeypatch.setattr(scheduling, "LATE", timedelta(minutes=10))
    url = ""
    if kind == "postgresql":
        make: Callable[[], PostgresqlPlace] = request.getfixturevalue("new_database")
        url = make().url
    with Clocked(tmp_path, lambda _: say("done"), url=url) as world:
        jobs = [world.job(name=f"job {number}") for number in range(3)]
        for _ in range(2):
            world.open()
        for _ in range(3):
            world.clock.on(minutes=1)
            opened = together(*(one.scheduler.run_due for one in world.services for _ in range(2)))
            assert all(isinstance(one, list) for one in opened), opened
            assert len([session for one in opened for session in one]) == len(jobs)
            for job in jobs:
                assert world.ended(job).state is JobRunState.COMPLETED
        assert [len(world.runs(job)) for job in jobs] == [3, 3, 3]
        assert len(world.models.asked) == 9


def test_what_a_run_asks_waits_in_the_inbox_until_it_expires_and_the_run_goes_on(tmp_path: Path) -> None:
    with Clocked(tmp_path, [use("write_file", path="out", content="x"), say("so be it")]) as world:
        job = world.job()
        (session,) = world.due()
        request = until(lambda: _waiting(world))
        assert request.context_label == "CronJob: Daily digest"
        assert request.source is Source.CRON
        assert request.expires_at == request.created_at + timedelta(hours=1)
        world.clock.on(minutes=59)
        assert _waiting(world) is not None
        world.clock.on(minutes=2)
        assert _waiting(world) is None
        run = world.ended(job)
        assert (run.state, run.outcome) == (JobRunState.COMPLETED, "1 call was refused")
        (said,) = world.results(session)
        assert "expired" in said.lower() or "nobody" in said.lower(), said
        assert [one.state for one in world.service.agents.refused(world.turn(session).id)] == [CallState.REJECTED]
        assert not (world.workspace / "out").exists()


def test_a_run_goes_on_once_somebody_approves(tmp_path: Path) -> None:
    with Clocked(tmp_path, [use("write_file", path="out", content="x"), say("done")]) as world:
        job = world.job()
        world.due()
        request = until(lambda: _waiting(world))
        world.service.approving.approve(request.request_id, by=PERSON)
        assert world.ended(job).state is JobRunState.COMPLETED
        assert (world.workspace / "out").read_text() == "x"


def test_times_that_nobody_was_there_for_are_not_made_up(tmp_path: Path) -> None:
    with Clocked(tmp_path, lambda _: say("done")) as world:
        job = world.job(cron="*/5 * * * *")
        start = world.clock()
        world.clock.on(hours=3, minutes=4 - start.minute % 5)
        assert world.service.scheduler.run_due() == [], "four minutes late is missed"
        world.clock.on(minutes=1, seconds=30)
        assert len(world.service.scheduler.run_due()) == 1
        run = world.ended(job)
        assert run.due_at == world.clock() - timedelta(seconds=30)
        assert len(world.runs(job)) == 1


def test_a_time_is_skipped_while_the_run_before_it_goes_on(tmp_path: Path) -> None:
    with Clocked(tmp_path, [use("write_file", path="out", content="x"), say("one"), say("two")]) as world:
        job = world.job()
        world.due()
        request = until(lambda: _waiting(world))
        assert world.due() == []
        assert [run.state for run in world.runs(job)] == [JobRunState.STARTED, JobRunState.FAILED]
        assert world.runs(job)[1].outcome == SKIPPED
        world.service.approving.reject(request.request_id, by=PERSON)
        until(lambda: world.runs(job)[0].state is JobRunState.COMPLETED or None)
        assert len(world.due()) == 1
        assert world.ended(job).state is JobRunState.COMPLETED


def test_a_job_whose_agent_has_no_model_says_so(tmp_path: Path) -> None:
    with Clocked(tmp_path, []) as world:
        _fails(world, world.job(agent_id="idle"), "has no model")


def test_a_job_whose_context_is_of_no_use_by_now_says_so(tmp_path: Path) -> None:
    with Clocked(tmp_path, []) as world:
        # As a row that another version of Stanch has written.
        context = RunContext(working_directory="gone\0")
        fields: dict[str, Any] = {"name": "j", "cron": "* * * * *", "prompt": "go", "agent_id": "bob"}
        job = world.service.jobs._store.create_job(**fields, run_context=context, by=PERSON)
        _fails(world, job, "a NUL byte")


def _fails(world: Clocked, job: JobRecord, words: str) -> None:
    assert world.due() == []
    (run,) = world.runs(job)
    assert run.state is JobRunState.FAILED
    assert words in (run.outcome or "")
    assert run.ended_at is not None
    if run.session_id is not None:
        assert world.service.sessions.get(run.session_id).ended_at is not None
    world.service.jobs.delete(job.id, by=PERSON)


def test_a_model_that_fails_is_a_run_that_failed(tmp_path: Path) -> None:
    with Clocked(tmp_path, [fail(400, "marker")]) as world:
        job = world.job()
        world.due()
        run = world.ended(job)
        assert run.state is JobRunState.FAILED
        assert "400" in (run.outcome or "")
        assert "marker" not in (run.outcome or "")


def test_a_job_that_is_disabled_or_removed_is_not_run(tmp_path: Path) -> None:
    with Clocked(tmp_path, []) as world:
        world.job(enabled=False)
        gone = world.job()
        world.service.jobs.delete(gone.id, by=PERSON)
        assert world.due() == []


def test_a_job_that_is_removed_just_then_is_no_harm_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Clocked(tmp_path, [say("done")]) as world:
        gone, job = world.job(), world.job()
        claim = world.service.job_runs.claim

        def late(job_id: str, *given: object, **more: object) -> bool:
            if job_id == gone.id:
                world.service.jobs.delete(gone.id, by=PERSON)
            return claim(job_id, *given, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(world.service.job_runs, "claim", late)
        assert len(world.due()) == 1
        assert world.ended(job).state is JobRunState.COMPLETED


def test_a_process_that_ends_in_the_middle_leaves_the_run_to_the_next(tmp_path: Path) -> None:
    with Clocked(tmp_path, [use("write_file", path="out", content="x"), say("done")]) as world:
        job = world.job()
        (session,) = world.due()
        request = until(lambda: _waiting(world))
        world.service.close()
        world.open()
        world.service.agents.start()
        assert world.due() == [], "it goes on"
        world.service.approving.approve(request.request_id, by=PERSON)
        until(lambda: world.runs(job)[0].state is JobRunState.COMPLETED or None)
        assert (world.workspace / "out").read_text() == "x"
        assert world.service.sessions.get(session).ended_at is not None


@pytest.mark.parametrize("how", ["stop the turn", "end the session", "without the runtime"])
def test_a_run_that_a_person_ends_has_ended(tmp_path: Path, how: str) -> None:
    with Clocked(tmp_path, [use("write_file", path="out", content="x"), say("never"), say("next")]) as world:
        job = world.job()
        (session,) = world.due()
        until(lambda: _waiting(world))
        match how:
            case "stop the turn":
                world.service.agents.stop(world.turn(session).id, by=PERSON)
            case "end the session":
                world.service.sessions.end(session, by=PERSON)
            case _:
                world.open().agents.stop(world.turn(session).id, by=PERSON)
        assert len(world.due()) == 1, "it does not keep the next one from running"
        first = world.runs(job)[0]
        assert first.state is JobRunState.FAILED
        assert world.service.sessions.get(session).ended_at is not None
        assert _waiting(world) is None


@pytest.mark.parametrize("when", ["before its turn", "after its turn", "before its session"])
def test_a_run_that_was_left_by_its_process_does_not_stop_its_job(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Died

    with Clocked(tmp_path, [say("one"), say("two")]) as world:
        job = world.job()
        if when == "after its turn":
            world.service.agents.on_end = lambda _: None
            (session,) = world.due()
            until(lambda: world.turn(session).state is TurnState.COMPLETED or None)
        else:
            part, name = (
                (world.service.agents, "begin")
                if when == "before its turn"
                else (world.service.sessions, "open_for_job")
            )
            with monkeypatch.context() as patched:
                patched.setattr(part, name, die)
                with pytest.raises(Died):
                    world.due()
        assert world.runs(job)[0].ended_at is None
        world.open()
        world.clock.on(minutes=2)
        assert len(world.due()) == 1
        first = world.runs(job)[0]
        assert first.state is (JobRunState.COMPLETED if when == "after its turn" else JobRunState.INTERRUPTED)
        assert first.outcome == (None if when == "after its turn" else GONE)
        if first.session_id is not None:
            assert world.service.sessions.get(first.session_id).ended_at is not None
        assert world.ended(job).state is JobRunState.COMPLETED


def test_a_person_runs_a_job_at_once_and_not_twice(tmp_path: Path) -> None:
    with Clocked(tmp_path, [use("write_file", path="out", content="x"), say("one"), say("two")]) as world:
        job = world.job(cron="0 0 1 1 *")
        run = world.service.scheduler.run_now(job.id, by=PERSON)
        assert run.state is JobRunState.STARTED
        assert run.session_id is not None
        assert world.turn(run.session_id).asked_by == "ada"
        request = until(lambda: _waiting(world))
        with pytest.raises(Conflict, match="goes on"):
            world.service.scheduler.run_now(job.id, by=PERSON)
        world.service.approving.approve(request.request_id, by=PERSON)
        until(lambda: world.runs(job)[0].state is JobRunState.COMPLETED or None)
        world.clock.on(seconds=1)
        world.service.scheduler.run_now(job.id, by=PERSON)
        assert world.ended(job).state is JobRunState.COMPLETED
        assert len(world.runs(job)) == 2
        with pytest.raises(NotFound):
            world.service.scheduler.run_now("none", by=PERSON)
        with pytest.raises(Conflict, match="disabled"):
            world.service.scheduler.run_now(world.job(enabled=False).id, by=PERSON)


def test_of_persons_who_run_a_job_at_the_same_time_one_does(tmp_path: Path) -> None:
    with Clocked(tmp_path, lambda _: use("ask_user", question="Well?")) as world:
        world.open()
        job = world.job(cron="0 0 1 1 *")
        moments = iter(world.clock() + timedelta(microseconds=n) for n in range(100))
        for one in world.services:
            one.scheduler._now = lambda: next(moments)
        ended = together(*(lambda one=one: one.scheduler.run_now(job.id, by=PERSON) for one in world.services * 3))
        assert sorted(type(one).__name__ for one in ended) == ["Conflict"] * 5 + ["JobRunRecord"]
        assert sum(run.state is JobRunState.STARTED for run in world.runs(job)) == 1
        world.service.sessions.end(next(run.session_id for run in world.runs(job) if run.session_id), by=PERSON)


def test_the_clock_goes_on_whatever_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Clocked(tmp_path, [say("done")]) as world:
        monkeypatch.setattr(scheduling, "_TICK_SECONDS", 0.01)
        broken = iter([RuntimeError("a bug")])
        enabled = world.service.scheduler._enabled

        def once() -> object:
            for error in broken:
                raise error
            return enabled()

        monkeypatch.setattr(world.service.scheduler, "_enabled", once)
        job = world.job()
        world.clock.on(minutes=1)
        world.service.scheduler.start()
        until(lambda: world.runs(job) or None)
        assert world.ended(job).state is JobRunState.COMPLETED


def test_a_context_that_is_of_no_use_is_refused_when_the_job_is_made(tmp_path: Path) -> None:
    with Clocked(tmp_path, []) as world, pytest.raises(BadFields):
        world.job(context=RunContext("nobody"))


def _waiting(world: Clocked) -> ApprovalRecord | None:
    items = world.service.inbox.list().approvals.items
    return items[0] if items and isinstance(items[0], ApprovalRecord) else None
