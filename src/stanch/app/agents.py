"""Agents at work in this process: the runtime, put together with the gate, the store and the models.

Settles which parts the runtime is made of, and what of it doors may use. Does not settle what happens in a turn
(`runtime`). WHY imported where it is made: the agent library takes seconds to import, and is an extra.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from stanch.app.agent_gate import AgentGate, Guard
from stanch.app.agent_settings import AgentSettings
from stanch.app.asked_persons import Questions
from stanch.app.asking import Asking
from stanch.app.calls import Calls
from stanch.app.files_around import FilesAround
from stanch.app.inbox import Inbox
from stanch.app.live import Live
from stanch.app.mentions import Mentions
from stanch.app.messages import Messages
from stanch.app.projecting import Projecting
from stanch.app.receipts import Receipts
from stanch.app.refusals import refused_in
from stanch.app.sessions import Sessions
from stanch.app.sight import TierSight
from stanch.app.subagents import Below, Subagents
from stanch.app.turn_log import TurnLog
from stanch.runtime.live import Live as Happenings
from stanch.storage.store import Store
from stanch.values.approval import CallRecord
from stanch.values.fault import BadContext, BadInput, Conflict, Fault, NotInstalled
from stanch.values.identity import Principal
from stanch.values.message import File, Message, Role, Text
from stanch.values.records import Actor
from stanch.values.turn import TurnProblem, TurnRecord, TurnState

if TYPE_CHECKING:
    from stanch.app.content import Content
    from stanch.app.workbenches import Workbenches
    from stanch.runtime.turns import Turns

LONGEST_PROMPT = 1_000_000
_NODE = Actor("stanch", "node")
_LOG = logging.getLogger(__name__)


class Agents:
    """What is done with agents. The runtime starts with the first turn, or with `start`."""

    def __init__(
        self,
        store: Store,
        live: Live,
        asking: Asking,
        *,
        calls: Calls,
        inbox: Inbox,
        sessions: Sessions,
        messages: Messages,
        turn_log: TurnLog,
        projecting: Projecting,
        guard: Guard,
        receipts: Receipts,
    ) -> None:
        self._store, self._live, self._asking = store, live, asking
        self.messages, self.turn_log = messages, turn_log
        self._gate = AgentGate(store, live, asking, calls, guard)
        self._settings = AgentSettings(store, live, asking)
        self._inbox = inbox
        self.sight, self._projecting = TierSight(store, live, projecting, receipts), projecting
        self.happenings = Happenings()
        self.surroundings = FilesAround(
            store, live, asking, messages=messages, happenings=self.happenings, tell=projecting.told
        )
        self._mentions = Mentions(asking)
        self.subagents = Subagents(
            store,
            live,
            asking,
            sessions=sessions,
            messages=messages,
            sight=self.sight,
            context=self.surroundings.files.last,
        )
        self.on_end: Callable[[TurnRecord], None] = lambda _: None
        """Called with each turn that this process has ended, in some thread."""
        self.content: Content | None = None
        """What agents may do with stored content; None for nothing. To be set before the first turn."""
        self.workbenches: Workbenches | None = None
        """Where code of agents runs; None for nowhere. To be set before the first turn."""
        self._turns: Turns | None = None
        self._starting = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Starts the runtime, which takes up what a process that is gone left behind. Safe to repeat.

        Raises `NotInstalled` where the agent library is missing.
        """
        self._running()

    def start_soon(self) -> None:
        """Starts the runtime in a thread of its own, where the agent library is installed.

        WHY: importing it takes seconds, and whatever else a server does need not wait for it.
        """

        def starting() -> None:
            try:
                self.start()
            except (BadInput, Conflict) as why:
                _LOG.info("no agents run in this process: %s", why)

        threading.Thread(target=starting, name="stanch-agents", daemon=True).start()

    def begin(
        self,
        session_id: str,
        prompt: str,
        *,
        by: Actor,
        mentions: bool = False,
        parts: Sequence[Text] = (),
        attached: Sequence[Text | File] = (),
    ) -> TurnRecord:
        """The turn in which the session's agent answers a person's words. It goes on by itself.

        `parts` go along with the words. With `mentions`, so do the files that the words mention; where one of these may
        not, nothing is said, and `BadFields` tells which and why. `attached` goes with the words, too, and was admitted
        for the session's model (`app.attaching`).

        Raises `NotFound`, `Conflict` where the session has ended, has no model, or has a turn under way, `BadInput`
        for words that cannot be said, and `NotInstalled` where the agent library is missing.
        """
        if not prompt.strip() or len(prompt) > LONGEST_PROMPT:
            raise BadInput(f"'text' must have 1 to {LONGEST_PROMPT:,} characters")
        turns = self._running()
        self._settings.begin(session_id)
        if mentions:
            if self.turn_log.running(session_id) is not None:
                raise Conflict("the session has a turn under way")
            self.keep_context(session_id)  # WHY: they are judged in the context that the turn will have
            parts = (*parts, *self._mentions.of(session_id, prompt))
        turn = turns.begin(session_id, Message(Role.USER, (Text(prompt), *parts, *attached)), by)
        self.surroundings.changed.told(session_id, parts)
        return turn

    def ready(self, session_id: str) -> None:
        """Gives the session its agent's model where it has none yet. Raises `NotFound` and `Conflict`."""
        self._settings.begin(session_id)

    def stop(self, turn_id: str, *, by: Actor) -> TurnRecord:
        """The turn, stopped, whichever process runs it. Raises `NotFound`, and `Conflict` where it has ended."""
        turn = self.turn_log.stop(turn_id, by=by)
        if self._turns is not None:
            self._turns.stop(turn_id)
        return turn

    def wait(self, turn_id: str, seconds: float | None = None) -> TurnRecord:
        """The turn, once it has ended, or as it is when the time is up."""
        return self._running().wait(turn_id, seconds)

    def keep_context(self, session_id: str) -> None:
        """Binds the session's turn to the context that is stored now. Raises `Conflict` for one of no use any more."""
        try:
            self._asking.turn(session_id)
        except BadContext as why:
            raise Conflict(str(why)) from None

    def go_on(self, turn: TurnRecord) -> None:
        """Has a turn that this process has taken up keep the context that is stored now, to its end."""
        with suppress(Fault):  # what is of no use by now is judged as such, call by call
            self._asking.turn(turn.session_id)

    def refused(self, turn_id: str) -> list[CallRecord]:
        """The calls of the turn that were refused, those of subagents too, oldest first. Raises `NotFound`."""
        return refused_in(self._store, self.turn_log.get(turn_id))

    def close(self) -> None:
        """Ends the runtime. Turns under way stay so, for the next process to go on with. Safe to repeat."""
        with self._starting:
            self._closed = True
            if self._turns is not None:
                self._turns.close()

    def _principal_of(self, session_id: str) -> Principal:
        return self._store.get_session(session_id).principal

    def _running(self) -> Turns:
        with self._starting:
            if self._closed:
                raise Conflict("this process is about to end")
            if self._turns is None:
                self._turns = self._made()
                self._turns.start()
            return self._turns

    def _made(self) -> Turns:
        try:
            from stanch.app.store_tools import store_tools
            from stanch.app.workbench_running import RunCode
            from stanch.app.workbench_tool import run_code_tool
            from stanch.runtime.builtin import asking, delegating
            from stanch.runtime.builtin.executing import EXECUTE_CMD
            from stanch.runtime.builtin.tools import FILE_TOOLS
            from stanch.runtime.models import Models
            from stanch.runtime.toolset import Described
            from stanch.runtime.turns import Turns
        except ModuleNotFoundError as why:
            if (why.name or "").startswith("stanch"):
                raise
            raise NotInstalled(f"agents need {why.name}; install it with: pip install 'stanch[agent]'") from None
        models = Models()
        turns = Turns(
            gate=self._gate,
            log=self.messages,
            keeper=_Keeper(self, self._store, self._projecting.told),
            settings=self._settings,
            sight=self.sight,
            models=models,
            model_of=lambda model: models.get(model, self._live.policy.providers, os.environ),
            live=self.happenings,
            surroundings=self.surroundings,
            tell=self._projecting.told,
        )
        for tool in (*FILE_TOOLS, EXECUTE_CMD):
            turns.add(tool, Described(tool.name, tool.description, tool.parameters))
        for tool in () if self.content is None else store_tools(self.content, self._principal_of):
            turns.add(tool, Described(tool.name, tool.description, tool.parameters))
        if self.content is not None and self.workbenches is not None:
            code = run_code_tool(RunCode(self.content, self.workbenches, self._principal_of))
            turns.add(code, Described(code.name, code.description, code.parameters))
        ask = asking.AskUser(Questions(self._store, self._inbox), turns.bell, self.happenings)
        turns.add(ask, Described(asking.NAME, asking.DESCRIPTION, asking.PARAMETERS))
        call = delegating.CallAgent(Below(self.subagents, self.messages, turns))
        turns.add(call, Described(delegating.NAME, delegating.DESCRIPTION, delegating.PARAMETERS))
        return turns


class _Keeper:
    def __init__(self, agents: Agents, store: Store, tell: Callable[[str], str]) -> None:
        self._agents, self._store, self._tell = agents, store, tell

    def begin(self, session_id: str, message: Message, by: Actor) -> TurnRecord:
        from stanch.runtime.conversation import closing

        before = closing(self._agents.messages.all(session_id))
        turn = self._agents.turn_log.begin(session_id, [*before, message], by=by)
        try:
            self._agents.keep_context(session_id)
        except Conflict as why:
            self.end(turn.id, TurnState.FAILED, TurnProblem("turn_refused", self._tell(str(why))))
            raise
        return turn

    def end(self, turn_id: str, state: TurnState, problem: TurnProblem | None = None) -> TurnRecord:
        try:
            ended = self._agents.turn_log.end(turn_id, state, problem, by=_NODE)
        except Conflict:
            ended = self._agents.turn_log.get(turn_id)
        if self.is_subagent(ended.session_id):
            self._agents.subagents.end(ended.session_id)
        self._agents.on_end(ended)
        return ended

    def get(self, turn_id: str) -> TurnRecord:
        return self._agents.turn_log.get(turn_id)

    def running(self) -> frozenset[str]:
        return self._agents.turn_log.running_here()

    def claim(self) -> list[TurnRecord]:
        claimed = self._agents.turn_log.claim()
        for turn in claimed:
            self._agents.go_on(turn)
        return claimed

    def is_subagent(self, session_id: str) -> bool:
        return self._store.get_session(session_id).parent_id is not None
