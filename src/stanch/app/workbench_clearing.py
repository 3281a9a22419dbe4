"""Workbenches of sessions that have ended, removed once they have lain for a while.

Settles when one is looked for, and that of several processes one removes it. Does not settle when one goes
(`delivery.workbench`), nor how it is removed (`app.workbenches`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from stanch.app.workbenches import Workbenches
from stanch.delivery.workbench import goes
from stanch.storage.rows import written_moment
from stanch.values.fault import Fault
from stanch.values.records import Actor, Broken, SessionRecord

_TICK_SECONDS = 600.0
_CLOCK = Actor("stanch", "clock")
_LOG = logging.getLogger(__name__)


class Clearing:
    """Removes the workbenches of ended sessions. One of each process may be at work.

    `after` is how long each stays, None while nothing removes any.
    """

    def __init__(self, workbenches: Workbenches, clock: Callable[[], datetime] | None = None) -> None:
        self._workbenches, self._now = workbenches, clock or (lambda: datetime.now(UTC))
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.after: timedelta | None = None

    def start(self, hours: int) -> None:
        """Begins to look for them now and then, in a thread of its own; 0 hours: none is ever removed."""
        if hours <= 0:
            return
        self.after = timedelta(hours=hours)
        self._thread = threading.Thread(target=self._run, name="stanch-workbenches", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends that. One that is being removed is finished by the next process. Safe to repeat."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def goes_at(self, session: SessionRecord) -> datetime | None:
        """When the session's workbench may be removed; None while nothing would remove it."""
        return None if self.after is None or session.ended_at is None else session.ended_at + self.after

    def clear_due(self, after: timedelta) -> list[str]:
        """Removes those whose sessions ended that long ago; gives the ids of these. Raises `StoreUnreadable`.

        One that cannot be removed is noted in the log, and keeps no other from it.
        """
        removed: list[str] = []
        for session in self._workbenches.sessions():
            if self._stopped.is_set():
                break
            # WHY: nobody can say of a row that cannot be read whether its session has ended.
            if isinstance(session, Broken) or session.ended_at is None:
                continue
            may_go = partial(goes, self._now() - session.ended_at, after)
            detail = {"session_ended_at": written_moment(session.ended_at)}
            try:
                if may_go(0) and self._workbenches.retire(session.id, goes=may_go, by=_CLOCK, detail=detail):
                    removed.append(session.id)
            except Fault as why:
                _LOG.warning("a workbench cannot be removed: %s", why)
        return removed

    def _run(self) -> None:
        while not self._stopped.is_set() and self.after is not None:
            try:
                self.clear_due(self.after)
            except Exception as why:  # whatever it was, it may be over the next time
                _LOG.warning("workbenches that are due cannot be looked for: %s", type(why).__name__)
            self._stopped.wait(_TICK_SECONDS)
