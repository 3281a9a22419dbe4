"""Which files a tool call may have read or written, by its arguments and what its tool is declared to do.

Settles the tags of a call and of its whole result. Does not settle which of them a piece of the result is from
(`tiers.tag_lines`), nor what a name means on the disk (a callable is handed in).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol

from stanch.paths import uri
from stanch.policy.declared import Tool
from stanch.policy.forms import RawTarget
from stanch.policy.known_tools import tool_named
from stanch.policy.tools import targets_of
from stanch.policy.undeclared import looks_like_path
from stanch.tiers.tag_shapes import WHOLE, Look, ResultShape, Shapes
from stanch.values.call import EffectClass
from stanch.values.fault import BadCall
from stanch.values.message import Origin, SourceTag, Tags

MOST_TARGETS = 1_000
MOST_WORDS = 200
LONGEST_PATH = 4096
_UNKNOWN_RESULT = "a tool call that cannot be read"
_NAMES_FILE = re.compile(
    r"(?:^|_|\b)(?:file|files|path|paths|filename|filepath|dir|directory|folder|source|uri|notebook)", re.I
)
_HAS_ENDING = re.compile(r"[^\s/]{1,200}\.[A-Za-z][A-Za-z0-9]{0,7}")
_WORD = re.compile(r"[^\s\"'`()\[\]{}<>,;|&=]+")
_COMMANDS = ("command", "cmd", "command_line")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class CommandFiles(NamedTuple):
    """What a command that was fully resolved reads, and what it writes."""

    read: Tags
    written: Tags = ()


class CommandPaths(Protocol):
    """Says of a shell command, started in a canonical directory, which files it reads and writes."""

    def __call__(self, command: str, directory: str, /) -> CommandFiles | None:
        """The files; None where the command was not fully resolved."""


Canonical = Callable[[str, str], str | None]
"""From a path as written and a canonical directory to the canonical path; None where it has none."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where a call's result may come from: `whole` are the tags of all of it, `written` those of its arguments.

    `roots` are the canonical paths below which every name in the result lies, `bases` what such a name may be read
    against.
    """

    whole: Tags
    written: Tags = ()
    roots: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    shape: ResultShape = WHOLE
    numbered: bool = False


class Reader:
    """Reads calls against the directories that their agent may be in; each path is resolved once."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        shapes: Shapes,
        canonical: Canonical,
        command_paths: CommandPaths | None,
        is_file: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`is_file` says of a canonical path that it is a file, below which nothing can lie."""
        self.tools, self.shapes = tools, shapes
        self._canonical, self._command_paths, self._is_file = canonical, command_paths, is_file
        self._resolved: dict[tuple[str, str], str | None] = {}

    def resolved(self, path: str, base: str) -> str | None:
        """The canonical path; None where there is none."""
        key = (path, base)
        if key not in self._resolved:
            long = len(path) > LONGEST_PATH or "\0" in path or _DRIVE.match(path) is not None
            self._resolved[key] = None if long else self._canonical(path, base)
        return self._resolved[key]

    def tags(self, path: str, bases: Sequence[str], origin: Origin = Origin.PATH) -> Tags:
        """A tag for each directory that a written path may be read against; of unknown origin where there is none."""
        if path.startswith("/"):
            bases = ("/",)
        found = [self.resolved(path, base) for base in bases]
        if not found or None in found:
            return (SourceTag(path, Origin.UNKNOWN),)
        tags = [self._tag(one, origin) for one in found if one is not None]
        meant = _leniently(path)
        return _once(tags if meant == path or not meant else [*tags, *self.tags(meant, bases, origin)])

    def _tag(self, path: str, origin: Origin) -> SourceTag:
        if origin is not Origin.SUBTREE or self._is_file(path):
            return SourceTag(path, origin if origin is not Origin.SUBTREE else Origin.PATH)
        return SourceTag(path, origin, all_below=False)

    def subtrees(self, bases: Sequence[str]) -> Tags:
        """All that lies below the directories that an agent may be in."""
        if not bases:
            return (SourceTag("the working directory", Origin.UNKNOWN),)
        return tuple(SourceTag(base, Origin.SUBTREE, all_below=False) for base in bases)

    def origins(self, name: str, arguments: Mapping[str, Any], bases: Sequence[str], before: Tags) -> Origins:
        """Where the result of a call may come from. `before` are the tags of commands and agents that ran earlier."""
        shape = self.shapes.of(name)
        shape = None if shape is None else shape.of_call(arguments)
        tool = tool_named(name, self.tools)
        if shape is not None and shape.look is Look.NOTHING:
            return Origins((), shape=shape)
        if shape is not None and shape.look is Look.LATER:
            return Origins(before or self.subtrees(bases), shape=shape)
        if shape is not None and shape.look is Look.AGENT:
            return Origins(_once([*self.subtrees(bases), *self._far(arguments, bases)]), shape=shape)
        if tool is None:
            return self._undeclared(arguments, bases)
        try:
            targets = list(islice(targets_of(tool, arguments), MOST_TARGETS + 1))
        except BadCall:
            found = self._undeclared(arguments, bases)
            return Origins(_once([*found.whole, SourceTag(_UNKNOWN_RESULT, Origin.UNKNOWN)]), found.written)
        if len(targets) > MOST_TARGETS:
            return Origins((SourceTag(_UNKNOWN_RESULT, Origin.UNKNOWN),))
        return self._declared(targets, arguments, bases, shape or WHOLE)

    def _declared(
        self, targets: Sequence[RawTarget], arguments: Mapping[str, Any], bases: Sequence[str], shape: ResultShape
    ) -> Origins:
        whole: list[SourceTag] = []
        written: list[SourceTag] = []
        split = shape.look not in (Look.WHOLE, Look.NOTHING)
        for target in targets:
            if target.code is not None:
                read, wrote = self._command(target, arguments, bases)
                whole += read
                written += wrote
            elif target.refused:
                whole.append(SourceTag(target.path or "", Origin.UNKNOWN))
            elif target.path is not None:
                below = split or target.recursive or target.root
                origin = Origin.SUBTREE if below and target.cls is EffectClass.READ else Origin.PATH
                tags = self.tags(target.path or ".", bases, origin)
                whole += tags
                written += tags if target.cls is EffectClass.WRITE else ()
            elif target.cls is EffectClass.EXECUTE:
                whole += [*self.subtrees(bases), *self._far(arguments, bases)]
        roots = tuple(tag.name for tag in whole if tag.origin is Origin.SUBTREE)
        known = split and bool(roots) and all(tag.origin is not Origin.UNKNOWN for tag in whole)
        numbered = shape.is_numbered(arguments)
        against = tuple(dict.fromkeys([*bases, *roots]))
        return Origins(_once(whole), _once(written), roots, against, shape if known or not split else WHOLE, numbered)

    def _command(
        self, target: RawTarget, arguments: Mapping[str, Any], bases: Sequence[str]
    ) -> tuple[list[SourceTag], list[SourceTag]]:
        """What a shell command reads and writes: of one that was not resolved, all below where it may have started."""
        starts = list(bases)
        if target.start:
            starts = [tag.name for tag in self.tags(target.start, bases) if tag.origin is Origin.PATH]
        read: list[SourceTag] = []
        written: list[SourceTag] = []
        resolve = self._command_paths if not target.opaque else None
        for start in starts:
            found = resolve(target.code or "", start) if resolve is not None else None
            if found is None:
                read += [*self.subtrees([start]), *self._far(arguments, [start])]
            else:
                read += found.read
                written += found.written
        return (read or list(self.subtrees([]))) if not starts else read, written

    def _ran(self, command: str, bases: Sequence[str]) -> Iterator[SourceTag]:
        """What a command reads that a tool nobody has described was given."""
        for start in bases:
            found = self._command_paths(command, start) if self._command_paths is not None else None
            yield from self.subtrees([start]) if found is None else found.read
        if not bases:
            yield from self.subtrees([])

    def _far(self, arguments: Mapping[str, Any], bases: Sequence[str]) -> Iterator[SourceTag]:
        """What lies below each path in the arguments that may lead out of the working directory."""
        for _, text in _strings(arguments):
            for word in islice(_WORD.finditer(text), MOST_WORDS * 5):
                path = word[0]
                if path.startswith(("/", "~", "..")) and len(path) > 1 and not path.startswith("//"):
                    yield from (
                        one for one in self.tags(path, bases, Origin.SUBTREE) if one.origin is not Origin.UNKNOWN
                    )

    def _undeclared(self, arguments: Mapping[str, Any], bases: Sequence[str]) -> Origins:
        """Every argument of an unknown tool that looks like a path, and every word in one that does."""
        tags: list[SourceTag] = []
        writes = False
        for key, text in _strings(arguments):
            if "\n" not in text and len(text) <= LONGEST_PATH and _may_be_path(key, text):
                tags += self.tags(uri_path(text), bases)
            else:
                writes = writes or "\n" in text
            words = list(islice(_WORD.finditer(text), MOST_WORDS + 1))
            if len(words) > 1:
                tags += [
                    tag for one in words[:MOST_WORDS] if _may_be_path(key, one[0]) for tag in self.tags(one[0], bases)
                ]
            if len(tags) > MOST_TARGETS:
                return Origins((SourceTag(_UNKNOWN_RESULT, Origin.UNKNOWN),))
        for key in _COMMANDS:
            command = arguments.get(key)
            # WHY several words: one alone is as often the name of what a tool is to do, such as `view`.
            if isinstance(command, str) and len(command.split()) > 1:
                tags += self._ran(command, bases)
        whole = _once(tags)
        return Origins(whole, whole if writes else ())


def _leniently(path: str) -> str:
    """The path as a tool may read it that forgives its model: blanks around it, a mark before it, another's slashes."""
    return uri_path(path.strip().removeprefix("@")).replace("\\", "/")


def uri_path(text: str) -> str:
    """The path of a `file:` URI; any other text as it is, and one that cannot be read too."""
    if not uri.is_file_uri(text):
        return text
    try:
        return uri.path_of(text)
    except uri.BadUri:
        return text


def _may_be_path(key: str, text: str) -> bool:
    if not text or uri.is_web_url(text):
        return False
    return looks_like_path(text) or _HAS_ENDING.fullmatch(text) is not None or _NAMES_FILE.search(key) is not None


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    """Every string in the arguments with the key that it stands under, at any depth; keys are strings too."""
    todo: list[tuple[str, Any]] = [("", value)]
    while todo:
        key, here = todo.pop()
        if isinstance(here, str):
            yield key, here
        elif isinstance(here, Mapping):
            for name, inner in here.items():
                todo += [(str(name), inner), ("", str(name))]
        elif isinstance(here, (list, tuple)):
            todo += [(key, inner) for inner in here]


def _once(tags: Sequence[SourceTag]) -> Tags:
    return tuple(dict.fromkeys(tags))
