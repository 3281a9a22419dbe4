"""This process as others that share its store know it.

Settles that a process says it is alive, and that what one left behind that no longer says so is cleared up. Does not
settle what becomes of a call that was running (`gate.approval`).
"""

from __future__ import annotations

import secrets
import threading
from datetime import timedelta

from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable

BEAT_SECONDS = 2.0
GONE_SECONDS = 15.0


class Node:
    """One process that serves a store. `alone`: no other process may serve it at the same time."""

    def __init__(self, store: Store, *, alone: bool, beat: float = BEAT_SECONDS, gone: float = GONE_SECONDS) -> None:
        self.id = secrets.token_hex(8)
        self._store, self._alone = store, alone
        self._beat, self._gone = beat, timedelta(seconds=gone)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._cleared = False

    def start(self) -> None:
        """Says that this process is there, and clears up after those that are not."""
        self._store.add_node(self.id)
        self.clear_up()
        self.go_on()

    def go_on(self) -> None:
        """Goes on saying that this process is there, until it stops."""
        self._thread = threading.Thread(target=self._run, name="stanch-node", daemon=True)
        self._thread.start()

    def clear_up(self) -> None:
        """Ends what processes that are gone had under way: their calls are interrupted, their bypasses over."""
        for node in self._store.list_gone_nodes(None if self._alone else self._gone, but=self.id):
            self._store.end_node(node)
        self._cleared = True

    def stop(self) -> None:
        """Says that this process goes, which ends what it had under way. Safe to repeat."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None
            try:
                self._store.end_node(self.id)
            except StoreUnreadable:
                return  # WHY: another process, or the next start, clears up

    def _run(self) -> None:
        while not self._stopped.wait(self._beat):
            try:
                self._store.see_node(self.id)
                if not self._alone or not self._cleared:
                    self.clear_up()
                self._store.expire_due()
            except StoreUnreadable:
                continue  # WHY: the store may be back at the next beat
