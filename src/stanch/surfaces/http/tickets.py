"""`/api/projects/{project_id}/tickets`: the tickets of a project, and their context.

Settles the routes. Does not settle what any of them does (`app.projects`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from stanch.surfaces.http.access import By, Served
from stanch.surfaces.http.bodies import TicketBody, TicketChangeBody, context_in
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import BODY, TAKES_CONTEXT, given_context, guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown, TicketShown, ticket_shown
from stanch.values.context import RunContext

ROUTER = guarded("/api/projects/{project_id}/tickets", "tickets")


@ROUTER.post("", status_code=201, responses=problems(404, *BODY))
def create_ticket(project_id: str, body: TicketBody, service: Served, by: By) -> TicketShown:
    """Make a ticket."""
    made = service.projects.create_ticket(
        project_id, title=body.title, body=body.body, context=context_in(body.run_context), by=by
    )
    return ticket_shown(made)


@ROUTER.get("", responses=problems(404))
def list_tickets(
    project_id: str, service: Served, limit: Limit = 50, cursor: Cursor = None
) -> PageShown[TicketShown | BrokenShown]:
    """List the tickets of a project, oldest first."""
    return page_shown(service.projects.tickets(project_id, limit=limit, cursor=cursor), ticket_shown)


@ROUTER.get("/{ticket_id}", responses=problems(404))
def read_ticket(project_id: str, ticket_id: str, service: Served) -> TicketShown:
    """Read a ticket."""
    return ticket_shown(service.projects.ticket(project_id, ticket_id))


@ROUTER.put("/{ticket_id}", responses=problems(404, 409, *BODY))
def change_ticket(project_id: str, ticket_id: str, body: TicketChangeBody, service: Served, by: By) -> TicketShown:
    """Change a ticket. Its context stays as it is."""
    return ticket_shown(service.projects.update_ticket(project_id, ticket_id, title=body.title, body=body.body, by=by))


@ROUTER.delete("/{ticket_id}", status_code=204, responses=problems(404, 409))
def delete_ticket(project_id: str, ticket_id: str, service: Served, by: By) -> None:
    """Remove a ticket. One with a session that goes on stays."""
    service.projects.delete_ticket(project_id, ticket_id, by=by)


@ROUTER.post("/{ticket_id}/run_context", responses=problems(404, *BODY), openapi_extra=TAKES_CONTEXT)
def set_ticket_context(
    project_id: str,
    ticket_id: str,
    context: Annotated[RunContext | None, Depends(given_context)],
    service: Served,
    by: By,
) -> TicketShown:
    """Give a ticket another context, or none with null. Its sessions have it from their next turn on."""
    return ticket_shown(service.projects.set_ticket_context(project_id, ticket_id, context, by=by))
