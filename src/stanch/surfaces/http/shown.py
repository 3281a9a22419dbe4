"""What answers hold: the fields of each record as JSON.

Settles shapes only. Does not settle what a record means (`values.records`) nor how the gate's answers read
(`surfaces.wire`, `answers`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from stanch.values.context import RunContext
from stanch.values.identity import Principal
from stanch.values.narrowing import Row
from stanch.values.records import (
    JobRecord,
    ProjectRecord,
    SessionRecord,
    TicketRecord,
)

Item = TypeVar("Item")
Word = Annotated[str, Field(description="A word of a closed list.")]


class Shown(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="forbid")


class PageShown(Shown, Generic[Item]):
    """One page of a list. `next` is the `cursor` of the following page, null on the last."""

    items: list[Item]
    total: int
    next: str | None


class BrokenShown(Shown):
    """A row that is there and cannot be read."""

    id: str
    table: str
    problem: str


class ProblemField(Shown):
    """One field that cannot be used."""

    field: str
    message: str


class ResolutionShown(Shown):
    """How a request or a question stands that somebody else answered first."""

    request_id: str
    state: Word
    resolved_by: str | None
    surface: str | None
    note: str | None
    resolved_at: datetime | None


class ProblemShown(Shown):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str | None = None
    errors: list[ProblemField] | None = None
    resolution: ResolutionShown | None = None
    reason: dict[str, Any] | None = None
    saved: bool | None = None


class PrincipalShown(Shown):
    """A principal."""

    kind: Word
    id: str
    service_id: str | None


class RunContextShown(Shown):
    """A run context, every field written out."""

    security_group: str | None
    system_prompt: list[str]
    allow_fs_writes: list[str]
    allow_fs_reads: list[str]
    working_directory: str | None


class RowShown(Shown):
    """A row that narrows a session."""

    id: int
    tool: str
    action: Word
    path: str | None
    command: str | None
    note: str | None
    real_approval: bool
    frozen: bool


class SessionShown(Shown):
    """A session, with the context that it has from its next turn on. `has_policy`: a program gave it a policy."""

    id: str
    agent_id: str
    source: Word
    principal: PrincipalShown
    parent_id: str | None
    project_id: str | None
    ticket_id: str | None
    job_id: str | None
    model: str | None
    run_context: RunContextShown | None
    context_given: bool
    approver: bool
    skills: list[str]
    narrowing: list[RowShown]
    has_policy: bool
    created_at: datetime
    ended_at: datetime | None


class TurnShown(Shown):
    """A turn that has begun, with the context that it keeps."""

    id: str
    session_id: str
    started_at: datetime
    run_context: RunContextShown | None
    working_directory: str
    system_prompt: str | None
    policy_version: str


class ProjectShown(Shown):
    """A project."""

    id: str
    name: str
    description: str
    directory: str | None
    grant_tree: bool
    run_context: RunContextShown | None
    created_at: datetime


class TicketShown(Shown):
    """A ticket."""

    id: str
    project_id: str
    title: str
    body: str
    run_context: RunContextShown | None
    created_at: datetime


class JobShown(Shown):
    """A scheduled job. `next_at` is when it comes round next, null while it is off."""

    id: str
    name: str
    cron: str
    prompt: str
    agent_id: str
    enabled: bool
    run_context: RunContextShown | None
    created_at: datetime
    next_at: datetime | None


def principal_shown(principal: Principal) -> PrincipalShown:
    """A principal as JSON."""
    return PrincipalShown(kind=principal.kind.value, id=principal.id, service_id=principal.service_id)


def context_shown(context: RunContext | None) -> RunContextShown | None:
    """A run context as JSON; None for none."""
    if context is None:
        return None
    return RunContextShown(
        security_group=context.security_group,
        system_prompt=list(context.system_prompt),
        allow_fs_writes=list(context.allow_fs_writes),
        allow_fs_reads=list(context.allow_fs_reads),
        working_directory=context.working_directory,
    )


def _row_shown(row: Row) -> RowShown:
    return RowShown(
        id=row.id,
        tool=row.tool,
        action=row.action.value,
        path=row.path,
        command=row.command,
        note=row.note,
        real_approval=row.real_approval,
        frozen=row.frozen,
    )


def session_shown(session: SessionRecord) -> SessionShown:
    """A session as JSON."""
    return SessionShown(
        id=session.id,
        agent_id=session.agent_id,
        source=session.source.value,
        principal=principal_shown(session.principal),
        parent_id=session.parent_id,
        project_id=session.project_id,
        ticket_id=session.ticket_id,
        job_id=session.job_id,
        model=session.model,
        run_context=context_shown(session.run_context),
        context_given=session.context_given,
        approver=session.approver,
        skills=list(session.skills),
        narrowing=[_row_shown(row) for row in session.narrowing.rows],
        has_policy=session.has_policy,
        created_at=session.created_at,
        ended_at=session.ended_at,
    )


def project_shown(project: ProjectRecord) -> ProjectShown:
    """A project as JSON."""
    return ProjectShown(
        id=project.id,
        name=project.name,
        description=project.description,
        directory=project.directory,
        grant_tree=project.grant_tree,
        run_context=context_shown(project.run_context),
        created_at=project.created_at,
    )


def ticket_shown(ticket: TicketRecord) -> TicketShown:
    """A ticket as JSON."""
    return TicketShown(
        id=ticket.id,
        project_id=ticket.project_id,
        title=ticket.title,
        body=ticket.body,
        run_context=context_shown(ticket.run_context),
        created_at=ticket.created_at,
    )


def job_shown(job: JobRecord, next_at: datetime | None) -> JobShown:
    """A scheduled job as JSON."""
    return JobShown(
        id=job.id,
        name=job.name,
        cron=job.cron,
        prompt=job.prompt,
        agent_id=job.agent_id,
        enabled=job.enabled,
        run_context=context_shown(job.run_context),
        created_at=job.created_at,
        next_at=next_at,
    )
