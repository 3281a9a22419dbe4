"""What happens in a turn while it happens, for whoever watches it in this process.

Settles that a slow watcher delays nobody, and learns that it missed something. Does not settle what is kept: whoever
comes late reads the stored messages.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MOST_WAITING = 1_000


class Kind(StrEnum):
    """What happened."""

    TEXT = "text"  # a model wrote some words more
    MESSAGE = "message"  # a message was stored
    CALL = "call"  # a call moved to another state
    QUESTION = "question"  # a person is asked something
    TURN = "turn"  # a turn began or ended
    NOTE = "note"  # a person is told something of the turn
    MISSED = "missed"  # this watcher was too slow for some of it


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened in a session."""

    session_id: str
    kind: Kind
    data: Mapping[str, Any] = field(repr=False)


class Live:
    """Tells watchers what happens. May be used from any thread and any event loop."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[_Watcher]] = {}
        self._lock = threading.Lock()

    def tell(self, session_id: str, kind: Kind, **data: Any) -> None:
        """Tells everybody who watches the session."""
        with self._lock:
            watchers = list(self._watchers.get(session_id, ()))
        for watcher in watchers:
            watcher.put(Happening(session_id, kind, data))

    @asynccontextmanager
    async def watch(self, session_id: str) -> AsyncIterator[AsyncIterator[Happening]]:
        """What happens in the session from now on."""
        watcher = _Watcher(session_id, asyncio.get_running_loop())
        with self._lock:
            self._watchers.setdefault(session_id, []).append(watcher)
        try:
            yield watcher.happenings()
        finally:
            with self._lock:
                left = self._watchers[session_id]
                left.remove(watcher)
                if not left:
                    del self._watchers[session_id]


class _Watcher:
    def __init__(self, session_id: str, loop: asyncio.AbstractEventLoop) -> None:
        self._session_id, self._loop = session_id, loop
        self._waiting: asyncio.Queue[Happening] = asyncio.Queue()

    def put(self, happening: Happening) -> None:
        try:
            self._loop.call_soon_threadsafe(self._put, happening)
        except RuntimeError:
            return  # WHY: its loop has ended, and whoever watched with it

    def _put(self, happening: Happening) -> None:
        if self._waiting.qsize() < MOST_WAITING:
            self._waiting.put_nowait(happening)
        elif self._waiting.qsize() == MOST_WAITING:
            self._waiting.put_nowait(Happening(self._session_id, Kind.MISSED, {}))

    async def happenings(self) -> AsyncIterator[Happening]:
        while True:
            yield await self._waiting.get()
