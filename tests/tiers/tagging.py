"""Conversations for the tests of source tags: calls with results, tagged against a disk that is all names."""

from __future__ import annotations

import posixpath
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from stanch.tiers.tag_calls import CommandFiles, CommandPaths
from stanch.tiers.tag_shapes import Shapes, shapes_of
from stanch.tiers.tags import tag_messages
from stanch.values.message import Call, Message, Origin, Result, Role, SourceTag, Tags, Text

CWD = "/repo"


@cache
def shapes() -> Shapes:
    """The table that comes with Stanch."""
    file = resources.files("stanch.tiers") / "shapes.toml"
    return shapes_of(tomllib.loads(file.read_text(encoding="utf-8")))


def canonical(path: str, base: str) -> str | None:
    """The path as its names say, on a disk without links."""
    return posixpath.normpath(posixpath.join(base, path)) if "\0" not in path else None


def cat(command: str, directory: str) -> CommandFiles | None:
    """A reader of commands that knows `cat FILE...` and nothing else."""
    program, *files = command.split()
    if program != "cat":
        return None
    return CommandFiles(tuple(SourceTag(posixpath.normpath(posixpath.join(directory, one))) for one in files))


def tagged(
    messages: Sequence[Message], cwd: str | None = CWD, command_paths: CommandPaths | None = cat
) -> list[Message]:
    """The messages with their tags."""
    return tag_messages(messages, shapes=shapes(), cwd=cwd, canonical=canonical, command_paths=command_paths)


def called(tool: str, arguments: Mapping[str, Any] | str, identity: str = "c") -> Message:
    """A message of a model with one call."""
    return Message(Role.ASSISTANT, (Call(identity, tool, arguments),))


def gave(text: str, identity: str = "c") -> Message:
    """A message with the result of a call."""
    return Message(Role.TOOL, (Result(identity, (Text(text),)),))


def said(*texts: str, role: Role = Role.USER) -> Message:
    """A message of a person, or of somebody else."""
    return Message(role, tuple(Text(text) for text in texts))


def tags_of(message: Message, at: int = 0) -> Tags:
    """The tags of one part."""
    return message.parts[at].tags


def result_tags(tool: str, arguments: Mapping[str, Any] | str, text: str, cwd: str | None = CWD) -> Tags:
    """The tags of the result of one call."""
    return tags_of(tagged([called(tool, arguments), gave(text)], cwd)[1])


def owners(text: str, tags: Tags) -> list[tuple[str, set[str]]]:
    """Each line of a result with the paths that all of it is said to be of; a tag without a span is of every line."""
    found: list[tuple[str, set[str]]] = []
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        here = {tag.name for tag in tags if tag.span is None or (tag.span[0] <= start and tag.span[1] >= end > start)}
        found.append((line, here))
        start = end + 1
    return found


def subtree(path: str) -> SourceTag:
    """The tag for all that lies below a directory, of which nobody saw all."""
    return SourceTag(path, Origin.SUBTREE, all_below=False)
