"""Tickets of projects in the store.

Settles how tickets are kept. Does not settle what a ticket's context means beside its project's (`gate.context`).
"""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import ColumnElement, false

from stanch.storage.nouns import PROJECT, TICKET
from stanch.storage.pages import page_of
from stanch.storage.rows import context_places, is_storable, written_context, written_moment
from stanch.storage.schema import SESSIONS, TICKETS
from stanch.storage.transactions import Transactions, find
from stanch.values.context import RunContext
from stanch.values.records import Actor, Broken, Page, TicketRecord


class Tickets(Transactions):
    """The part of a store that keeps tickets. Each is looked for in its project only."""

    def create_ticket(
        self, project_id: str, *, title: str, body: str = "", run_context: RunContext | None = None, by: Actor
    ) -> TicketRecord:
        """The new ticket, under an id of the store's own. Raises `NotFound` for the project."""
        row: dict[str, Any] = {
            "id": secrets.token_hex(12),
            "project_id": project_id,
            "title": title,
            "body": body,
            "run_context": written_context(run_context),
            "created_at": written_moment(self._clock()),
        }
        record = TICKET.written(row)
        with self._changing(by, "ticket.create", record.id) as change:
            change.find(PROJECT, project_id)
            change.add(TICKET, row)
            change.detail.update(project=project_id, **context_places(run_context))
        return record

    def get_ticket(self, project_id: str, ticket_id: str) -> TicketRecord:
        """The ticket. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            return TICKET.readable(find(connection, TICKET, ticket_id, _of(project_id)))

    def list_tickets(
        self, project_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> Page[TicketRecord | Broken]:
        """A page of a project's tickets, oldest first. Raises `NotFound`, and `BadInput` as `list_groups` does."""
        order, filters = (TICKETS.c.created_at, TICKETS.c.id), {TICKETS.c.project_id: project_id}
        with self._reading() as connection:
            find(connection, PROJECT, project_id)
            return page_of(connection, TICKET, order, limit=limit, cursor=cursor, filters=filters)

    def update_ticket(
        self,
        project_id: str,
        ticket_id: str,
        *,
        title: str,
        body: str,
        by: Actor,
        expected: TicketRecord | None = None,
    ) -> TicketRecord:
        """The ticket as it now is, its context untouched. Raises `NotFound`, and `Conflict` if not as `expected`."""
        with self._changing(by, "ticket.update", ticket_id) as change:
            change.expect(TICKET, ticket_id, expected, _of(project_id))
            change.detail["project"] = project_id
            return change.replace(TICKET, ticket_id, {"title": title, "body": body})

    def set_ticket_context(
        self, project_id: str, ticket_id: str, run_context: RunContext | None, *, by: Actor
    ) -> TicketRecord:
        """The ticket with this context, or with none. Raises `NotFound`."""
        with self._changing(by, "ticket.set_run_context", ticket_id) as change:
            change.find(TICKET, ticket_id, _of(project_id))
            change.detail.update(project=project_id, **context_places(run_context))
            return change.replace(TICKET, ticket_id, {"run_context": written_context(run_context)})

    def delete_ticket(self, project_id: str, ticket_id: str, *, by: Actor) -> None:
        """Removes the ticket. Raises `NotFound`, and `Conflict` while a session of it goes on."""
        with self._changing(by, "ticket.delete", ticket_id) as change:
            change.find(TICKET, ticket_id, _of(project_id))
            change.unused(TICKET, ticket_id, SESSIONS.c.ticket_id)
            change.detail["project"] = project_id
            change.remove(TICKET, TICKETS.c.id == ticket_id)


def _of(project_id: str) -> ColumnElement[bool]:
    """That a ticket is one of this project."""
    return TICKETS.c.project_id == project_id if is_storable(project_id) else false()
