"""`/api/jobs`: scheduled jobs, their context, their sessions, their runs.

Settles the routes. Does not settle what any of them does (`app.jobs`, `app.sessions`, `app.scheduling`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from fastapi import Depends

from stanch.app.jobs import next_time
from stanch.app.sessions import hands_of
from stanch.surfaces.http.access import Asked, By, Served
from stanch.surfaces.http.bodies import JobBody, JobChangeBody, JobSessionBody, context_in
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import BODY, TAKES_CONTEXT, given_context, guarded
from stanch.surfaces.http.shown import BrokenShown, JobShown, PageShown, SessionShown, job_shown, session_shown
from stanch.surfaces.http.shown_jobs import JobRunShown, job_run_shown
from stanch.values.context import RunContext
from stanch.values.records import JobRecord
from stanch.values.turn import JobRunState

ROUTER = guarded("/api/jobs", "jobs")


@ROUTER.post("", status_code=201, responses=problems(*BODY))
def create_job(body: JobBody, service: Served, by: By) -> JobShown:
    """Make a scheduled job."""
    made = service.jobs.create(
        name=body.name,
        cron=body.cron,
        prompt=body.prompt,
        agent_id=body.agent_id,
        enabled=body.enabled,
        context=context_in(body.run_context),
        by=by,
    )
    return _shown(made)


@ROUTER.get("")
def list_jobs(
    service: Served, limit: Limit = 50, cursor: Cursor = None, enabled: bool | None = None
) -> PageShown[JobShown | BrokenShown]:
    """List the jobs, oldest first."""
    return page_shown(service.jobs.list(enabled=enabled, limit=limit, cursor=cursor), _shown)


@ROUTER.get("/{job_id}", responses=problems(404))
def read_job(job_id: str, service: Served) -> JobShown:
    """Read a job."""
    return _shown(service.jobs.get(job_id))


@ROUTER.put("/{job_id}", responses=problems(404, 409, *BODY))
def change_job(job_id: str, body: JobChangeBody, service: Served, by: By) -> JobShown:
    """Change a job. Its context stays as it is."""
    made = service.jobs.update(
        job_id,
        name=body.name,
        cron=body.cron,
        prompt=body.prompt,
        agent_id=body.agent_id,
        enabled=body.enabled,
        by=by,
    )
    return _shown(made)


@ROUTER.delete("/{job_id}", status_code=204, responses=problems(404, 409))
def delete_job(job_id: str, service: Served, by: By) -> None:
    """Remove a job. One with a session that goes on stays."""
    service.jobs.delete(job_id, by=by)


@ROUTER.post("/{job_id}/run_context", responses=problems(404, *BODY), openapi_extra=TAKES_CONTEXT)
def set_job_context(
    job_id: str, context: Annotated[RunContext | None, Depends(given_context)], service: Served, by: By
) -> JobShown:
    """Give a job another context, or none with null, for the sessions that it opens from now on."""
    return _shown(service.jobs.set_context(job_id, context, by=by))


@ROUTER.post("/{job_id}/session", status_code=201, responses=problems(404, 409, *BODY))
def open_job_session(job_id: str, body: JobSessionBody, service: Served, caller: Asked, by: By) -> SessionShown:
    """Open a session of a job: its agent, its context, and the source `cron`."""
    made = service.sessions.open_for_job(
        job_id,
        principal=hands_of(caller.principal),
        session_id=body.session_id,
        model=body.model,
        approver=body.approver,
        by=by,
    )
    return session_shown(made)


@ROUTER.get("/{job_id}/runs", responses=problems(404))
def list_job_runs(
    job_id: str, service: Served, limit: Limit = 50, cursor: Cursor = None, state: JobRunState | None = None
) -> PageShown[JobRunShown | BrokenShown]:
    """List the runs of a job, the one due last first; those of a job that was removed, too."""
    page = service.job_runs.list(job_id, state=state, limit=limit, cursor=cursor)
    if not page.total:
        service.jobs.get(job_id)
    return page_shown(page, partial(job_run_shown, told=service.projecting.records()))


@ROUTER.post("/{job_id}/run", status_code=201, responses=problems(404, 409))
def run_job(job_id: str, service: Served, by: By) -> JobRunShown:
    """Run a job now, as if its time had come. A job that is off, or of which a run goes on, is not run."""
    return job_run_shown(service.scheduler.run_now(job_id, by=by), service.projecting.records())


def _shown(job: JobRecord) -> JobShown:
    return job_shown(job, next_time(job.cron, datetime.now(UTC)) if job.enabled else None)
