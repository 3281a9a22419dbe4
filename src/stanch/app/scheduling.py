"""Scheduled jobs when their time comes: a session is opened for each, and its agent is given the job's prompt.

Settles which times are run: each once over all processes, those that passed while no process ran not at all, and none
while the job's run before goes on. Does not settle when a job's time comes (`app.jobs`), nor what its agent may do.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from stanch.app.agents import Agents
from stanch.app.job_runs import JobRuns
from stanch.app.jobs import Jobs, next_time
from stanch.app.sessions import Sessions
from stanch.app.turn_log import TurnLog
from stanch.values.fault import BadInput, Conflict, Fault
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind
from stanch.values.records import Actor, Broken, JobRecord
from stanch.values.turn import JobRunState, TurnRecord, TurnState

# How late a time may be run: a process that was busy, or slept, has not missed it yet.
LATE = timedelta(seconds=90)
_TICK_SECONDS = 1.0
_PAGE = 200
_CLOCK = Actor("stanch", "clock")
OWNER = Principal(PrincipalKind.DELEGATED, "scheduled-jobs", COPILOT_SERVICE)
_ENDS = {TurnState.COMPLETED: JobRunState.COMPLETED, TurnState.INTERRUPTED: JobRunState.INTERRUPTED}
_LOG = logging.getLogger(__name__)


class Scheduler:
    """Runs what is due. One of each process may be at work; together they run each time once."""

    def __init__(
        self,
        *,
        jobs: Jobs,
        job_runs: JobRuns,
        sessions: Sessions,
        turn_log: TurnLog,
        agents: Agents,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._jobs, self._runs, self._sessions, self._turns, self._agents = jobs, job_runs, sessions, turn_log, agents
        self._now = clock or (lambda: datetime.now(UTC))
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins to look for jobs that are due, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="stanch-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends that. What runs goes on. Safe to repeat."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def run_due(self) -> list[str]:
        """Runs the jobs whose time has come; gives the ids of the sessions that were opened for them."""
        now = self._now()
        last = self._runs.last_fired()
        opened = []
        for job in self._enabled():
            since = max(now - LATE, job.created_at, last.get(job.id, job.created_at))
            due = _newest(job.cron, since, now)
            if due is not None and self._runs.claim(job.id, due):
                session = self._open(job, due)
                if session is not None:
                    opened.append(session)
        return opened

    def ended(self, turn: TurnRecord) -> None:
        """Notes the end of a run whose turn has ended, on whichever process it began, and ends its session."""
        run = self._runs.of_session(turn.session_id)
        if run is None or run.state is not JobRunState.STARTED:
            return
        outcome = None if turn.problem is None else turn.problem.sentence
        try:
            self._runs.end(run.job_id, run.due_at, _ENDS.get(turn.state, JobRunState.FAILED), outcome)
            self._sessions.end(turn.session_id, by=_CLOCK)
        except Conflict:
            return  # WHY: a person ended the session, or removed the job

    def _run(self) -> None:
        while not self._stopped.wait(_TICK_SECONDS):
            try:
                self.run_due()
            except Fault as why:
                _LOG.warning("jobs that are due cannot be looked for: %s", type(why).__name__)

    def _enabled(self) -> list[JobRecord]:
        found: list[JobRecord] = []
        cursor: str | None = None
        while True:
            page = self._jobs.list(enabled=True, limit=_PAGE, cursor=cursor)
            found += [one for one in page.items if not isinstance(one, Broken)]
            cursor = page.next
            if cursor is None:
                return found

    def _open(self, job: JobRecord, due: datetime) -> str | None:
        if self._runs.list(job.id, state=JobRunState.STARTED, limit=1).items:
            self._runs.end(job.id, due, JobRunState.FAILED, "skipped: the run before it goes on")
            return None
        try:
            session = self._sessions.open_for_job(job.id, principal=OWNER, by=_CLOCK)
            self._runs.start(job.id, due, session.id)
        except Fault as why:
            self._runs.end(job.id, due, JobRunState.FAILED, str(why))
            return None
        try:
            self._agents.begin(session.id, job.prompt, by=_CLOCK)
        except (Fault, BadInput) as why:
            self._runs.end(job.id, due, JobRunState.FAILED, str(why))
            self._sessions.end(session.id, by=_CLOCK)
            return None
        return session.id


def _newest(cron: str, since: datetime, now: datetime) -> datetime | None:
    """The last time of the expression after `since` that is not after `now`; None where there is none."""
    found: datetime | None = None
    following = next_time(cron, since)
    while following is not None and following <= now:
        found = following
        following = next_time(cron, following)
    return found
