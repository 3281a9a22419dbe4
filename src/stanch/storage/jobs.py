"""Scheduled jobs in the store.

Settles how jobs are kept. Does not settle when one is due (`runtime.jobs`).
"""

from __future__ import annotations

import secrets
from typing import Any

from stanch.storage.nouns import JOB
from stanch.storage.pages import page_of
from stanch.storage.rows import context_places, written_context, written_moment
from stanch.storage.schema import JOBS, SESSIONS
from stanch.storage.transactions import Transactions, find
from stanch.values.context import RunContext
from stanch.values.records import Actor, Broken, JobRecord, Page


class Jobs(Transactions):
    """The part of a store that keeps scheduled jobs."""

    def create_job(
        self,
        *,
        name: str,
        cron: str,
        prompt: str,
        agent_id: str,
        enabled: bool = True,
        run_context: RunContext | None = None,
        job_id: str | None = None,
        by: Actor,
    ) -> JobRecord:
        """The new job, under an id of the store's own. That `cron` can be read is the caller's to check.

        `job_id` is another id for it. Raises `Conflict` where that is taken.
        """
        row: dict[str, Any] = {
            "id": job_id or secrets.token_hex(12),
            "name": name,
            "cron": cron,
            "prompt": prompt,
            "agent_id": agent_id,
            "enabled": int(enabled),
            "run_context": written_context(run_context),
            "created_at": written_moment(self._clock()),
        }
        record = JOB.written(row)
        with self._changing(by, "job.create", record.id) as change:
            change.vacant(JOB, record.id)
            change.add(JOB, row)
            change.detail.update(agent=agent_id, cron=cron, enabled=enabled, **context_places(run_context))
        return record

    def get_job(self, job_id: str) -> JobRecord:
        """The job. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            return JOB.readable(find(connection, JOB, job_id))

    def list_jobs(
        self, *, enabled: bool | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[JobRecord | Broken]:
        """A page of jobs, oldest first. Raises `BadInput` as `list_groups` does."""
        order, filters = (JOBS.c.created_at, JOBS.c.id), {JOBS.c.enabled: None if enabled is None else int(enabled)}
        with self._reading() as connection:
            return page_of(connection, JOB, order, limit=limit, cursor=cursor, filters=filters)

    def update_job(
        self,
        job_id: str,
        *,
        name: str,
        cron: str,
        prompt: str,
        agent_id: str,
        enabled: bool,
        by: Actor,
        expected: JobRecord | None = None,
    ) -> JobRecord:
        """The job as it now is, its context untouched. Raises `NotFound`, and `Conflict` if not as `expected`."""
        columns = {"name": name, "cron": cron, "prompt": prompt, "agent_id": agent_id, "enabled": int(enabled)}
        with self._changing(by, "job.update", job_id) as change:
            change.expect(JOB, job_id, expected)
            change.detail.update(agent=agent_id, cron=cron, enabled=enabled)
            return change.replace(JOB, job_id, columns)

    def set_job_context(self, job_id: str, run_context: RunContext | None, *, by: Actor) -> JobRecord:
        """The job with this context, or with none. Raises `NotFound`."""
        with self._changing(by, "job.set_run_context", job_id) as change:
            change.detail.update(context_places(run_context))
            return change.replace(JOB, job_id, {"run_context": written_context(run_context)})

    def delete_job(self, job_id: str, *, by: Actor) -> None:
        """Removes the job. Raises `NotFound`, and `Conflict` while a session of it goes on."""
        with self._changing(by, "job.delete", job_id) as change:
            change.find(JOB, job_id)
            change.unused(JOB, job_id, SESSIONS.c.job_id)
            change.remove(JOB, JOBS.c.id == job_id)
