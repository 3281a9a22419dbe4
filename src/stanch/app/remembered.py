"""What was read from the store, for as long as the store is as it was.

Settles when an answer of the store may be given again without asking: until the next change that anybody makes, which
is heard of at once where it goes through this process, and within half a second where not. Does not settle what is
asked. INVARIANT: while nobody can tell whether the store changed, nothing is remembered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from stanch.storage.store import Store
from stanch.storage.watching import Watch
from stanch.values.fault import StoreUnreadable

MOST = 4_096
LONGEST_SECONDS = 5.0
"""WHY not for good: rows that were edited with a database client move no revision."""
Value = TypeVar("Value")


class Remembered:
    """Answers of one store by what was asked. Safe to use from any thread."""

    def __init__(self, store: Store, seconds: float = LONGEST_SECONDS) -> None:
        self._store, self._seconds = store, seconds
        self._known: dict[Hashable, tuple[int, float, Any]] = {}
        self._epoch = 0
        self._lock = threading.Lock()
        self._watch: Watch | None = None

    def get(self, key: Hashable, read: Callable[[], Value]) -> Value:
        """What is remembered under the key, else what `read` gives. Raises whatever that raises."""
        if not self._hears():
            return read()
        # WHY the store's own count: a change through this process counts before whoever made it goes on.
        changes = self._store.changes
        known, now = self._known.get(key), time.monotonic()
        if known is not None and known[0] == changes and now - known[1] < self._seconds:
            value: Value = known[2]
            return value
        epoch = self._epoch
        found = read()
        with self._lock:
            # WHY: a change that came while this was read would be forgotten with it.
            if epoch == self._epoch:
                if len(self._known) >= MOST:
                    self._known.clear()
                self._known[key] = changes, now, found
        return found

    def forget(self) -> None:
        """Gives nothing again that was read before."""
        with self._lock:
            self._epoch += 1
            self._known.clear()

    def close(self) -> None:
        """Stops listening. Safe to repeat."""
        if self._watch is not None:
            self._watch.stop()

    def _hears(self) -> bool:
        watch = self._watch
        if watch is not None and watch.running:
            return watch.problem is None
        with self._lock:
            if self._watch is None or not self._watch.running:
                try:
                    self._watch = self._store.watch(lambda _: self.forget())
                except StoreUnreadable:
                    return False
        self.forget()
        return True
