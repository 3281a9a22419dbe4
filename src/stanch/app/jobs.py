"""Scheduled jobs: what is run, when, and with which context.

Settles that a cron expression can be read and will come round. Does not settle who runs a job that is due.
"""

from __future__ import annotations

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

from stanch.app.contexts import Contexts
from stanch.storage.store import Store
from stanch.values.context import RunContext
from stanch.values.fault import BadFields
from stanch.values.records import Actor, Broken, JobRecord, Page

LONGEST_CRON = 256
_FIELDS = 5
_EXPECTED = "write five fields: minute, hour, day of the month, month, day of the week, such as '0 9 * * MON-FRI'"


def next_time(cron: str, after: datetime) -> datetime | None:
    """When the expression next comes round after a moment, in UTC; None for one that never does, or is none."""
    try:
        return next(CronSim(cron, after.astimezone(UTC)))
    except (CronSimError, StopIteration):
        return None


def cron_problem(cron: str) -> str | None:
    """What is wrong with a cron expression, and what to write instead; None where nothing is."""
    if len(cron) > LONGEST_CRON or len(cron.split()) != _FIELDS:
        return f"'cron' is no cron expression: {_EXPECTED}"
    try:
        next(CronSim(cron, datetime.now(UTC)))
    except CronSimError as why:
        return f"'cron' is no cron expression ({str(why).lower()}): {_EXPECTED}"
    except StopIteration:
        return "'cron' never comes round; name a day that its month has"
    return None


class Jobs:
    """What is done with scheduled jobs."""

    def __init__(self, store: Store, contexts: Contexts) -> None:
        self._store, self._contexts = store, contexts

    def list(
        self, *, enabled: bool | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[JobRecord | Broken]:
        """A page of jobs, oldest first."""
        return self._store.list_jobs(enabled=enabled, limit=limit, cursor=cursor)

    def get(self, job_id: str) -> JobRecord:
        """The job. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_job(job_id)

    def create(
        self,
        *,
        name: str,
        cron: str,
        prompt: str,
        agent_id: str,
        enabled: bool,
        context: RunContext | None,
        by: Actor,
    ) -> JobRecord:
        """The new job. Raises `BadFields` for an expression or a context that cannot be used."""
        return self._store.create_job(
            name=name,
            cron=_usable(cron),
            prompt=prompt,
            agent_id=agent_id,
            enabled=enabled,
            run_context=self._contexts.usable(context, "run_context"),
            by=by,
        )

    def update(
        self, job_id: str, *, name: str, cron: str, prompt: str, agent_id: str, enabled: bool, by: Actor
    ) -> JobRecord:
        """The job as it now is, its context untouched. Raises `NotFound`, and `BadFields`."""
        return self._store.update_job(
            job_id, name=name, cron=_usable(cron), prompt=prompt, agent_id=agent_id, enabled=enabled, by=by
        )

    def set_context(self, job_id: str, context: RunContext | None, *, by: Actor) -> JobRecord:
        """The job with this context, or with none, for the sessions that it opens from now on."""
        return self._store.set_job_context(job_id, self._contexts.usable(context), by=by)

    def delete(self, job_id: str, *, by: Actor) -> None:
        """Removes the job. Raises `NotFound`, and `Conflict` while a session of it goes on."""
        self._store.delete_job(job_id, by=by)


def _usable(cron: str) -> str:
    problem = cron_problem(cron)
    if problem is not None:
        raise BadFields(("cron", problem))
    return cron
