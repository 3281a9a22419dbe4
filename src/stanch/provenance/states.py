"""What is known of the secrets in a stored item: nothing ever recorded, an exact set, or unknown for a stated cause.

Settles the records, and how the knowledge of several sources becomes that of what is made of them. Does not settle how
it is kept (`provenance.envelope`), nor what it admits (`provenance.registry`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import NamedTuple, TypeAlias

from stanch.secrets.telling import mark_of
from stanch.secrets.text import Secret


class Cause(StrEnum):
    """Why nobody can say what an item carries. Of several, the one that stands first here is told."""

    KEY_GONE = "key_gone"
    TAMPERED = "tampered"
    VERSION_MISMATCH = "version_mismatch"
    SCOPE_MISMATCH = "scope_mismatch"
    OVER_LIMIT = "over_limit"
    REWRITTEN = "rewritten"  # the type of a column changed a text that held a secret
    INCOMPLETE = "incomplete"  # its writer could not vouch for all secrets that were active
    SOURCE_UNKNOWN = "source_unknown"


class Scope(NamedTuple):
    """Whose secret it is: a user's, by their id, or the workspace's, which has none."""

    user: str | None = None

    def __str__(self) -> str:
        return "workspace" if self.user is None else f"user:{self.user}"


WORKSPACE = Scope()


@dataclass(frozen=True, slots=True)
class Entry:
    """A secret that occurs in an item. Two are equal that have a name, a scope and the same text."""

    name: str
    scope: Scope
    secret: Secret = field(compare=False)
    mark: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mark", mark_of(self.secret))


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """Nobody kept provenance: a person's own upload, an item from before."""


@dataclass(frozen=True, slots=True)
class Exact:
    """Whoever wrote it knew every active secret, and these occur in it; perhaps none."""

    entries: frozenset[Entry] = frozenset()


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can say what it carries."""

    cause: Cause


Provenance: TypeAlias = Unrecorded | Exact | Unknown
UNRECORDED, CLEAN = Unrecorded(), Exact()
_ORDER = {cause: place for place, cause in enumerate(Cause)}


def merged(sources: Iterable[Provenance]) -> Provenance:
    """What is known of something made of these: unknown where one is, else every entry of any.

    In whatever order, and however often, the same sources are merged, the same comes out. A source of which nothing was
    recorded adds nothing that is known; nothing but such sources, or no source at all, is unrecorded.
    """
    start: Provenance = UNRECORDED
    return reduce(_joined, sources, start)


def derived(sources: Iterable[Provenance], names: Collection[str]) -> Provenance:
    """What is known of a value made of the sources in which only secrets of these names occur."""
    found = merged(sources)
    if isinstance(found, Exact):
        return Exact(frozenset(entry for entry in found.entries if entry.name in names))
    return found


def _joined(one: Provenance, other: Provenance) -> Provenance:
    if isinstance(one, Unknown) and isinstance(other, Unknown):
        return one if _ORDER[one.cause] <= _ORDER[other.cause] else other
    if isinstance(one, Unknown) or isinstance(other, Unrecorded):
        return one
    if isinstance(other, Unknown) or isinstance(one, Unrecorded):
        return other
    return Exact(one.entries | other.entries)
