"""A conversation as it is kept: messages made of parts, and marks that say where a piece of a part came from.

Settles the records. Does not settle how other programs spell them (`tiers.dialects`), where a mark comes from
(`tiers.tags`), nor what another model may see of them (`tiers.history`).
INVARIANT: nothing here is ever changed; whoever sends a message in another shape makes another message.
A message knows its marks: one text for each thing that a filter has to look up before it lets the message pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

NOTHING: Mapping[str, Any] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    """WHY a function: Python 3.11 takes a mapping that is to be read only for one that may change."""
    return NOTHING


class Role(StrEnum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Origin(StrEnum):
    """What a source tag names."""

    PATH = "path"
    SUBTREE = "subtree"  # a directory and whatever lies below it: nobody knows which of it was read
    ITEM = "item"  # an item of a store, which may have no path
    UNKNOWN = "unknown"  # a path as it was written, which nobody can read against a directory


@dataclass(frozen=True, slots=True)
class SourceTag:
    """Where a part of a message came from, or the piece of it between two characters (`span`, its end not in it).

    `name` is the canonical path at the time of the read, the item's name, or the path as it was written. `below` are
    paths inside of a subtree that existed then and that a tier of then closed; `all_below` is false where nobody could
    look at all of it.
    """

    name: str
    origin: Origin = Origin.PATH
    span: tuple[int, int] | None = None
    below: tuple[str, ...] = ()
    all_below: bool = True


Tags: TypeAlias = tuple[SourceTag, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """Words. `extra` holds what their writer's own format says of them besides, here and in all other parts."""

    text: str = field(repr=False)
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default_factory=_nothing, repr=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model thought. `signature` is its provider's proof of it, which holds for these very words."""

    text: str = field(repr=False)
    signature: str | None = field(default=None, repr=False)
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default_factory=_nothing, repr=False)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of what a system says to a model, by its `name`: a context file, an addition of the session."""

    text: str = field(repr=False)
    name: str = ""
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default_factory=_nothing, repr=False)


@dataclass(frozen=True, slots=True)
class File:
    """An image or another file: its bytes as base64 in `data`, or where it can be had."""

    media_type: str
    data: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    name: str | None = None
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default_factory=_nothing, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a model. `arguments` are a text where the model wrote what is no JSON object."""

    id: str
    tool: str
    arguments: Mapping[str, Any] | str = field(repr=False)
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default_factory=_nothing, repr=False)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back for the call of that id. Spans of `tags` are characters of its texts, one after another."""

    call_id: str
    content: tuple[Text | File | Opaque, ...]
    tool: str = ""
    failed: bool = False
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default_factory=_nothing, repr=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block of a kind that Stanch does not know, as it came."""

    kind: str
    data: Mapping[str, Any] = field(repr=False)
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default_factory=_nothing, repr=False)


Part: TypeAlias = Text | Reasoning | Fragment | File | Call | Result | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `id` is its keeper's, empty where nobody keeps it. `model` made it, as `provider/model`.

    Two things are worked out from the rest. `marks`: see `mark_of` and `signer_mark`. `plain` is `Text` or `Result`
    where it is one of these, with nothing besides, and its marks are the names of its tags, each on all of it.
    """

    role: Role
    parts: tuple[Part, ...]
    id: str = ""
    model: str | None = None
    extra: Mapping[str, Any] = field(default_factory=_nothing, repr=False)
    marks: frozenset[str] = field(init=False, repr=False, compare=False)
    plain: type[Text | Result] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", _marks(self.parts, self.model))
        kind = _plain(self.parts[0]) if len(self.parts) == 1 and not self.extra else None
        object.__setattr__(self, "plain", kind)


def mark_of(tag: SourceTag) -> str:
    """A text that two tags share only where whoever may see the one may see the other; the span does not count."""
    name = tag.name
    if tag.origin is Origin.PATH and name.startswith("/"):
        return name
    return repr((tag.origin.value, name, tag.below, tag.all_below))


def signer_mark(model: str | None) -> str:
    """The mark of a message that holds reasoning which only its signer can verify. It is the mark of no tag."""
    return f"signed {model or ''}"


def is_signed(part: Reasoning) -> bool:
    """True for reasoning that comes with a proof, or that its provider keeps under an id."""
    return part.signature is not None or bool(part.extra.get("id"))


def _plain(part: Part) -> type[Text | Result] | None:
    if part.extra or not isinstance(part, (Text, Result)):
        return None
    if isinstance(part, Result) and not all(isinstance(one, Text) and not one.tags for one in part.content):
        return None
    whole = all(tag.span is None and tag.origin is Origin.PATH and tag.name[:1] == "/" for tag in part.tags)
    return type(part) if whole else None


def _marks(parts: tuple[Part, ...], model: str | None) -> frozenset[str]:
    found: list[str] = []
    for part in parts:
        if part.tags:
            found += map(mark_of, part.tags)
        if isinstance(part, Result):
            found += [mark_of(tag) for one in part.content if one.tags for tag in one.tags]
        elif isinstance(part, Reasoning) and is_signed(part):
            found.append(signer_mark(model))
    # WHY one set for many messages: a filter goes through all of them, and what it has just seen is quick to reach.
    return _one(found[0]) if len(found) == 1 else frozenset(found)


class _Draft:
    """A message that is being made: the slots of `Message`, before they can no longer be set.

    WHY: to set seven slots of a frozen class takes three times as long, and a filter makes many messages at once.
    """

    __slots__ = ("extra", "id", "marks", "model", "parts", "plain", "role")


class _ResultDraft:
    __slots__ = ("call_id", "content", "extra", "failed", "tags", "tool")


class _TextDraft:
    __slots__ = ("extra", "tags", "text")


_NO_MARKS: frozenset[str] = frozenset()


def bare(message: Message, part: tuple[Text] | tuple[Result]) -> Message:
    """The plain message with another part of the same kind, without a tag in it, and with nothing besides."""
    made: Any = _Draft()
    made.role = message.role
    made.parts = part
    made.id = message.id
    made.model = message.model
    made.extra = NOTHING
    made.marks = _NO_MARKS
    made.plain = message.plain
    made.__class__ = Message
    done: Message = made
    return done


def bare_result(result: Result, content: tuple[Text | File | Opaque, ...]) -> Result:
    """The result with another content, no tags, and nothing besides."""
    made: Any = _ResultDraft()
    made.call_id = result.call_id
    made.content = content
    made.tool = result.tool
    made.failed = result.failed
    made.tags = ()
    made.extra = NOTHING
    made.__class__ = Result
    done: Result = made
    return done


def bare_text(text: str) -> Text:
    """A text without tags, and with nothing besides."""
    made: Any = _TextDraft()
    made.text = text
    made.tags = ()
    made.extra = NOTHING
    made.__class__ = Text
    done: Text = made
    return done


@lru_cache(maxsize=1 << 14)
def _one(mark: str) -> frozenset[str]:
    return frozenset((mark,))


__all__ = [
    "NOTHING",
    "Call",
    "File",
    "Fragment",
    "Message",
    "Opaque",
    "Origin",
    "Part",
    "Reasoning",
    "Result",
    "Role",
    "SourceTag",
    "Tags",
    "Text",
    "bare",
    "bare_result",
    "bare_text",
    "is_signed",
    "mark_of",
    "signer_mark",
]
