"""Waiting within an event loop: for a change of the store, and for what a thread has begun.

Settles that whoever waits wakes at the next change, and looks for himself what it was; and that nobody who is cancelled
leaves behind what he did not know of. Does not settle how a change is heard of (`storage.watching`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Made = TypeVar("Made")
_UNDOING: set[asyncio.Future[None]] = set()
"""Keeps what nobody waits for any more until it is done."""

Listen = Callable[[Callable[[], None]], Callable[[], None]]
"""Has a function called, from some thread, after any change; what it gives ends that."""


class Bell:
    """Wakes whoever waits for a change. Made and used within one event loop."""

    def __init__(self, listen: Listen) -> None:
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()
        self.is_open = True
        self._stop = listen(self._ring)

    def _ring(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            return  # WHY: the loop has ended

    def _wake(self) -> None:
        self._rung.set()
        self._rung = asyncio.Event()

    async def wait(self, most: float = 1.0) -> None:
        """Returns after the next change, or after `most` seconds: a change may have come just before."""
        rung = self._rung
        try:
            await asyncio.wait_for(rung.wait(), most)
        except TimeoutError:
            return

    def shut(self) -> None:
        """Says that the process is about to end: whoever is interrupted now is to be gone on with later."""
        self.is_open = False

    def close(self) -> None:
        """Ends the listening."""
        self._stop()


async def whole(making: Coroutine[Any, Any, Made], undo: Callable[[Made], Coroutine[Any, Any, None]]) -> Made:
    """What is made; where whoever waits is cancelled meanwhile it is made to its end, undone, and then that is raised.

    WHY: a thread cannot be cancelled. What it stores after nobody waits for it any more would stay there for good.
    """
    task = asyncio.ensure_future(making)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        # WHY a task of its own: whoever waits may be cancelled once more before that is done.
        undoing = asyncio.ensure_future(_undone(task, undo))
        _UNDOING.add(undoing)
        undoing.add_done_callback(_UNDOING.discard)
        await asyncio.shield(undoing)
        raise


async def _undone(task: asyncio.Future[Made], undo: Callable[[Made], Coroutine[Any, Any, None]]) -> None:
    await asyncio.wait({task})
    if not task.cancelled() and task.exception() is None:
        await undo(task.result())
