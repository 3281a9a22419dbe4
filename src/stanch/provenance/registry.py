"""The secrets that one egress has to take out of what it lets through.

Settles which items may pass, whole or not at all, and what is known of a value that was written on this side of the
egress. Does not settle how a secret is taken out (`secrets.projection`), nor which items there are (`delivery`).
INVARIANT: an item that is refused leaves the registry as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from enum import StrEnum

from stanch.provenance.envelope import MOST_BYTES, MOST_ENTRIES
from stanch.provenance.states import Cause, Entry, Exact, Provenance, Unknown
from stanch.secrets.telling import is_short, size_of


class Refused(StrEnum):
    """Why an item does not pass."""

    UNKNOWN = "provenance_unknown"
    FULL = "registry_full"
    LATCHED = "registry_latched"
    TOO_SHORT = "secret_too_short"  # one of its secrets is too short to be found in a text


class Registry:
    """The active secrets of one egress. Safe to use from any thread.

    `entries` are all of them, in the order in which they became active. A registry that is `latched` lets nothing
    through any more, and vouches for nothing.
    """

    def __init__(self, *, most_entries: int = MOST_ENTRIES, most_bytes: int = MOST_BYTES) -> None:
        self._most_entries, self._most_bytes = most_entries, most_bytes
        self._entries: dict[Entry, None] = {}
        self._bytes = 0
        self._latched: Cause | None = None
        self._incomplete = False
        self._lock = threading.Lock()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every active secret."""
        with self._lock:
            return tuple(self._entries)

    @property
    def latched(self) -> Cause | None:
        """Why nothing passes any more; None while something does."""
        return self._latched

    @property
    def is_complete(self) -> bool:
        """True while the registry knows every secret that was resolved on this side."""
        return not self._incomplete and self._latched is None

    def activate(self, entry: Entry) -> Refused | None:
        """Takes a secret whose value was resolved here. Where it does not fit, the registry is complete no more."""
        with self._lock:
            if self._fits((entry,)):
                self._take((entry,))
                return None
            self._incomplete = True
            return Refused.FULL

    def admit(self, provenance: Provenance, *, cell: bool = False, taints: bool = False) -> Refused | None:
        """Takes all secrets of an item, so that it may pass; where it may not, takes none, and says why.

        `cell`: all of it is replaced where it carries a secret, so that one may be too short to be found in a text.
        `taints`: an item of which nobody can say what it carries passes, and nothing after it does.
        """
        with self._lock:
            if self._latched is not None:
                return Refused.LATCHED
            if isinstance(provenance, Unknown):
                if not taints:
                    return Refused.UNKNOWN
                self._latched = provenance.cause
                return None
            if not isinstance(provenance, Exact):
                return None
            if not cell and any(is_short(entry.secret) for entry in provenance.entries):
                return Refused.TOO_SHORT
            if not self._fits(provenance.entries):
                return Refused.FULL
            self._take(sorted(provenance.entries, key=lambda entry: (entry.name, entry.scope.user or "")))
            return None

    def latch(self, cause: Cause) -> None:
        """Lets nothing through from now on."""
        with self._lock:
            self._latched = self._latched or cause

    def export(self, found: Collection[str], sources: Iterable[Provenance] = ()) -> Provenance:
        """What is known of a value that was written here, in which active secrets of the names `found` occur.

        `sources` are items that it was made of and that this registry did not admit.
        """
        with self._lock:
            if self._latched is not None:
                return Unknown(self._latched)
            if self._incomplete:
                return Unknown(Cause.INCOMPLETE)
            entries = frozenset(entry for entry in self._entries if entry.name in found)
        unknown = next((source for source in sources if isinstance(source, Unknown)), None)
        return Unknown(Cause.SOURCE_UNKNOWN) if unknown is not None else Exact(entries)

    def _fits(self, entries: Collection[Entry]) -> bool:
        new = [entry for entry in entries if entry not in self._entries]
        weight = sum(size_of(entry.secret) for entry in new)
        return len(self._entries) + len(new) <= self._most_entries and self._bytes + weight <= self._most_bytes

    def _take(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if entry not in self._entries:
                self._entries[entry] = None
                self._bytes += size_of(entry.secret)
