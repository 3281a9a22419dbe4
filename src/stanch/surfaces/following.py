"""What happens in one session, for whoever follows it: stored messages, words as a model writes them, calls, turns.

Settles the order in which it is told, and that no stored message is left out, whichever node added it. Does not settle
how it travels (`surfaces.http.live`, `surfaces.console.session_stream`) nor what is kept (`app.messages`).
INVARIANT: a turn is told to have ended only behind all of its messages.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from stanch.app.service import Service
from stanch.runtime.live import Happening, Kind
from stanch.values.fault import StoreUnreadable
from stanch.values.message import Role
from stanch.values.records import Broken
from stanch.values.turn import MessageRecord, TurnRecord, TurnState

LOOK_SECONDS = 2.0
"""How long something may go unheard that no watch tells of."""
STOP_SECONDS = 0.25
MOST_AT_ONCE = 100
MOST_TURNS = 10


class Told(NamedTuple):
    """One thing that happened: a stored message with its place, a turn as it stands, or what the runtime tells."""

    kind: Kind
    seq: int | None = None
    message: MessageRecord | Broken | None = None
    turn: TurnRecord | None = None
    data: Mapping[str, Any] | None = None


class _Looked(NamedTuple):
    turns: list[TurnRecord]
    messages: list[MessageRecord | Broken]


class Following:
    """Follows one session, from behind the message `after`. `is_over` says that nobody is to be told any more."""

    def __init__(self, service: Service, session_id: str, after: int, is_over: Callable[[], bool]) -> None:
        self._service, self._session_id, self._after, self._is_over = service, session_id, after, is_over
        self._rung = asyncio.Event()
        self._changed = True  # in the store, as far as anybody knows
        self._turns: dict[str, TurnState] = {}
        self._looked = False
        # So many more answers of a model were told as stored than as written: words of theirs are told no more.
        self._ahead = 0

    async def told(self) -> AsyncGenerator[Told | None, None]:
        """What happens; None from time to time, and after each change of the store, whomever it concerns.

        It ends once it `is_over`. Raises `StoreUnreadable`: whoever asks again from the last seq misses no message.
        """
        loop = asyncio.get_running_loop()

        def ring() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(self._ring)

        listening: list[Callable[[], None]] = []
        try:
            with suppress(StoreUnreadable):
                listening.append(await run_in_threadpool(self._service.messages.listen, ring))
                listening.append(await run_in_threadpool(self._service.overview.listen, ring))
            watching = self._service.agents.happenings.watch(self._session_id)
            async with watching as happenings, aclosing(self._all(happenings)) as told:
                async for one in told:
                    yield one
        finally:
            for forget in listening:
                forget()

    async def _all(self, happenings: AsyncIterator[Happening]) -> AsyncGenerator[Told | None, None]:
        coming = self._next(happenings)
        try:
            while not self._is_over():
                self._rung.clear()
                await asyncio.sleep(0)
                while coming.done():
                    happening = coming.result()
                    coming = self._next(happenings)
                    told = self._happened(happening)
                    if told is not None:
                        yield told
                    await asyncio.sleep(0)
                if self._changed:
                    self._changed = False
                    for told in self._kept(await run_in_threadpool(self._look)):
                        yield told
                    yield None
                if not self._changed:
                    await self._wait()
        finally:
            coming.cancel()

    def _ring(self) -> None:
        self._changed = True
        self._rung.set()

    def _next(self, happenings: AsyncIterator[Happening]) -> asyncio.Task[Happening]:
        async def one() -> Happening:
            return await anext(happenings)

        task = asyncio.create_task(one())
        task.add_done_callback(lambda _: self._rung.set())
        return task

    def _happened(self, happening: Happening) -> Told | None:
        """What is told of a happening at once. What is stored of it is told from the store."""
        self._changed = self._changed or happening.kind is not Kind.TEXT
        match happening.kind:
            case Kind.TEXT:
                return None if self._ahead > 0 else Told(Kind.TEXT, data=happening.data)
            case Kind.MESSAGE:
                self._ahead -= 1
                return None
            case Kind.TURN:
                self._ahead = 0
                return None
            case _:
                return Told(happening.kind, data=happening.data)

    def _look(self) -> _Looked:
        """The newest turns, and then the messages behind the last one that was told. WHY in this order: see above."""
        turns = self._service.turn_log.list(self._session_id, limit=MOST_TURNS).items
        messages = self._service.messages.list(self._session_id, after_seq=self._after, limit=MOST_AT_ONCE).items
        return _Looked([one for one in reversed(turns) if not isinstance(one, Broken)], list(messages))

    def _kept(self, looked: _Looked) -> list[Told]:
        told = []
        for message in looked.messages:
            self._after = self._after + 1 if isinstance(message, Broken) else message.seq
            told.append(Told(Kind.MESSAGE, self._after, message))
            if not isinstance(message, Broken) and message.message.role is Role.ASSISTANT:
                self._ahead += self._looked
        if len(looked.messages) < MOST_AT_ONCE:  # else some of a turn's messages may be still to come
            turns = looked.turns if self._looked else looked.turns[-1:]
            told += [Told(Kind.TURN, turn=turn) for turn in turns if self._turns.get(turn.id) is not turn.state]
            self._turns = {turn.id: turn.state for turn in looked.turns}
            self._looked = True
        else:
            self._changed = True
        return told

    async def _wait(self) -> None:
        """Returns once there may be something to tell, or it is over."""
        end = time.monotonic() + LOOK_SECONDS
        while not self._rung.is_set() and not self._is_over() and time.monotonic() < end:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._rung.wait(), STOP_SECONDS)
        self._changed = self._changed or time.monotonic() >= end


def last_seq(service: Service, session_id: str) -> int:
    """The place of the session's newest message, 0 where it has none. Raises `NotFound`."""
    return service.messages.list(session_id, limit=1).total
