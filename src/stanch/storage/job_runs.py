"""Runs of scheduled jobs in the store.

Settles that a job is run once for each of its times, on whichever node. Does not settle when a job is due, nor what a
run does (`runtime`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update

from stanch.storage.calls import CLOCK
from stanch.storage.conversation_nouns import JOB_RUN
from stanch.storage.conversation_schema import JOB_RUNS
from stanch.storage.nouns import JOB, SESSION
from stanch.storage.pages import page_of
from stanch.storage.rows import written_moment
from stanch.storage.transactions import Change, Transactions, find
from stanch.storage.turns import serving
from stanch.values.fault import BadInput, Conflict, quoted
from stanch.values.records import Actor, Broken, Page
from stanch.values.turn import JobRunRecord, JobRunState

FINAL = (JobRunState.COMPLETED, JobRunState.FAILED, JobRunState.INTERRUPTED)
GONE = "its process ended before it opened a session"


class _TooLate(Exception):
    """Somebody has claimed the run, or nobody is to. Undoes the change."""


class JobRuns(Transactions):
    """The part of a store that keeps runs of jobs."""

    def claim_job_run(self, job_id: str, due_at: datetime, node: str, *, by: Actor = CLOCK) -> bool:
        """True where this process is to run the job for this time: for one process, once, however often it is asked.

        False for a job that is disabled, too. Raises `NotFound`, and `Conflict` where the process was taken for gone.
        """
        due = written_moment(due_at)
        if self._find(job_id, due) is not None:
            return False  # WHY first: asking again is no change
        row: dict[str, Any] = {
            "id": f"{job_id}@{due}",
            "job_id": job_id,
            "due_at": due,
            "node": node,
            "state": JobRunState.CLAIMED.value,
            "session_id": None,
            "outcome": None,
            "ended_at": None,
        }
        try:
            with self._changing(by, "job.claim", job_id) as change:
                _vacant(change, job_id, due)
                serving(change, node)
                row["claimed_at"] = written_moment(change.at)
                JOB_RUN.written(row)
                change.add(JOB_RUN, row)
                change.detail.update(due_at=due, node=node)
        except _TooLate:
            return False
        return True

    def start_job_run(self, job_id: str, due_at: datetime, session_id: str, *, by: Actor = CLOCK) -> JobRunRecord:
        """The run, with the session that was opened for it. Raises `NotFound`, and `Conflict` where it has one."""
        with self._changing(by, "job.start", job_id) as change:
            run = _run(change, job_id, due_at)
            if run.state is not JobRunState.CLAIMED:
                raise Conflict(f"the run {quoted(run.id)} is {run.state.value}")
            change.find(SESSION, session_id)
            change.detail.update(due_at=written_moment(due_at), session=session_id)
            return change.replace(JOB_RUN, run.id, {"state": JobRunState.STARTED.value, "session_id": session_id})

    def end_job_run(
        self, job_id: str, due_at: datetime, state: JobRunState, outcome: str | None = None, *, by: Actor = CLOCK
    ) -> JobRunRecord:
        """The run, ended; `outcome` says how in a few words, without content.

        Raises `NotFound`, and `Conflict` where it has ended before.
        """
        if state not in FINAL:
            raise BadInput(f"a run cannot end as '{state.value}'")
        with self._changing(by, f"job.{state.value}", job_id) as change:
            run = _run(change, job_id, due_at)
            if run.state in FINAL:
                raise Conflict(f"the run {quoted(run.id)} is {run.state.value}")
            change.detail.update(due_at=written_moment(due_at), session=run.session_id)
            columns = {"state": state.value, "outcome": outcome, "ended_at": written_moment(change.at)}
            return change.replace(JOB_RUN, run.id, columns)

    def job_run_of(self, session_id: str) -> JobRunRecord | None:
        """The run that a session was opened for; None for a session of none. Raises `NotFound`, `BrokenRow`."""
        wanted = select(JOB_RUNS).where(JOB_RUNS.c.session_id == session_id).limit(1)
        with self._reading() as connection:
            find(connection, SESSION, session_id)
            row = connection.execute(wanted).mappings().first()
        return None if row is None else JOB_RUN.readable(row)

    def list_job_runs(
        self,
        job_id: str | None = None,
        *,
        state: JobRunState | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[JobRunRecord | Broken]:
        """A page of runs, the ones due last first; those of a job that is gone, too."""
        filters = {JOB_RUNS.c.job_id: job_id, JOB_RUNS.c.state: None if state is None else state.value}
        order = (JOB_RUNS.c.due_at, JOB_RUNS.c.id)
        with self._reading() as connection:
            return page_of(connection, JOB_RUN, order, limit=limit, cursor=cursor, filters=filters, descending=True)

    def last_fired(self) -> dict[str, datetime]:
        """For each job that was ever claimed, the last of its times that was. Raises `BrokenRow`."""
        newest = select(func.max(JOB_RUNS.c.due_at)).group_by(JOB_RUNS.c.job_id)
        wanted = select(JOB_RUNS).where(JOB_RUNS.c.due_at.in_(newest))
        found: dict[str, datetime] = {}
        with self._reading() as connection:
            for row in connection.execute(wanted).mappings():
                run = JOB_RUN.readable(row)
                found[run.job_id] = max(run.due_at, found.get(run.job_id, run.due_at))
        return found

    def _find(self, job_id: str, due: str) -> Any:
        with self._reading() as connection:
            find(connection, JOB, job_id)
            return _row(connection, job_id, due)


def _row(connection: Any, job_id: str, due: str) -> Any:
    wanted = select(JOB_RUNS).where(JOB_RUNS.c.job_id == job_id, JOB_RUNS.c.due_at == due)
    return connection.execute(wanted).mappings().first()


def _vacant(change: Change, job_id: str, due: str) -> None:
    if not change.find(JOB, job_id)["enabled"] or _row(change.connection, job_id, due) is not None:
        raise _TooLate


def _run(change: Change, job_id: str, due_at: datetime) -> JobRunRecord:
    return JOB_RUN.readable(change.find(JOB_RUN, f"{job_id}@{written_moment(due_at)}"))


def interrupt_runs(change: Change, node: str) -> int:
    """Ends the runs that a process which is gone had claimed and opened no session for; returns how many."""
    done = change.connection.execute(
        update(JOB_RUNS)
        .where(JOB_RUNS.c.node == node, JOB_RUNS.c.state == JobRunState.CLAIMED.value)
        .values(state=JobRunState.INTERRUPTED.value, outcome=GONE, ended_at=written_moment(change.at))
    )
    return int(done.rowcount)
