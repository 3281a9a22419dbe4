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
from stanch.app.consolidating import NOTHING, Consolidating
from stanch.app.job_runs import JobRuns
from stanch.app.jobs import Jobs, next_time
from stanch.app.sessions import Sessions
from stanch.app.turn_log import TurnLog
from stanch.policy.memory_table import MEMORY_AGENT
from stanch.values.fault import Conflict, Fault, NotFound, quoted
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind
from stanch.values.message import Text
from stanch.values.records import Actor, Broken, JobRecord
from stanch.values.turn import JobRunRecord, JobRunState, TurnRecord, TurnState

# How late a time may be run: a process that was busy, or slept, has not missed it yet.
LATE = timedelta(seconds=90)
_TICK_SECONDS = 1.0
_PAGE = 200
_CLOCK = Actor("stanch", "clock")
OWNER = Principal(PrincipalKind.DELEGATED, "scheduled-jobs", COPILOT_SERVICE)
_ENDS = {TurnState.COMPLETED: JobRunState.COMPLETED, TurnState.INTERRUPTED: JobRunState.INTERRUPTED}
_OPEN = (JobRunState.CLAIMED, JobRunState.STARTED)
_ENDED = (JobRunState.FAILED, JobRunState.INTERRUPTED, JobRunState.COMPLETED)
SKIPPED = "skipped: the run before it goes on"
GONE = "its process ended before its turn began"
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
        consolidating: Consolidating,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._jobs, self._runs, self._sessions, self._turns, self._agents = jobs, job_runs, sessions, turn_log, agents
        self._consolidating = consolidating
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
        self._settle(now)
        self._consolidating.settle(_CLOCK)
        last = self._runs.last_fired()
        opened = []
        for job in self._enabled():
            since = max(now - LATE, job.created_at, last.get(job.id, job.created_at))
            due = _newest(job.cron, since, now)
            try:
                if due is not None and self._runs.claim(job.id, due):
                    run = self._open(job, due, _CLOCK)
                    if run.state is JobRunState.STARTED and run.session_id is not None:
                        opened.append(run.session_id)
            except (NotFound, Conflict) as why:  # somebody has just removed the job, or ended the run
                _LOG.info("a job was not run: %s", why)
        return opened

    def run_now(self, job_id: str, *, by: Actor) -> JobRunRecord:
        """The run of a job that a person wants at once, whatever its times are. It goes on by itself.

        Raises `NotFound`, and `Conflict` where the job is disabled, or a run of it goes on.
        """
        job, now = self._jobs.get(job_id), self._now()
        if not job.enabled:
            raise Conflict(f"the job {quoted(job_id)} is disabled")
        self._settle(now)
        others = self._going_on(job_id)
        if not others and self._runs.claim(job_id, now, by=by):
            run = self._open(job, now, by)
            if run.outcome != SKIPPED:
                return run
            others = self._going_on(job_id)
        went_on = f", that of {others[0].due_at:%Y-%m-%d %H:%M} UTC" if others else ""
        raise Conflict(f"a run of the job {quoted(job_id)} goes on{went_on}")

    def ended(self, turn: TurnRecord) -> None:
        """Notes the end of a run whose turn has ended, on whichever process it began, and ends its session."""
        run = self._runs.of_session(turn.session_id)
        if run is None or run.state is not JobRunState.STARTED:
            return
        outcome = self._outcome(run, turn)
        # WHY first: should this process die in between, the run still says that there is something to be done.
        self._end_session(turn.session_id)
        self._end(run.job_id, run.due_at, _ENDS.get(turn.state, JobRunState.FAILED), outcome)

    def _run(self) -> None:
        while not self._stopped.wait(_TICK_SECONDS):
            try:
                self.run_due()
            except Exception as why:  # whatever it was, there are other jobs, and other times
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

    def _open(self, job: JobRecord, due: datetime, by: Actor) -> JobRunRecord:
        """The run that this process has claimed: started, or ended where it could not be."""
        others = self._going_on(job.id)
        mine = next((one for one in others if one.due_at == due), None)
        if mine is not None and others[0] != mine:
            return self._runs.end(job.id, due, JobRunState.FAILED, SKIPPED)
        try:
            # WHY: nobody is asked about what is written to the memory, so nothing of it waits in an inbox.
            approver = job.id != MEMORY_AGENT
            session = self._sessions.open_for_job(job.id, principal=OWNER, approver=approver, by=by)
        except Fault as why:
            return self._failed(job.id, due, str(why))
        try:
            started = self._runs.start(job.id, due, session.id)
            parts: tuple[Text, ...] = ()
            if job.id == MEMORY_AGENT:
                # WHY: what it may read depends on its model.
                self._agents.ready(session.id)
                parts = self._consolidating.shown(session.id).parts
                if not parts:
                    self._end_session(session.id)
                    return self._runs.end(job.id, due, JobRunState.COMPLETED, NOTHING)
            self._agents.begin(session.id, job.prompt, by=by, parts=parts)
        except Fault as why:
            self._end_session(session.id)
            return self._failed(job.id, due, str(why))
        return started

    def _failed(self, job_id: str, due: datetime, why: str) -> JobRunRecord:
        """The run, failed; as it is where its turn, or another process, has ended it already."""
        try:
            return self._runs.end(job_id, due, JobRunState.FAILED, why)
        except Conflict:
            ended = (one for state in _ENDED for one in self._runs.all(job_id, state=state))
            return next(one for one in ended if one.due_at == due)

    def _going_on(self, job_id: str) -> list[JobRunRecord]:
        """The runs of the job that have not ended, the one claimed first before the others."""
        found = [one for state in _OPEN for one in self._runs.all(job_id, state=state)]
        return sorted(found, key=lambda one: (one.claimed_at, one.id))

    def _settle(self, now: datetime) -> None:
        """Ends the runs that nobody is at work on any more and nobody has said so of.

        WHY: a process may die between the end of a turn and the note of it; a turn may be stopped where no agent runs.
        Such a run would keep its job from being run ever again.
        """
        for state in _OPEN:
            for run in self._runs.all(state=state):
                self._settle_one(run, late=now - run.claimed_at > LATE)

    def _settle_one(self, run: JobRunRecord, *, late: bool) -> None:
        turns = () if run.session_id is None else self._turns.list(run.session_id, limit=1).items
        if turns and not isinstance(turns[0], Broken):
            if turns[0].state is not TurnState.RUNNING:
                self.ended(turns[0])
        elif turns or late:
            why = f"its turn cannot be read: {turns[0].problem}" if turns else GONE
            if run.session_id is not None:
                self._end_session(run.session_id)
            self._end(run.job_id, run.due_at, JobRunState.INTERRUPTED, why)

    def _outcome(self, run: JobRunRecord, turn: TurnRecord) -> str | None:
        if turn.problem is not None:
            return turn.problem.sentence
        if run.job_id == MEMORY_AGENT:
            return self._consolidating.outcome(turn.session_id)
        return self._refused(turn)

    def _refused(self, turn: TurnRecord) -> str | None:
        count = len(self._agents.refused(turn.id))
        return None if not count else "1 call was refused" if count == 1 else f"{count} calls were refused"

    def _end(self, job_id: str, due: datetime, state: JobRunState, outcome: str | None) -> None:
        try:
            self._runs.end(job_id, due, state, outcome)
        except Conflict:
            return  # WHY: another process was faster

    def _end_session(self, session_id: str) -> None:
        try:
            self._sessions.end(session_id, by=_CLOCK)
        except Conflict:
            return  # WHY: a person has ended it


def _newest(cron: str, since: datetime, now: datetime) -> datetime | None:
    """The last time of the expression after `since` that is not after `now`; None where there is none."""
    found: datetime | None = None
    following = next_time(cron, since)
    while following is not None and following <= now:
        found = following
        following = next_time(cron, following)
    return found
