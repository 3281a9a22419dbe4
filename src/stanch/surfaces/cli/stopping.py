"""How a server is told to stop.

Settles what a signal does. Does not settle how long what is under way may take (`listening`).
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import Protocol


class Stoppable(Protocol):
    """A server that ends soon after `should_exit` was set."""

    should_exit: bool


class Stopping:
    """What a signal to stop does: while the server starts, it ends the start; later, it ends the server in good order.

    WHY: the server's library hands each signal on once it has stopped. That would end the process with an error.
    """

    def __init__(self) -> None:
        self.server: Stoppable | None = None

    def listen(self) -> None:
        """Takes the signals from now on."""
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, self._stop)

    def _stop(self, _: int, __: FrameType | None) -> None:
        if self.server is None:
            raise SystemExit(0)
        self.server.should_exit = True
