"""A session's run context as the gate reads it: paths made canonical, asked by methods, never by fields.

Settles what is granted and where relative paths start, and how a project or ticket overlays a context. Does not settle
what a grant may answer for (`gate.relax`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from stanch.paths.grants import Grants, directory_of
from stanch.values.call import Stamp
from stanch.values.context import RunContext
from stanch.values.fault import BadContext
from stanch.values.reason import Code

StampDirectory = Callable[[str, str], Stamp]
"""The stamp of a directory named in a context, read against a canonical base."""


class EffectiveContext:
    """A run context with its paths resolved for one turn of one session."""

    __slots__ = ("_context", "_reads", "_working_directory", "_writes")

    def __init__(
        self, context: RunContext | None, workspace: str, stamp: StampDirectory, cwd: str | None = None
    ) -> None:
        """`workspace` is canonical. `cwd` is where the session works when its context does not say.

        Raises `BadContext` where the working directory or a grant names no path that can be read, and `BadGrant` for a
        grant with a wildcard.
        """
        self._context = context or RunContext()
        written = self._context.working_directory or cwd or ""
        where = stamp(written, workspace)
        self._working_directory = _readable(where, "the working directory")
        self._writes = self._resolve(self._context.allow_fs_writes, stamp)
        reads = self._resolve(self._context.allow_fs_reads, stamp)
        base = where.key
        self._reads = Grants((base, f"{base}/docs", f"{base}/skills", *reads.roots, *self._writes.roots))

    def _resolve(self, grants: tuple[str, ...], stamp: StampDirectory) -> Grants:
        roots = []
        for text in grants:
            found = stamp(directory_of(text), self._working_directory)
            _readable(found, f"the grant '{text}'")
            roots.append(found.key)
        return Grants(tuple(roots))

    @property
    def written(self) -> RunContext:
        """The run context as its owner wrote it."""
        return self._context

    def tool_group_id(self) -> str | None:
        """The permission group whose rules come first; None for `default` alone."""
        return self._context.security_group

    def extra_system_prompt(self) -> str | None:
        """The prompt fragments joined by a blank line; None where there are none."""
        return "\n\n".join(self._context.system_prompt) or None

    def effective_working_dir(self) -> str:
        """Where relative paths and commands start: a canonical path."""
        return self._working_directory

    def is_write_allowed(self, path: Stamp) -> bool:
        """True where a write grant covers the path."""
        return self._writes.covers(path)

    def is_read_allowed(self, path: Stamp) -> bool:
        """True where the working directory, a read grant or a write grant covers the path."""
        return self._reads.covers(path)

    def described(self) -> list[Any]:
        """All that a call is judged by, as JSON has it: two contexts that are described alike answer alike."""
        return [
            self._context.security_group,
            self._working_directory,
            sorted(self._writes.roots),
            sorted(self._reads.roots),
        ]


def _readable(stamp: Stamp, what: str) -> str:
    if stamp.refusal is Code.PATH_UNREADABLE:
        raise BadContext(f"{what} cannot be read: {stamp.detail}")
    return stamp.path


@dataclass(frozen=True, slots=True)
class Project:
    """What a project lays under the contexts of its chats and tickets."""

    name: str
    description: str = ""
    directory: str | None = None
    context: RunContext | None = None
    grant_tree: bool = False


@dataclass(frozen=True, slots=True)
class ContextSources:
    """Where a session's context may come from. `given` is a tuple of one where a context was given, if only as null."""

    given: tuple[RunContext | None, ...] = ()
    agent_default: RunContext | None = None
    source_default: RunContext | None = None


def context_for(sources: ContextSources) -> RunContext | None:
    """The context a new session starts with: the one given, else its agent's default, else its source's, else none.

    A null that was given means none, not the default.
    """
    if sources.given:
        return sources.given[0]
    return sources.agent_default or sources.source_default


def project_context(project: Project, workspace: str, ticket: RunContext | None = None) -> RunContext:
    """The context of a project's chat or ticket run: the ticket's if it has one, else the project's, on the project."""
    context = ticket or project.context or RunContext()
    writes = [*context.allow_fs_writes, f"{workspace}/data"]
    if project.grant_tree and project.directory:
        writes.append(project.directory)
    about = f"{project.name}\n{project.description}".strip()
    return replace(
        context,
        working_directory=context.working_directory or project.directory,
        allow_fs_writes=tuple(dict.fromkeys(writes)),
        system_prompt=(about, *context.system_prompt),
    )
