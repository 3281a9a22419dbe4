"""What is known of stored items, as it is written beside them and read again.

Settles that what cannot be sealed is unknown later, and whose secrets an item may carry. Does not settle the envelope
(`provenance.envelope`), nor where keys come from.
INVARIANT: `reads` counts every envelope that was opened, so that a test can tell that none was.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from stanch.provenance.envelope import sealed, unsealed
from stanch.provenance.states import UNRECORDED, WORKSPACE, Cause, Provenance, Scope, Unknown, Unrecorded
from stanch.secrets.sealing import KeyRing, Place

UNSEALED = "unsealed"
"""Stands beside an item whose provenance could not be sealed, since there was no key. It opens nowhere."""


class Seals:
    """Writes and reads the provenance of items. Safe to use from any thread."""

    def __init__(self, ring: Callable[[], KeyRing | None]) -> None:
        self._ring = ring
        self.reads = 0

    def kept(self, provenance: Provenance, place: Place, version: str) -> str | None:
        """What is kept beside an item of this version; None for what is unrecorded."""
        ring = self._ring()
        if ring is None:
            return None if isinstance(provenance, Unrecorded) else UNSEALED
        return sealed(provenance, ring, place, version)

    def closed(self, words: str, place: Place) -> str | None:
        """The words as nobody else can read them, for an address; None where there is no key."""
        ring = self._ring()
        return None if ring is None else ring.close(words, place)

    def reopened(self, closed: str, place: Place) -> str | None:
        """The words that were closed for this place; None where they were not."""
        ring = self._ring()
        return None if ring is None else ring.reopen(closed, place)

    def known(self, kept: str | None, place: Place, version: str, *, owner: str | None = None) -> Provenance:
        """What is known of the item that is now of this version. It never raises.

        An item with an `owner` may carry the secrets of that user and of the workspace, any other those of all users.
        """
        self.reads += 1
        if kept is None:
            return UNRECORDED
        ring = self._ring()
        if ring is None or kept == UNSEALED:
            return Unknown(Cause.KEY_GONE)
        scopes: Container[Scope] | None = None if owner is None else (WORKSPACE, Scope(owner))
        return unsealed(kept, ring, place, version, scopes=scopes)
