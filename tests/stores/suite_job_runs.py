"""Runs of scheduled jobs: once for each time, on one node."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from stanch.storage.store import Store
from stanch.values.fault import BadInput, BrokenRow, Conflict, NotFound
from stanch.values.records import AuditRecord, Broken
from stanch.values.turn import JobRunRecord, JobRunState
from tests.stores.opened import OnAStore
from tests.stores.places import BY, Place, all_of, new_session, together

DUE = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def new_job(store: Store, *, enabled: bool = True) -> str:
    return store.create_job(name="j", cron="0 * * * *", prompt="p", agent_id="a", enabled=enabled, by=BY).id


class JobRuns(OnAStore):
    def test_a_run_is_kept_from_its_claim_to_its_end(self, store: Store, other: Store) -> None:
        job = new_job(store)
        assert store.claim_job_run(job, DUE, "n1")
        (run,) = other.list_job_runs(job).items
        assert isinstance(run, JobRunRecord)
        assert (run.job_id, run.due_at, run.node, run.state) == (job, DUE, "n1", JobRunState.CLAIMED)
        session = new_session(store, job_id=job).id
        assert store.job_run_of(session) is None
        started = store.start_job_run(job, DUE, session)
        assert other.job_run_of(session) == started
        ended = other.end_job_run(job, DUE, JobRunState.COMPLETED, "2 calls were refused")
        assert store.list_job_runs(job, state=JobRunState.COMPLETED).items == (ended,)
        assert (ended.session_id, ended.outcome) == (session, "2 calls were refused")
        rows = [row for row in store.list_audit(subject=job).items if isinstance(row, AuditRecord)]
        assert [row.action for row in rows] == ["job.create", "job.claim", "job.start", "job.completed"]
        assert "refused" not in repr(rows)
        assert {row.actor for row in rows[1:]} == {"stanch"}

    def test_each_time_is_claimed_once(self, store: Store, other: Store) -> None:
        job, another = new_job(store), new_job(store)
        for number in range(10):
            due = DUE + number * HOUR
            ends = together(
                *(
                    lambda s=s, n=n, due=due: s.claim_job_run(job, due, n)
                    for s, n in zip((store, other) * 2, "abcd", strict=True)
                )
            )
            assert sorted(ends) == [False, False, False, True]
            run = store.list_job_runs(job, limit=1).items[0]
            assert isinstance(run, JobRunRecord)
            assert run.node == "abcd"[ends.index(True)]
        revision = store.revision()
        for node in "abcd":
            assert not other.claim_job_run(job, DUE, node)
        assert store.revision() == revision, "to be late changes nothing"
        assert other.claim_job_run(another, DUE, "a"), "another job has times of its own"
        assert store.list_audit(action="job.claim").total == 11
        assert [run.due_at for run in all_of(store.list_job_runs, job_id=job)] == [
            DUE + n * HOUR for n in range(9, -1, -1)
        ]

    def test_one_moment_is_one_time_in_whatever_zone(self, store: Store) -> None:
        job = new_job(store)
        assert store.claim_job_run(job, DUE, "n1")
        zone = DUE.astimezone(datetime(2026, 1, 1, tzinfo=UTC).astimezone().tzinfo)
        assert not store.claim_job_run(job, zone, "n1")

    def test_a_job_that_is_disabled_or_gone_is_not_run(self, store: Store, place: Place) -> None:
        job = new_job(store, enabled=False)
        before = place.dump()
        assert not store.claim_job_run(job, DUE, "n1")
        assert place.dump() == before
        with pytest.raises(NotFound, match="job"):
            store.claim_job_run("none", DUE, "n1")

    def test_when_each_job_was_fired_last(self, store: Store) -> None:
        job, another, never = (new_job(store) for _ in range(3))
        assert store.last_fired() == {}
        for due in (DUE, DUE + 2 * HOUR, DUE + HOUR):
            store.claim_job_run(job, due, "n1")
        store.claim_job_run(another, DUE + HOUR, "n1")
        assert store.last_fired() == {job: DUE + 2 * HOUR, another: DUE + HOUR}
        assert never not in store.last_fired()

    def test_a_run_moves_on_once(self, store: Store) -> None:
        job = new_job(store)
        session = new_session(store, job_id=job).id
        with pytest.raises(NotFound):
            store.start_job_run(job, DUE, session)
        store.claim_job_run(job, DUE, "n1")
        with pytest.raises(NotFound, match="session"):
            store.start_job_run(job, DUE, "none")
        store.start_job_run(job, DUE, session)
        with pytest.raises(Conflict, match="is started"):
            store.start_job_run(job, DUE, session)
        for state in (JobRunState.CLAIMED, JobRunState.STARTED):
            with pytest.raises(BadInput, match="cannot end as"):
                store.end_job_run(job, DUE, state)
        store.end_job_run(job, DUE, JobRunState.FAILED)
        with pytest.raises(Conflict, match="is failed"):
            store.end_job_run(job, DUE, JobRunState.COMPLETED)

    def test_a_process_that_is_gone_leaves_no_claim(self, store: Store) -> None:
        job = new_job(store)
        store.claim_job_run(job, DUE, "n1")
        store.claim_job_run(job, DUE + HOUR, "n1")
        store.claim_job_run(job, DUE + 2 * HOUR, "n2")
        started = store.start_job_run(job, DUE + HOUR, new_session(store, job_id=job).id)
        store.end_node("n1")
        later, kept, gone = store.list_job_runs(job).items
        assert isinstance(gone, JobRunRecord)
        assert isinstance(later, JobRunRecord)
        assert (gone.state, gone.outcome) == (
            JobRunState.INTERRUPTED, "its process ended before it opened a session",
        )  # fmt: skip
        assert kept == started, "its session has a turn, which another process goes on with"
        assert later.state is JobRunState.CLAIMED
        with pytest.raises(Conflict, match="has ended"):
            store.claim_job_run(job, DUE + 3 * HOUR, "n1")
        assert not store.claim_job_run(job, DUE, "n2"), "nothing is run again by itself"

    def test_runs_outlive_their_job(self, store: Store) -> None:
        job = new_job(store)
        store.claim_job_run(job, DUE, "n1")
        store.delete_job(job, by=BY)
        assert store.list_job_runs(job).total == 1

    def test_a_run_that_cannot_be_read_is_named(self, store: Store, place: Place) -> None:
        job = new_job(store)
        store.claim_job_run(job, DUE, "n1")
        place.rows("UPDATE job_runs SET state = 'done'")
        assert [type(one) for one in store.list_job_runs().items] == [Broken]
        for ask in (store.last_fired, lambda: store.end_job_run(job, DUE, JobRunState.FAILED)):
            with pytest.raises(BrokenRow, match="'state' is none of"):
                ask()
        assert not store.claim_job_run(job, DUE, "n2")
