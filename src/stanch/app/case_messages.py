"""Conversations as cases write them: short forms of messages, parts and source tags.

Settles which forms there are, and names the place of what is none. Does not settle what is done with a conversation
(`app.case_history`).

A message: `ROLE: WORDS` or `ROLE: [parts]`, and perhaps `model`. A part begins with its kind: `text`, `fragment` and
`reasoning` have words, `file` its media type, `call` and `result` the call's id, `opaque` its kind. A tag: a path, or a
table that begins with `path`, `subtree`, `item` or `unknown`; `of` are the words of the part that are from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stanch.app.case_yaml import Reading, Table
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

_KEYS = {
    "text": (),
    "fragment": ("name",),
    "reasoning": ("signature",),
    "file": ("data", "url", "name"),
    "call": ("tool", "args"),
    "result": ("content", "tool", "failed"),
    "opaque": ("data",),
}
_INNER = ("text", "file", "opaque")
_ROLES = tuple(role.value for role in Role)
_ORIGINS = tuple(origin.value for origin in Origin)


class Conversations:
    """Reads messages out of the tables of one file. Raises `BadInput` with the place of what is wrong."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def messages(self, table: Table, key: str) -> tuple[Message, ...]:
        """The messages of a list."""
        return tuple(self.message(row) for row in self._reading.tables(table, key))

    def message(self, row: Table, *further: str) -> Message:
        """The message of a table, which may have these further keys."""
        role = self._one(row, _ROLES, "a message")
        self._reading.known(row, (role, "model", *further), "a message")
        said = self._reading.take(row, role, (str, list), "words, or a list of parts")
        parts = (Text(said),) if isinstance(said, str) else self._parts(row, role, tuple(_KEYS))
        return Message(Role(role), parts, model=self._reading.take(row, "model", str, "a text"))

    def _parts(self, table: Table, key: str, kinds: Sequence[str]) -> tuple[Any, ...]:
        return tuple(self._part(row, kinds) for row in self._reading.tables(table, key))

    def _part(self, row: Table, kinds: Sequence[str]) -> Part:
        reading, kind = self._reading, self._one(row, kinds, "a part")
        reading.known(row, (kind, "tags", "extra", *_KEYS[kind]), "a part")
        words = reading.text(row, kind)
        extra: dict[str, Any] = {"extra": row["extra"]} if "extra" in row else {}
        match kind:
            case "text":
                return Text(words, self._tags(row, words), **extra)
            case "fragment":
                return Fragment(words, reading.text(row, "name", ""), self._tags(row, words), **extra)
            case "reasoning":
                signature = reading.take(row, "signature", str, "a text")
                return Reasoning(words, signature, self._tags(row, words), **extra)
            case "file":
                data, url = (reading.take(row, key, str, "a text") for key in ("data", "url"))
                return File(words, data, url, reading.take(row, "name", str, "a text"), self._tags(row, ""), **extra)
            case "call":
                given = reading.take(row, "args", (dict, str), "a table, or a text", {})
                return Call(words, reading.text(row, "tool", ""), given, self._tags(row, ""), **extra)
            case "opaque":
                data = reading.take(row, "data", dict, "a table", {})
                return Opaque(words, data, self._tags(row, ""), **extra)
        content = reading.take(row, "content", (str, list), "words, or a list of parts", "")
        inner = (Text(content),) if isinstance(content, str) else self._parts(row, "content", _INNER)
        text = "".join(one.text for one in inner if isinstance(one, Text))
        failed = reading.take(row, "failed", bool, "true or false", default=False)
        return Result(words, inner, reading.text(row, "tool", ""), failed, self._tags(row, text), **extra)

    def _tags(self, row: Table, text: str) -> Tags:
        return tuple(self._tag(row, one, text) for one in self._reading.take(row, "tags", list, "a list of tags", []))

    def _tag(self, row: Table, tag: Any, text: str) -> SourceTag:
        if isinstance(tag, str):
            return SourceTag(tag)
        if not isinstance(tag, Table):
            raise self._reading.wrong(row, "a tag is a path or a table", "tags")
        origin = self._one(tag, _ORIGINS, "a tag")
        self._reading.known(tag, (origin, "of", "below", "all_below"), "a tag")
        span = None
        if "of" in tag:
            words = self._reading.text(tag, "of")
            begun = text.find(words)
            if begun < 0:
                raise self._reading.wrong(tag, f"the part has no words {words!r}", "of")
            span = (begun, begun + len(words))
        below = self._reading.texts(tag, "below")
        whole = self._reading.take(tag, "all_below", bool, "true or false", default=True)
        return SourceTag(self._reading.text(tag, origin), Origin(origin), span, below, whole)

    def _one(self, row: Table, kinds: Sequence[str], what: str) -> str:
        found = [kind for kind in kinds if kind in row]
        if not found:
            raise self._reading.wrong(row, f"{what} has one of {', '.join(kinds)}")
        # WHY the first key: a file has a `name`, and a call a `tool`, which is a role as well.
        return next(iter(row)) if next(iter(row)) in found else found[0]


def placed(message: Message, mapped: Callable[[str], str]) -> Message:
    """The message with the paths of its tags mapped; its words are left alone, since spans count their characters."""

    def tag(one: SourceTag) -> SourceTag:
        if one.origin not in (Origin.PATH, Origin.SUBTREE):
            return one
        return SourceTag(mapped(one.name), one.origin, one.span, tuple(map(mapped, one.below)), one.all_below)

    def part(one: Any) -> Any:
        fields: Mapping[str, Any] = {name: getattr(one, name) for name in one.__dataclass_fields__}
        changed = {"tags": tuple(map(tag, one.tags))}
        if isinstance(one, Result):
            changed["content"] = tuple(map(part, one.content))
        return type(one)(**{**fields, **changed})

    return Message(message.role, tuple(map(part, message.parts)), message.id, message.model, message.extra)
