"""`/api/projects`: projects, their context, their sessions.

Settles the routes. Does not settle what any of them does (`app.projects`, `app.sessions`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from stanch.app.sessions import hands_of
from stanch.surfaces.http.access import Asked, By, Served
from stanch.surfaces.http.bodies import ProjectBody, ProjectChangeBody, ProjectSessionBody, context_in
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import BODY, TAKES_CONTEXT, given_context, guarded
from stanch.surfaces.http.shown import (
    BrokenShown,
    PageShown,
    ProjectShown,
    SessionShown,
    project_shown,
    session_shown,
)
from stanch.values.context import RunContext
from stanch.values.identity import Source

ROUTER = guarded("/api/projects", "projects")


@ROUTER.post("", status_code=201, responses=problems(*BODY))
def create_project(body: ProjectBody, service: Served, by: By) -> ProjectShown:
    """Make a project."""
    made = service.projects.create(
        name=body.name,
        description=body.description,
        directory=body.directory,
        grant_tree=body.grant_tree,
        context=context_in(body.run_context),
        by=by,
    )
    return project_shown(made)


@ROUTER.get("")
def list_projects(service: Served, limit: Limit = 50, cursor: Cursor = None) -> PageShown[ProjectShown | BrokenShown]:
    """List the projects, oldest first."""
    return page_shown(service.projects.list(limit=limit, cursor=cursor), project_shown)


@ROUTER.get("/{project_id}", responses=problems(404))
def read_project(project_id: str, service: Served) -> ProjectShown:
    """Read a project."""
    return project_shown(service.projects.get(project_id))


@ROUTER.put("/{project_id}", responses=problems(404, 409, *BODY))
def change_project(project_id: str, body: ProjectChangeBody, service: Served, by: By) -> ProjectShown:
    """Change a project. Its context stays as it is."""
    made = service.projects.update(
        project_id,
        name=body.name,
        description=body.description,
        directory=body.directory,
        grant_tree=body.grant_tree,
        by=by,
    )
    return project_shown(made)


@ROUTER.delete("/{project_id}", status_code=204, responses=problems(404, 409))
def delete_project(project_id: str, service: Served, by: By) -> None:
    """Remove a project with its tickets. One with a session that goes on stays."""
    service.projects.delete(project_id, by=by)


@ROUTER.post("/{project_id}/run_context", responses=problems(404, *BODY), openapi_extra=TAKES_CONTEXT)
def set_project_context(
    project_id: str, context: Annotated[RunContext | None, Depends(given_context)], service: Served, by: By
) -> ProjectShown:
    """Give a project another context, or none with null. Its sessions have it from their next turn on."""
    return project_shown(service.projects.set_context(project_id, context, by=by))


@ROUTER.post("/{project_id}/session", status_code=201, responses=problems(404, 409, *BODY))
def open_project_session(
    project_id: str, body: ProjectSessionBody, service: Served, caller: Asked, by: By
) -> SessionShown:
    """Open a chat of a project, or of a ticket of it: the ticket's context, else the project's, on the project."""
    made = service.sessions.open_on(
        project_id,
        ticket_id=body.ticket_id,
        agent_id=body.agent_id,
        source=Source(body.source),
        principal=hands_of(caller.principal),
        session_id=body.session_id,
        model=body.model,
        approver=body.approver,
        by=by,
    )
    return session_shown(made)
