"""`/api/sessions`: sessions from their making to their end, their context, their model, their turns.

Settles the routes. Does not settle what any of them does (`app.sessions`, `app.turns`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from stanch.app.sessions import acting, hands_of
from stanch.surfaces.http.access import Asked, By, Served
from stanch.surfaces.http.bodies import ModelBody, NarrowingBody, SessionBody, SkillsBody, SourceWord
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import BODY, TAKES_CONTEXT, given_context, guarded
from stanch.surfaces.http.shown import (
    BrokenShown,
    PageShown,
    SessionShown,
    TurnShown,
    context_shown,
    session_shown,
)
from stanch.values.context import RunContext
from stanch.values.identity import Source

ROUTER = guarded("/api/sessions", "sessions")


@ROUTER.post("", status_code=201, responses=problems(404, 409, *BODY))
def create_session(body: SessionBody, service: Served, caller: Asked, by: By) -> SessionShown:
    """Begin a session. Its context: the one given, if only as null; else its agent's default, else its source's."""
    made = service.sessions.create(
        agent_id=body.agent_id,
        source=Source(body.source),
        principal=hands_of(caller.principal) if body.principal is None else acting(body.principal.principal()),
        session_id=body.session_id,
        parent_id=body.parent_id,
        model=body.model,
        context=body.given_context(),
        approver=body.approver,
        skills=body.skills,
        narrowing=[row.row() for row in body.narrowing],
        by=by,
    )
    return session_shown(made)


@ROUTER.get("")
def list_sessions(  # noqa: PLR0917 - called by name
    service: Served,
    limit: Limit = 50,
    cursor: Cursor = None,
    agent_id: str | None = None,
    source: SourceWord | None = None,
    parent_id: str | None = None,
    project_id: str | None = None,
    ticket_id: str | None = None,
    job_id: str | None = None,
    ended: bool | None = None,
) -> PageShown[SessionShown | BrokenShown]:
    """List the sessions that fit every filter given, newest first."""
    page = service.sessions.list(
        limit=limit,
        cursor=cursor,
        agent_id=agent_id,
        source=None if source is None else Source(source),
        parent_id=parent_id,
        project_id=project_id,
        ticket_id=ticket_id,
        job_id=job_id,
        ended=ended,
    )
    return page_shown(page, lambda one: session_shown(service.sessions.now(one)))


@ROUTER.get("/{session_id}", responses=problems(404))
def read_session(session_id: str, service: Served) -> SessionShown:
    """Read a session."""
    return session_shown(service.sessions.now(service.sessions.get(session_id)))


@ROUTER.delete("/{session_id}", responses=problems(404, 409))
def end_session(session_id: str, service: Served, by: By) -> SessionShown:
    """End a session. It stays to be read."""
    return session_shown(service.sessions.end(session_id, by=by))


@ROUTER.post("/{session_id}/run_context", responses=problems(404, 409, *BODY), openapi_extra=TAKES_CONTEXT)
def set_session_context(
    session_id: str, context: Annotated[RunContext | None, Depends(given_context)], service: Served, by: By
) -> SessionShown:
    """Give a session another context, or none with null. It has it from its next turn on."""
    return session_shown(service.sessions.set_context(session_id, context, by=by))


@ROUTER.post("/{session_id}/model", responses=problems(404, 409, *BODY))
def set_session_model(session_id: str, body: ModelBody, service: Served, by: By) -> SessionShown:
    """Say which model a session uses from now on."""
    return session_shown(service.sessions.now(service.switching.switch(session_id, body.model, by=by)))


@ROUTER.post("/{session_id}/skills", responses=problems(404, 409, *BODY))
def set_session_skills(session_id: str, body: SkillsBody, service: Served, by: By) -> SessionShown:
    """Have skills become active in a session, or no more. It holds from its next call on."""
    made = service.sessions.set_skills(session_id, add=body.add, remove=body.remove, by=by)
    return session_shown(service.sessions.now(made))


@ROUTER.post("/{session_id}/narrowing", responses=problems(404, 409, *BODY))
def narrow_session(session_id: str, body: NarrowingBody, service: Served, by: By) -> SessionShown:
    """Give a session rows that deny or ask, or take some away that are not frozen. It holds from its next call on."""
    rows = [row.row() for row in body.add]
    made = service.sessions.narrow(session_id, add=rows, remove=body.remove, by=by)
    return session_shown(service.sessions.now(made))


@ROUTER.post("/{session_id}/turns", status_code=201, responses=problems(404, 409))
def begin_turn(session_id: str, service: Served) -> TurnShown:
    """Begin a turn: it keeps the context that is stored now until the next one begins."""
    turn = service.turn(session_id)
    directory, prompt = service.context_of(turn)
    return TurnShown(
        id=turn.id,
        session_id=turn.session_id,
        started_at=turn.started_at,
        run_context=context_shown(turn.context),
        working_directory=directory,
        system_prompt=prompt,
        policy_version=service.policy.version,
    )
