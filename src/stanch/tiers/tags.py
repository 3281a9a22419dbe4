"""Source tags for a conversation that another program ran: whose text each part of it is.

Settles what each part gets, out of the calls in the history and of what agents write into it. Does not settle what a
call touches (`tiers.tag_calls`), how a result is split (`tiers.tag_lines`), nor what a model may see of it
(`tiers.history`). INVARIANT: a part that has tags keeps them, and a part about which nothing is found stays the very
same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from stanch.paths.uri import is_file_uri
from stanch.policy.declared import Tool
from stanch.policy.known_tools import known
from stanch.tiers.history_values import strings
from stanch.tiers.tag_attached import announces, asks_for_summary, attached, called, is_result, is_summary, typed
from stanch.tiers.tag_calls import Canonical, CommandPaths, Origins, Reader, uri_path
from stanch.tiers.tag_lines import spans
from stanch.tiers.tag_pairs import Calls, Place
from stanch.tiers.tag_shapes import Look, Shapes
from stanch.values.message import (
    Call,
    File,
    Fragment,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Result,
    Role,
    SourceTag,
    Tags,
    Text,
)

UNKNOWN_CALL = SourceTag("a tool call that is not here", Origin.UNKNOWN)
UNKNOWN_PLACE = SourceTag("what a person attached", Origin.UNKNOWN)
UNKNOWN_MESSAGES = SourceTag("earlier messages that are not here", Origin.UNKNOWN)
_SUMMARIES = frozenset({"compaction", "compaction_summary", "context_compaction"})
_OF_CALL = ("call_id", "tool_use_id", "tool_call_id")
_NAMED = ("source", "title", "filename", "path", "file_path")


def tag_messages(
    messages: Sequence[Message],
    *,
    shapes: Shapes,
    cwd: str | None,
    canonical: Canonical,
    command_paths: CommandPaths | None = None,
    tools: Mapping[str, Tool] | None = None,
    is_file: Callable[[str], bool] = lambda _: False,
) -> list[Message]:
    """The messages with source tags; those about which nothing was found are the very same objects.

    `cwd` is the directory that relative paths are read against, besides any that the history names; without either
    they are of unknown origin. `canonical` answers what a path names now, `command_paths` which files a shell command
    touches; without it, a command may have read all below its directory. `tools` are the declared ones. `is_file` says
    of a canonical path that it is a file.
    """
    reader = Reader(known() if tools is None else tools, shapes, canonical, command_paths, is_file)
    return Tagging(reader, shapes, cwd).more(messages)


class Tagging:
    """Goes through the messages of a conversation once, in order; more of them may come later."""

    def __init__(self, reader: Reader, shapes: Shapes, cwd: str | None) -> None:
        self._calls, self._shapes, self._reader = Calls(reader, shapes, cwd), shapes, reader
        self._union: dict[SourceTag, None] = {}
        self._all: Tags = ()
        self._told: dict[SourceTag, None] = {}  # of calls that an agent made by itself, whose result comes next
        self._shown: dict[SourceTag, None] = {}  # of results, whose pictures may come in the next message of the user
        self._called = self._asked = self._typed = False
        self._bases: tuple[str, ...] = ()

    def more(self, messages: Sequence[Message]) -> list[Message]:
        """The next messages of the conversation with their tags.

        A result is taken to be of a call among the messages up to the last of these; where that comes later, it is of
        unknown origin.
        """
        start = len(self._calls.bases)
        self._calls.more(messages)
        return [self._message(message, number) for number, message in enumerate(messages, start)]

    def copied(self, reader: Reader) -> Tagging:
        """The same, to be gone on with apart from this one; paths are asked of another reader from then on."""
        made = Tagging(reader, self._shapes, None)
        made._calls = self._calls.copied(reader)
        made._union, made._all = dict(self._union), self._all
        made._told, made._shown = dict(self._told), dict(self._shown)
        made._called, made._asked, made._typed, made._bases = self._called, self._asked, self._typed, self._bases
        return made

    @property
    def places(self) -> tuple[str, ...]:
        """The directories that the agent may be in after the messages so far."""
        return self._calls.bases[-1] if self._calls.bases else ()

    def _message(self, message: Message, number: int) -> Message:
        self._bases = self._calls.bases[number]
        if message.role is Role.ASSISTANT:
            self._told.clear()
            self._typed = False
            if not all(isinstance(part, Text) and part.text in self._shapes.between for part in message.parts):
                self._shown.clear()
        parts = []
        for at, part in enumerate(message.parts):
            # WHY also where there are tags: what is found out on the way is about the messages that come next.
            found = tuple(self._found(message, part, (number, at)))
            tags = part.tags or found
            self._note(tags)
            parts.append(part if tags is part.tags or not tags else replace(part, tags=tags))
            self._called = self._called or isinstance(part, Call)
        if message.role is not Role.TOOL:
            self._asked = message.role is Role.USER and any(
                isinstance(part, Text) and asks_for_summary(part.text, self._shapes) for part in message.parts
            )
        same = all(new is old for new, old in zip(parts, message.parts, strict=True))
        return message if same else replace(message, parts=tuple(parts))

    def _note(self, tags: Tags) -> None:
        for tag in tags:
            plain = tag if tag.span is None else replace(tag, span=None)
            self._union.setdefault(plain)

    def _before(self) -> Tags:
        """All that was said before may be from: one object for as long as nothing is added."""
        if len(self._all) != len(self._union):
            self._all = tuple(self._union)
        return self._all

    def _summary(self) -> Tags:
        """The tags of a summary. WHY one more where no call stands before it: what it sums up is not here any more."""
        return self._before() if self._called else (*self._before(), UNKNOWN_MESSAGES)

    def _found(self, message: Message, part: Part, place: Place) -> Tags:
        match part:
            case Call():
                return self._calls.at[place].written
            case Result():
                return self._result(part, place)
            case Text() | Fragment() if message.role in (Role.USER, Role.SYSTEM):
                return self._said(part.text)
            case Text() if message.role is Role.ASSISTANT and self._asked:
                return self._summary()
            case File():
                return self._file(message, part)
            case Reasoning() if part.signature is not None and part.extra.get("type") != "thinking":
                return self._before()  # WHY: nobody but its provider can tell what is in it
            case Opaque():
                return self._opaque(message, part, place)
            case _:
                return ()

    def _result(self, part: Result, place: Place) -> Tags:
        origins = self._calls.pairs(part.call_id, place)
        if not origins:
            return (UNKNOWN_CALL,)
        for one in origins:
            # WHY of every tool: most APIs take no picture in a result, and agents put it behind.
            self._shown.update(dict.fromkeys(one.whole))
        named = tuple(tag for inner in part.content for tag in self._titles(inner))
        if len(origins) == 1 and not named:
            return self._split(part, origins[0])
        return tuple(dict.fromkeys([*(tag for one in origins for tag in one.whole), *named]))

    def _split(self, part: Result, origins: Origins) -> Tags:
        """The tags of a result with the spans of its texts, where it is plain whose text is whose."""
        if origins.shape.look in (Look.WHOLE, Look.NOTHING, Look.AGENT, Look.LATER):
            return origins.whole
        names: dict[str, Tags] = {}

        def resolve(name: str) -> Tags:
            if name not in names:
                names[name] = tuple(dict.fromkeys(self._below(name, origins)))
            return names[name]

        found: list[SourceTag] = []
        start = 0
        for inner in part.content:
            if not isinstance(inner, Text):
                return origins.whole
            tags = spans(inner.text, origins.shape, resolve, origins.whole, numbered=origins.numbered)
            if tags is None:
                return origins.whole
            found += [replace(tag, span=(tag.span[0] + start, tag.span[1] + start)) for tag in tags if tag.span]
            start += len(inner.text)
        return tuple(found)

    def _below(self, name: str, origins: Origins) -> Iterator[SourceTag]:
        """What a name in a result can stand for: paths below what was searched."""
        for base in ("/",) if name.startswith("/") else origins.bases:
            path = self._reader.resolved(name, base)
            if path is not None and any(
                path == root or path.startswith(root.rstrip("/") + "/") for root in origins.roots
            ):
                yield SourceTag(path)

    def _said(self, text: str) -> Tags:
        """The tags of what a person or a system says."""
        tags: dict[SourceTag, None] = {}
        if is_summary(text, self._shapes):
            tags.update(dict.fromkeys(self._summary()))
        calls, more = called(text)
        commands = list(typed(text, self._shapes))
        for command in commands:
            self._typed = True
            self._told.update(dict.fromkeys(self._reader.origins("Bash", {"command": command}, self._bases, ()).whole))
        result = is_result(text, self._shapes, anywhere=bool(commands))
        if result or (self._told and not commands):
            known = calls or self._typed
            tags.update(self._told if self._told else {UNKNOWN_CALL: None} if not known else {})
            self._told, self._typed = {}, False
        for one in calls:
            given = one.arguments or {}
            tool = one.tool.lower() if "filePath" in given else one.tool  # WHY: one agent writes its names larger here
            origins = self._reader.origins(tool, given, self._bases, ())
            self._told.update(dict.fromkeys(origins.whole or (UNKNOWN_CALL,)))
        if calls and more:
            tags.update(self._told)
        if calls and result:
            self._told = {}
        announced, here = announces(text, self._shapes)
        if announced:
            (tags if here else self._told)[UNKNOWN_PLACE] = None
        for file in attached(text, self._shapes):
            found = self._reader.tags(uri_path(file.path), self._bases)
            tags.update(dict.fromkeys(replace(tag, span=file.span) for tag in found))
        return tuple(tags)

    def _file(self, message: Message, part: File) -> Tags:
        tags: dict[SourceTag, None] = {}
        if message.role is Role.USER:
            tags.update(self._shown)
            tags.update(self._told)
            self._told = {}
        if part.name:
            tags.update(dict.fromkeys(self._reader.tags(uri_path(part.name), self._bases)))
        tags.update(dict.fromkeys(self._titles(part)))
        return tuple(tags)

    def _opaque(self, message: Message, part: Opaque, place: Place) -> Tags:
        if part.kind in _SUMMARIES:
            return self._summary()
        if place in self._calls.at:
            return self._calls.at[place].whole
        shown = self._shown if message.role is Role.USER else ()
        # WHY: nobody knows the kind, but it says itself whose result it is.
        of_calls = self._calls.named([part.data.get(key) for key in _OF_CALL], place)
        return tuple(dict.fromkeys([*shown, *of_calls, *self._titles(part)]))

    def _titles(self, part: Part) -> Tags:
        """The files that a document or a search result says it is of, and those that a block's addresses lead to."""
        if isinstance(part, File):
            return self._reader.tags(uri_path(part.url), self._bases) if part.url and is_file_uri(part.url) else ()
        if not isinstance(part, Opaque):
            return ()
        led = [text for text in strings(part.data) if is_file_uri(text)]
        if part.kind not in ("document", "search_result", "input_file", "file"):
            return tuple(dict.fromkeys(tag for text in led for tag in self._reader.tags(uri_path(text), self._bases)))
        texts = [part.data.get(key) for key in _NAMED]
        named = [text for text in texts if isinstance(text, str) and ("/" in text or "." in text) and "\n" not in text]
        paths = [uri_path(text) for text in named if not text.lower().startswith(("http://", "https://"))]
        paths += map(uri_path, led)
        return tuple(dict.fromkeys(tag for path in paths for tag in self._reader.tags(path, self._bases)))
