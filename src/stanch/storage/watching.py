"""Hearing of changes that others made.

Settles how a change reaches a listener, and how long it may take. Does not settle what the listener then reads.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType

from stanch.values.fault import StoreUnreadable

_PATIENCE = 30.0
_LOG = logging.getLogger(__name__)


class Watch:
    """A running watch. It stops on `stop`, at the end of a `with` block, and when its store is closed."""

    def __init__(self, read: Callable[[], int], callback: Callable[[int], None], interval: float) -> None:
        self._read, self._callback, self._interval = read, callback, interval
        self._last = read()
        self._bell = threading.Event()
        self._stopped = threading.Event()
        self._problem: str | None = None
        self._endings: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name="stanch-watch", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str | None:
        """What keeps the watch from knowing or telling the revision, in a few words; None while nothing does."""
        return self._problem

    @property
    def running(self) -> bool:
        """False once the watch was stopped."""
        return not self._stopped.is_set()

    def ring(self) -> None:
        """Makes the watch look at once."""
        self._bell.set()

    def at_end(self, ending: Callable[[], None]) -> None:
        """Has `ending` called when the watch stops."""
        self._endings.append(ending)

    def stop(self) -> None:
        """Ends the watch: no call begins after this has returned. Safe to repeat, and from within the callback."""
        self._stopped.set()
        self._bell.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)
        while self._endings:
            self._endings.pop()()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._bell.wait(self._interval)
            self._bell.clear()
            if not self._stopped.is_set():
                self._look()

    def _look(self) -> None:
        try:
            revision = self._read()
        except StoreUnreadable as why:
            self._problem = str(why)
            return
        # WHY: not only a higher one: a store put back from a copy is a change too.
        if revision == self._last:
            self._problem = None
            return
        try:
            self._callback(revision)
        except Exception as error:  # the listener is somebody else's code; it is told again the next time
            self._problem = f"the listener failed with {type(error).__name__}"
            _LOG.error("a listener to the store failed with %s", type(error).__name__)
        else:
            self._last, self._problem = revision, None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
