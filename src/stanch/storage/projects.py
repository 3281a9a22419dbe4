"""Projects in the store.

Settles how projects are kept. Does not settle what one lays under a context (`gate.context`).
"""

from __future__ import annotations

import secrets
from typing import Any

from stanch.storage.nouns import PROJECT, TICKET
from stanch.storage.pages import page_of
from stanch.storage.rows import context_places, written_context, written_moment
from stanch.storage.schema import PROJECTS, SESSIONS, TICKETS
from stanch.storage.transactions import Transactions, find
from stanch.values.context import RunContext
from stanch.values.records import Actor, Broken, Page, ProjectRecord


class Projects(Transactions):
    """The part of a store that keeps projects."""

    def create_project(
        self,
        *,
        name: str,
        description: str = "",
        directory: str | None = None,
        grant_tree: bool = False,
        run_context: RunContext | None = None,
        by: Actor,
    ) -> ProjectRecord:
        """The new project, under an id of the store's own."""
        row: dict[str, Any] = {
            "id": secrets.token_hex(12),
            "name": name,
            "description": description,
            "directory": directory,
            "grant_tree": int(grant_tree),
            "run_context": written_context(run_context),
            "created_at": written_moment(self._clock()),
        }
        record = PROJECT.written(row)
        with self._changing(by, "project.create", record.id) as change:
            change.add(PROJECT, row)
            change.detail.update(directory=directory, grant_tree=grant_tree, **context_places(run_context))
        return record

    def get_project(self, project_id: str) -> ProjectRecord:
        """The project. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            return PROJECT.readable(find(connection, PROJECT, project_id))

    def list_projects(self, *, limit: int = 50, cursor: str | None = None) -> Page[ProjectRecord | Broken]:
        """A page of projects, oldest first. Raises `BadInput` as `list_groups` does."""
        order = (PROJECTS.c.created_at, PROJECTS.c.id)
        with self._reading() as connection:
            return page_of(connection, PROJECT, order, limit=limit, cursor=cursor)

    def update_project(
        self,
        project_id: str,
        *,
        name: str,
        description: str,
        directory: str | None,
        grant_tree: bool,
        by: Actor,
        expected: ProjectRecord | None = None,
    ) -> ProjectRecord:
        """The project as it now is, its context untouched. Raises `NotFound`, and `Conflict` if not as `expected`."""
        columns = {"name": name, "description": description, "directory": directory, "grant_tree": int(grant_tree)}
        with self._changing(by, "project.update", project_id) as change:
            change.expect(PROJECT, project_id, expected)
            change.detail.update(directory=directory, grant_tree=grant_tree)
            return change.replace(PROJECT, project_id, columns)

    def set_project_context(self, project_id: str, run_context: RunContext | None, *, by: Actor) -> ProjectRecord:
        """The project with this context, or with none. Raises `NotFound`."""
        with self._changing(by, "project.set_run_context", project_id) as change:
            change.detail.update(context_places(run_context))
            return change.replace(PROJECT, project_id, {"run_context": written_context(run_context)})

    def delete_project(self, project_id: str, *, by: Actor) -> None:
        """Removes the project with its tickets. Raises `NotFound`, and `Conflict` while a session of it goes on."""
        with self._changing(by, "project.delete", project_id) as change:
            change.find(PROJECT, project_id)
            change.unused(PROJECT, project_id, SESSIONS.c.project_id)
            change.detail["tickets"] = change.remove(TICKET, TICKETS.c.project_id == project_id)
            change.remove(PROJECT, PROJECTS.c.id == project_id)
