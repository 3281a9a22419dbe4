"""Runs of scheduled jobs: who has one, and what became of it.

Settles what this process says of the runs that it has taken on. Does not settle when a job is due (`app.jobs`).
"""

from __future__ import annotations

import builtins
from datetime import datetime

from stanch.storage.calls import CLOCK
from stanch.storage.store import Store
from stanch.values.records import Actor, Broken, Page
from stanch.values.turn import JobRunRecord, JobRunState

_PAGE = 200


class JobRuns:
    """What is done with runs of jobs. `node` is this process."""

    def __init__(self, store: Store, node: str) -> None:
        self._store, self._node = store, node

    def claim(self, job_id: str, due_at: datetime, *, by: Actor = CLOCK) -> bool:
        """True where this process is to run the job for this time: for one process of all, once.

        False where the job is disabled. `by` is who wants it run. Raises `NotFound`.
        """
        return self._store.claim_job_run(job_id, due_at, self._node, by=by)

    def start(self, job_id: str, due_at: datetime, session_id: str) -> JobRunRecord:
        """The run, with the session that was opened for it. Raises `NotFound`, and `Conflict` where it has one."""
        return self._store.start_job_run(job_id, due_at, session_id)

    def end(self, job_id: str, due_at: datetime, state: JobRunState, outcome: str | None = None) -> JobRunRecord:
        """The run, ended; `outcome` says how in a few words. Raises `NotFound`, and `Conflict` where it has ended."""
        return self._store.end_job_run(job_id, due_at, state, outcome)

    def of_session(self, session_id: str) -> JobRunRecord | None:
        """The run that a session was opened for; None for a session of none."""
        return self._store.job_run_of(session_id)

    def last_fired(self) -> dict[str, datetime]:
        """For each job that was ever claimed, the last of its times that was."""
        return self._store.last_fired()

    def all(self, job_id: str | None = None, *, state: JobRunState) -> builtins.list[JobRunRecord]:
        """Every run in this state that can be read, the ones due last first."""
        found: list[JobRunRecord] = []
        cursor: str | None = None
        while True:
            page = self.list(job_id, state=state, limit=_PAGE, cursor=cursor)
            found += [one for one in page.items if not isinstance(one, Broken)]
            cursor = page.next
            if cursor is None:
                return found

    def list(
        self, job_id: str | None = None, *, state: JobRunState | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[JobRunRecord | Broken]:
        """A page of runs, the ones due last first; those of a job that is gone, too."""
        return self._store.list_job_runs(job_id, state=state, limit=limit, cursor=cursor)
