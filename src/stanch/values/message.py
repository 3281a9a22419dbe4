"""A conversation as it is kept: messages made of parts, and marks that say where a piece of a part came from.

Settles the records. Does not settle how other programs spell them (`tiers.dialects`), where a mark comes from
(`tiers.tags`), nor what another model may see of them (`tiers.history`).
INVARIANT: nothing here is ever changed; whoever sends a message in another shape makes another message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias

NOTHING: Mapping[str, Any] = MappingProxyType({})


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
    extra: Mapping[str, Any] = field(default=NOTHING, repr=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model thought. `signature` is its provider's proof of it, which holds for these very words."""

    text: str = field(repr=False)
    signature: str | None = field(default=None, repr=False)
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default=NOTHING, repr=False)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of what a system says to a model, by its `name`: a context file, an addition of the session."""

    text: str = field(repr=False)
    name: str = ""
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default=NOTHING, repr=False)


@dataclass(frozen=True, slots=True)
class File:
    """An image or another file: its bytes as base64 in `data`, or where it can be had."""

    media_type: str
    data: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    name: str | None = None
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default=NOTHING, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a model. `arguments` are a text where the model wrote what is no JSON object."""

    id: str
    tool: str
    arguments: Mapping[str, Any] | str = field(repr=False)
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default=NOTHING, repr=False)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back for the call of that id. Spans of `tags` are characters of its texts, one after another."""

    call_id: str
    content: tuple[Text | File | Opaque, ...]
    tool: str = ""
    failed: bool = False
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default=NOTHING, repr=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block of a kind that Stanch does not know, as it came."""

    kind: str
    data: Mapping[str, Any] = field(repr=False)
    tags: Tags = ()
    extra: Mapping[str, Any] = field(default=NOTHING, repr=False)


Part: TypeAlias = Text | Reasoning | Fragment | File | Call | Result | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `id` is its keeper's, empty where nobody keeps it. `model` made it, as `provider/model`."""

    role: Role
    parts: tuple[Part, ...]
    id: str = ""
    model: str | None = None
    extra: Mapping[str, Any] = field(default=NOTHING, repr=False)


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
]
