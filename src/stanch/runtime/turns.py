"""The turns of sessions that this process drives: begun, stopped, gone on with after a restart.

Settles that a session has one turn at a time, that every turn comes to an end that is stored, and that a turn whose
process died is taken up by another. Does not settle what happens within one (`runtime.driving`).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol

from anyio.to_thread import run_sync

from stanch.runtime.calling import Calling, Slow, limiter
from stanch.runtime.conversation import Conversation
from stanch.runtime.driving import Failed, Parts, drive
from stanch.runtime.live import Kind, Live
from stanch.runtime.models import Models
from stanch.runtime.ports import Gate, Log, Settings, Sight, Surroundings
from stanch.runtime.tool import Builtin
from stanch.runtime.toolset import Described, GatedToolset
from stanch.runtime.waiting import Bell
from stanch.values.fault import Conflict, Fault
from stanch.values.message import Message
from stanch.values.records import Actor
from stanch.values.turn import TurnProblem, TurnRecord, TurnState

_LOG = logging.getLogger(__name__)
CLAIM_SECONDS = 2.0
_PATIENCE = 10.0


class Keeper(Protocol):
    """Keeps turns."""

    def begin(self, session_id: str, message: Message, by: Actor) -> TurnRecord:
        """The new turn, its first message stored with it. Raises `Conflict` where one is under way."""

    def end(self, turn_id: str, state: TurnState, problem: TurnProblem | None = None) -> TurnRecord:
        """The turn, ended; as it is where it has ended before."""

    def get(self, turn_id: str) -> TurnRecord:
        """The turn."""

    def running(self) -> frozenset[str]:
        """The ids of the turns that are under way in this process."""

    def claim(self) -> list[TurnRecord]:
        """Turns whose process is gone, which are this one's from now on."""

    def is_subagent(self, session_id: str) -> bool:
        """True for a session that another one's call opened."""


class Turns:
    """Drives turns, in an event loop and a thread of its own. Its methods may be called from any thread."""

    def __init__(
        self,
        *,
        gate: Gate,
        log: Log,
        keeper: Keeper,
        settings: Settings,
        sight: Sight,
        models: Models,
        model_of: Callable[[str], Any],
        live: Live,
        surroundings: Surroundings,
        tell: Callable[[str], str] = lambda words: words,
    ) -> None:
        """`tell` makes of the words of a refusal, or of a failure, what may be kept of them; it raises nothing."""
        self._gate, self._log, self._keeper, self._settings = gate, log, keeper, settings
        self._sight, self._models, self._model_of, self.live = sight, models, model_of, live
        self._words, self._surroundings = tell, surroundings
        self._tools: dict[str, Builtin | Slow] = {}
        self._described: dict[str, Described] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stanch-turns", daemon=True)
        self._bell: Bell | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    def bell(self) -> Bell:
        """What wakes whoever waits within the loop of the turns. There once `start` has been called."""
        assert self._bell is not None
        return self._bell

    def add(self, tool: Builtin | Slow, described: Described) -> None:
        """Adds a tool. To be called before `start`."""
        self._tools[tool.name], self._described[tool.name] = tool, described

    def start(self) -> None:
        """Begins to drive turns, those first that a process left behind that is gone."""
        self._thread.start()
        self._within(self._open()).result(_PATIENCE)

    def begin(self, session_id: str, message: Message, by: Actor) -> TurnRecord:
        """The new turn of the session, which is driven from now on. Raises `NotFound`, and `Conflict`."""
        if self._closed:
            raise Conflict("this process is about to end")
        self._settings.of(session_id)  # WHY: what cannot work at all is refused before anything is stored
        turn = self._keeper.begin(session_id, message, by)
        self._within(self._spawn(turn)).result(_PATIENCE)
        return turn

    def stop(self, turn_id: str) -> None:
        """Ends whatever the turn has under way here; the turn itself, if it has not ended yet."""
        self._keeper.end(turn_id, TurnState.STOPPED)
        self._within(self._cancel(turn_id)).result(_PATIENCE)

    def wait(self, turn_id: str, seconds: float | None = None) -> TurnRecord:
        """The turn, once it has ended, or as it is when the time is up."""
        self._within(self._ended(turn_id, seconds)).result()
        return self._keeper.get(turn_id)

    def close(self) -> None:
        """Ends driving. Turns that are under way stay so, for the next process to go on with. Safe to repeat."""
        if self._closed:
            return
        self._closed = True
        if self._thread.is_alive():
            self._within(self._shut()).result(_PATIENCE)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE)
        self._loop.close()

    async def ended(self, turn_id: str) -> TurnRecord:
        """The turn once it has ended. To be awaited in the loop of the turns, by a tool."""
        await self._ended(turn_id, None)
        return await run_sync(self._keeper.get, turn_id)

    async def begin_here(self, session_id: str, message: Message, by: Actor) -> TurnRecord:
        """As `begin`, from within the loop of the turns."""
        turn = await run_sync(self._keeper.begin, session_id, message, by)
        await self._spawn(turn)
        return turn

    def _within(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _open(self) -> None:
        self._bell = Bell(self._gate.listen)
        self._limiter = limiter()
        self._tasks = [asyncio.create_task(self._claim()), asyncio.create_task(self._watch())]

    async def _claim(self) -> None:
        """Takes up what processes that are gone left behind, now and from time to time."""
        while True:
            try:
                for turn in await run_sync(self._keeper.claim):
                    await self._take_up(turn)
            except Fault as why:
                _LOG.warning("turns cannot be taken up: %s", type(why).__name__)
            await asyncio.sleep(CLAIM_SECONDS)

    async def _take_up(self, turn: TurnRecord) -> None:
        if await run_sync(self._keeper.is_subagent, turn.session_id):
            # WHY: the call that waited for it died with its process, and its parent is told so.
            await self._end(turn, TurnState.INTERRUPTED, None)
        else:
            await self._spawn(turn)

    async def _spawn(self, turn: TurnRecord) -> None:
        task = asyncio.create_task(self._drive(turn), name=f"turn {turn.id}")
        self._running[turn.id] = task
        task.add_done_callback(lambda _: self._running.pop(turn.id, None))
        self.live.tell(turn.session_id, Kind.TURN, id=turn.id, state=turn.state.value)

    async def _drive(self, turn: TurnRecord) -> None:
        assert self._bell is not None
        conversation = Conversation(self._log, turn.session_id, turn.id)
        calling = Calling(
            self._gate,
            conversation,
            self._tools,
            bell=self._bell,
            live=self.live,
            limiter=self._limiter,
            tell=self._words,
            surroundings=self._surroundings,
        )
        parts = Parts(
            settings=self._settings,
            sight=self._sight,
            live=self.live,
            surroundings=self._surroundings,
            model_of=self._model_of,
            toolset_of=lambda c, tools: GatedToolset(c.session_id, self._gate, tools, calling),
            described=self._described,
        )
        try:
            await conversation.load()
            await drive(conversation, parts)
        except Failed as why:
            await self._end(turn, TurnState.FAILED, TurnProblem(why.code, why.sentence))
        except asyncio.CancelledError:
            self.live.tell(turn.session_id, Kind.TURN, id=turn.id)
            raise
        except Exception as why:  # whatever it was, the turn has ended
            _LOG.error("a turn broke: %s", type(why).__name__)
            broke = TurnProblem("turn_broke", f"The turn broke: {type(why).__name__}")
            await self._end(turn, TurnState.FAILED, broke)
        else:
            await self._end(turn, TurnState.COMPLETED, None)

    async def _watch(self) -> None:
        """Ends the driving of turns that somebody stopped, perhaps on another node, or that another node has by now."""
        while not self._closed:  # WHY: a wait that ends just as it is cancelled forgets that it was
            await self.bell().wait(CLAIM_SECONDS)
            known = {**self._running}
            try:
                alive = await run_sync(self._keeper.running) if known else frozenset()
            except Fault as why:
                _LOG.warning("nobody can say which turns go on: %s", type(why).__name__)
                continue
            for turn_id, task in known.items():
                if turn_id not in alive and not task.done():
                    task.cancel()

    async def _end(self, turn: TurnRecord, state: TurnState, problem: TurnProblem | None) -> None:
        try:
            if problem is not None:
                problem = TurnProblem(problem.code, await run_sync(self._words, problem.sentence))
            ended = await run_sync(self._keeper.end, turn.id, state, problem)
        except Fault as why:
            _LOG.error("the end of a turn cannot be stored: %s", type(why).__name__)
            return
        self.live.tell(
            turn.session_id,
            Kind.TURN,
            id=turn.id,
            state=ended.state.value,
            problem=None if problem is None else problem._asdict(),
        )

    async def _cancel(self, turn_id: str) -> None:
        task = self._running.get(turn_id)
        if task is not None:
            task.cancel()
            await asyncio.wait({task}, timeout=_PATIENCE / 2)

    async def _ended(self, turn_id: str, seconds: float | None) -> None:
        task = self._running.get(turn_id)
        if task is not None:
            await asyncio.wait({task}, timeout=seconds)
            return
        assert self._bell is not None
        loop = asyncio.get_running_loop()
        until = None if seconds is None else loop.time() + seconds
        while (await run_sync(self._keeper.get, turn_id)).state is TurnState.RUNNING:
            left = 1.0 if until is None else until - loop.time()
            if left <= 0:
                return
            await self._bell.wait(min(left, 1.0))

    async def _shut(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._bell is not None:
            self._bell.shut()
        for task in self._running.values():
            task.cancel()
        tasks = [*self._running.values(), *self._tasks]  # WHY all: asyncio complains of one that nobody waited for
        if tasks:
            await asyncio.wait(tasks, timeout=_PATIENCE / 2)
        if self._bell is not None:
            self._bell.close()
        await self._models.close()
