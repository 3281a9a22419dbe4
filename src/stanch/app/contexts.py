"""Run contexts on their way into the store, and out of it to the session that they are for.

Settles when a context may be stored, and which one a stored session has now. Does not settle how its paths are read
(`gate.context`) nor what it grants.
"""

from __future__ import annotations

import os

from stanch.app.live import Live
from stanch.gate.context import Project, project_context
from stanch.paths.canonical import expand_home
from stanch.paths.grants import BadGrant, directory_of
from stanch.storage.store import Store
from stanch.values.context import RunContext
from stanch.values.fault import BadFields, NotFound, StoreUnreadable, quoted
from stanch.values.reason import Code
from stanch.values.records import ProjectRecord, SessionRecord

MOST_NAMED = 20
GRANTS = ("allow_fs_writes", "allow_fs_reads")


class Contexts:
    """What is asked about contexts."""

    def __init__(self, store: Store, live: Live) -> None:
        self._store, self._live = store, live

    def usable(self, context: RunContext | None, inside: str = "") -> RunContext | None:
        """The same context. Raises `BadFields` for one that could not be used, each field with what to write instead.

        `inside` is the name of the field that holds the context.
        """
        if context is None:
            return None
        found = [*self._grants(context), *self._group(context)]
        if not found:
            found = self._paths(context)
        if found:
            raise BadFields(*((f"{inside}.{field}" if inside else field, message) for field, message in found))
        return context

    def directory(self, written: str | None, field: str, *, granted: bool = False) -> str | None:
        """The same text where it names a directory that can be read, and `granted`. Raises `BadFields`."""
        if written is None:
            return None
        if granted and ("*" in written or "?" in written):
            message = f"'{field}' is granted with all below it, and has to be named without wildcards"
            raise BadFields((field, message))
        engine = self._live.engine
        stamp = engine.canonicaliser.directory(written, engine.policy.workspace)
        if not written or stamp.refusal is not None:
            why = stamp.detail or ("it belongs to Stanch itself" if stamp.refusal else "it is empty")
            raise BadFields((field, f"'{field}' is no directory that can be used: {why}"))
        return written

    def now(self, session: SessionRecord) -> RunContext | None:
        """The context that the session has from its next turn on.

        That is its own, unless it was opened on a project and was never given one: then what the project and the ticket
        say now.
        """
        if session.context_given or session.project_id is None:
            return session.run_context
        try:
            project = self._store.get_project(session.project_id)
            ticket = None
            if session.ticket_id is not None:
                ticket = self._store.get_ticket(session.project_id, session.ticket_id).run_context
        except NotFound:
            return session.run_context
        return self.of_project(project, ticket)

    def of_project(self, project: ProjectRecord, ticket: RunContext | None) -> RunContext:
        """The context of a chat of the project, or of a ticket of it that has this context."""
        workspace, directory = self._live.policy.workspace, project.directory
        if directory:
            # WHY here: a grant is read against where the session works, which may be elsewhere.
            directory = os.path.join(workspace, expand_home(directory))
        about = Project(project.name, project.description, directory, project.run_context, project.grant_tree)
        return project_context(about, workspace, ticket)

    def _grants(self, context: RunContext) -> list[tuple[str, str]]:
        found = []
        for field in GRANTS:
            for at, text in enumerate(getattr(context, field)):
                try:
                    directory_of(text)
                except BadGrant as why:
                    found.append((f"{field}[{at}]", f"'{field}': {why}"))
        return found

    def _group(self, context: RunContext) -> list[tuple[str, str]]:
        group = context.security_group
        if group is None or group in self._live.policy.groups:
            return []
        self._live.refresh()  # another node may have made it just now
        policy = self._live.policy
        if group in policy.groups:
            return []
        if policy.unreadable is not None:
            raise StoreUnreadable(policy.unreadable)
        names = sorted(policy.groups)
        known = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
        return [("security_group", f"there is no permission group {quoted(group)} (known: {known})")]

    def _paths(self, context: RunContext) -> list[tuple[str, str]]:
        engine = self._live.engine
        stamp = engine.canonicaliser.directory
        where = stamp(context.working_directory or "", engine.policy.workspace)
        if where.refusal is Code.PATH_UNREADABLE:
            return [("working_directory", f"'working_directory' cannot be read: {where.detail}")]
        found = []
        for field in GRANTS:
            for at, text in enumerate(getattr(context, field)):
                granted = stamp(directory_of(text), where.path)
                if granted.refusal is Code.PATH_UNREADABLE:
                    found.append((f"{field}[{at}]", f"'{field}': the grant '{text}' cannot be read: {granted.detail}"))
        return found
