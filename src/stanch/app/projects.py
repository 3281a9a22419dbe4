"""Projects, their tickets, and the contexts that both lay under their sessions.

Settles that what a project or a ticket is given can be used. Does not settle what becomes of it in a session
(`app.contexts`).
"""

from __future__ import annotations

from stanch.app.contexts import Contexts
from stanch.storage.store import Store
from stanch.values.context import RunContext
from stanch.values.records import Actor, Broken, Page, ProjectRecord, TicketRecord


class Projects:
    """What is done with projects and tickets."""

    def __init__(self, store: Store, contexts: Contexts) -> None:
        self._store, self._contexts = store, contexts

    def list(self, *, limit: int = 50, cursor: str | None = None) -> Page[ProjectRecord | Broken]:
        """A page of projects, oldest first."""
        return self._store.list_projects(limit=limit, cursor=cursor)

    def get(self, project_id: str) -> ProjectRecord:
        """The project. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_project(project_id)

    def create(
        self,
        *,
        name: str,
        description: str,
        directory: str | None,
        grant_tree: bool,
        context: RunContext | None,
        by: Actor,
    ) -> ProjectRecord:
        """The new project. Raises `BadFields` for a directory or a context that cannot be used."""
        return self._store.create_project(
            name=name,
            description=description,
            directory=self._contexts.directory(directory, "directory", granted=grant_tree),
            grant_tree=grant_tree,
            run_context=self._contexts.usable(context, "run_context"),
            by=by,
        )

    def update(
        self, project_id: str, *, name: str, description: str, directory: str | None, grant_tree: bool, by: Actor
    ) -> ProjectRecord:
        """The project as it now is, its context untouched. Raises `NotFound`, and `BadFields`."""
        return self._store.update_project(
            project_id,
            name=name,
            description=description,
            directory=self._contexts.directory(directory, "directory", granted=grant_tree),
            grant_tree=grant_tree,
            by=by,
        )

    def set_context(self, project_id: str, context: RunContext | None, *, by: Actor) -> ProjectRecord:
        """The project with this context, or with none; its sessions have it from their next turn on."""
        return self._store.set_project_context(project_id, self._contexts.usable(context), by=by)

    def delete(self, project_id: str, *, by: Actor) -> None:
        """Removes the project with its tickets. Raises `NotFound`, and `Conflict` while a session of it goes on."""
        self._store.delete_project(project_id, by=by)

    def tickets(self, project_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[TicketRecord | Broken]:
        """A page of the project's tickets, oldest first. Raises `NotFound`."""
        return self._store.list_tickets(project_id, limit=limit, cursor=cursor)

    def ticket(self, project_id: str, ticket_id: str) -> TicketRecord:
        """The ticket. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_ticket(project_id, ticket_id)

    def create_ticket(
        self, project_id: str, *, title: str, body: str, context: RunContext | None, by: Actor
    ) -> TicketRecord:
        """The new ticket. Raises `NotFound` for the project, and `BadFields` for a context that cannot be used."""
        usable = self._contexts.usable(context, "run_context")
        return self._store.create_ticket(project_id, title=title, body=body, run_context=usable, by=by)

    def update_ticket(self, project_id: str, ticket_id: str, *, title: str, body: str, by: Actor) -> TicketRecord:
        """The ticket as it now is, its context untouched. Raises `NotFound`."""
        return self._store.update_ticket(project_id, ticket_id, title=title, body=body, by=by)

    def set_ticket_context(
        self, project_id: str, ticket_id: str, context: RunContext | None, *, by: Actor
    ) -> TicketRecord:
        """The ticket with this context, or with none; its sessions have it from their next turn on."""
        usable = self._contexts.usable(context)
        return self._store.set_ticket_context(project_id, ticket_id, usable, by=by)

    def delete_ticket(self, project_id: str, ticket_id: str, *, by: Actor) -> None:
        """Removes the ticket. Raises `NotFound`, and `Conflict` while a session of it goes on."""
        self._store.delete_ticket(project_id, ticket_id, by=by)
