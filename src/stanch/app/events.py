"""What happens to calls, approvals, questions, bypasses and sessions, as it happens.

Settles which audit rows are events, and that a listener who says where he stopped misses none. Does not settle how they
travel (`surfaces.http`).
"""

from __future__ import annotations

from collections.abc import Callable

from stanch.storage.store import Store
from stanch.values.records import AuditRecord, Broken

KINDS = ("call", "approval", "clarification", "bypass", "session", "turn", "tier")


class Events:
    """The events of a store, whichever node made them. `listen` calls back after each change, until told to stop."""

    def __init__(self, store: Store, listen: Callable[[Callable[[], None]], Callable[[], None]]) -> None:
        self._store, self.listen = store, listen
        self._closed = False

    @property
    def closed(self) -> bool:
        """True once no further events are told."""
        return self._closed

    def last(self) -> int:
        """The seq of the newest row of the log. Whoever starts there is told what happens from now on."""
        return self._store.last_event()

    def after(self, seq: int) -> list[AuditRecord | Broken]:
        """The next events behind this row, oldest first, not without end; nothing where there are none."""
        return self._store.list_events(seq, KINDS)

    def close(self) -> None:
        """Says that it is over. Safe to repeat."""
        self._closed = True
