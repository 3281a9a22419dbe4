"""Source tags for a conversation that another program ran, read on this machine.

Settles what a path in such a conversation names here, and which files a command in it touched. Does not settle what
follows (`tiers.tags`). The disk is asked as it is now, since nobody saw it then; a directory is never taken for seen.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from stanch.app.command_reads import is_plain
from stanch.app.shell_world import ShellWorld, verbs
from stanch.paths.canonical import Canonicaliser, expand_home
from stanch.policy.declared import Tool
from stanch.policy.shell.reading import Found
from stanch.policy.shell.running import read
from stanch.tiers.tag_calls import Canonical, CommandFiles, Reader
from stanch.tiers.tag_shapes import Shapes, shapes_of
from stanch.tiers.tags import Tagging, tag_messages
from stanch.values.call import EffectClass
from stanch.values.message import Message, Origin, SourceTag


@cache
def shipped_shapes() -> Shapes:
    """The table of how results look that comes with Stanch."""
    file = resources.files("stanch.tiers") / "shapes.toml"
    return shapes_of(tomllib.loads(file.read_text(encoding="utf-8")))


class ForeignTagger:
    """Tags conversations against one set of tools and one canonicaliser."""

    def __init__(
        self, tools: Mapping[str, Tool], canonicaliser: Canonicaliser, shapes: Mapping[str, Any] | None = None
    ) -> None:
        """`shapes` is a table of a user's own, in the form of the one that ships, over which it goes.

        Raises `BadInput` for one that cannot be used.
        """
        self._tools, self._canonicaliser = tools, canonicaliser
        self._shapes = shipped_shapes()
        if shapes is not None:
            file = resources.files("stanch.tiers") / "shapes.toml"
            self._shapes = shapes_of(tomllib.loads(file.read_text(encoding="utf-8")), shapes)

    def tagged(self, messages: Sequence[Message], cwd: str | None) -> list[Message]:
        """The messages with source tags. `cwd` is the directory in which the conversation was had, if that is known."""
        return tag_messages(
            messages,
            shapes=self._shapes,
            cwd=cwd,
            canonical=self.canonical,
            command_paths=self.command_paths,
            tools=self._tools,
            is_file=os.path.isfile,
        )

    def reader(self, canonical: Canonical | None = None) -> Reader:
        """What reads calls against the disk as it is from now on; `canonical` stands in for this one's own."""
        return Reader(self._tools, self._shapes, canonical or self.canonical, self.command_paths, os.path.isfile)

    def tagging(self, cwd: str | None, reader: Reader) -> Tagging:
        """The tags of a conversation that goes on, message by message."""
        return Tagging(reader, self._shapes, cwd)

    def canonical(self, path: str, base: str) -> str | None:
        """The canonical path of a path as written; None where it has none."""
        found = self._canonicaliser.stamp(expand_home(path) if path.startswith("~") else path, base).path
        return found or None

    def command_paths(self, command: str, directory: str) -> CommandFiles | None:
        """The files of a command that was fully resolved, by its words alone."""
        read_: dict[SourceTag, None] = {}
        written: dict[SourceTag, None] = {}
        for part in read(command, directory, _Then(expand_home("~")), verbs()):
            if not is_plain(part.command) or part.scripts:
                return None
            for found in part.found:
                tags = self._tags(found)
                if tags is None:
                    return None
                into = {EffectClass.READ: read_, EffectClass.WRITE: written}.get(found.cls, {})
                into.update(dict.fromkeys(tags))
        return CommandFiles(tuple(read_), tuple(written))

    def _tags(self, found: Found) -> list[SourceTag] | None:
        """The tags of what a command was found to touch, one for each directory that it may have run in."""
        if found.path is None:
            return None if found.cls is EffectClass.READ else []
        paths = [self.canonical(found.path, base) for base in found.bases]
        if not paths or None in paths:
            return None
        origin = Origin.SUBTREE if found.deep else Origin.PATH
        return [SourceTag(path, origin, all_below=not found.deep) for path in paths if path is not None]


class _Then(ShellWorld):
    """The machine as it was when the command ran: nobody knows any more which names a wildcard stood for."""

    def names(self, parts: tuple[tuple[str, bool], ...], base: str, *, wide: bool) -> list[str] | None:
        """None: they are not known."""
        del parts, base, wide
        return None
