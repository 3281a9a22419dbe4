"""One item of stored content on its way out: what it is, what is known of it, in which shape it leaves.

Settles the records. Does not settle which items are admitted (`delivery.admit`, `delivery.gates`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any, TypeAlias

from stanch.provenance.states import Cause, Exact, Provenance, Unknown


class Kind(StrEnum):
    """What an item is."""

    FILE = "file"
    VERSION = "version"
    RUN = "run"
    RUN_FILE = "run_file"
    DOCUMENT = "document"
    CHUNK = "chunk"
    TABLE = "table"
    ROW = "row"
    LINK = "link"
    RESULT = "result"


class State(StrEnum):
    """What is known of an item, in a word."""

    UNKNOWN = "unknown"
    EXACT = "exact"
    UNRECORDED = "unrecorded"


@dataclass(frozen=True, slots=True)
class Complete:
    """A text of which every part may appear."""


@dataclass(frozen=True, slots=True)
class Derived:
    """Something that was computed from the item: only secrets that occur in it count. `value` is JSON-like."""

    value: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Bytes that nothing can be taken out of: binary, base64, an archive, an image, a public link."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text that somebody has cut already, at whose ends a part of a secret may stand unseen."""


View: TypeAlias = Complete | Derived | Opaque | Excerpt
COMPLETE, OPAQUE, EXCERPT = Complete(), Opaque(), Excerpt()
Known: TypeAlias = Callable[[], Provenance]
"""Says what is known of an item. It is called only where somebody has to know."""


@dataclass(frozen=True, slots=True)
class Source:
    """One item, as it leaves.

    `id` tells it from others of its kind, and is a name that may be shown. `path` is its place in the workspace, as a
    canonical path, None for an item that has none; a trust tier may close it. `whole`: all of it is replaced where it
    carries a secret, so that one which is too short to be found in a text does no harm. `version` tells what it is now
    from what it was before, None where nothing does.
    """

    kind: Kind
    id: str
    provenance: Known = field(repr=False)
    view: View = COMPLETE
    path: str | None = None
    whole: bool = False
    version: str | None = None


class Batch:
    """What is known of several items, read together when the first is asked about."""

    __slots__ = ("_found", "_lock", "_read")

    def __init__(self, read: Callable[[], Mapping[str, Provenance]]) -> None:
        self._read, self._lock = read, Lock()
        self._found: Mapping[str, Provenance] | None = None

    def of(self, item: str) -> Known:
        """What is known of one of them. An item of which the read says nothing is of an unknown source."""

        def known() -> Provenance:
            with self._lock:
                if self._found is None:
                    self._found = self._read()
            return self._found.get(item, Unknown(Cause.SOURCE_UNKNOWN))

        return known


def known(provenance: Provenance) -> Known:
    """What is known already."""
    return lambda: provenance


def in_words(provenance: Provenance) -> tuple[State, tuple[str, ...]]:
    """What is known of an item in a word, and the names of the secrets in it, in their order."""
    match provenance:
        case Exact(entries):
            return State.EXACT, tuple(sorted({entry.name for entry in entries}))
        case Unknown():
            return State.UNKNOWN, ()
        case _:
            return State.UNRECORDED, ()
