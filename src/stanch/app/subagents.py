"""Subagents: the sessions that agents open below their own, and what a task may tell of what its giver has seen.

Settles who may be called, where a subagent starts, and that no content reaches its model in a task that the model may
not see. Does not settle what a subagent may do: it is judged as itself and as each of its ancestors (`app.asking`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync

from stanch.app.agent_gate import SURFACE
from stanch.app.agent_settings import known_agent
from stanch.app.asking import Asking
from stanch.app.live import Live
from stanch.app.messages import Messages
from stanch.app.sessions import Sessions
from stanch.app.sight import TierSight
from stanch.runtime.waiting import whole
from stanch.storage.store import Store
from stanch.values.fault import Conflict
from stanch.values.message import Message, Role, Text
from stanch.values.records import Actor, SessionRecord
from stanch.values.turn import TurnRecord

if TYPE_CHECKING:
    from stanch.runtime.turns import Turns

MOST_DEPTH = 4
_NODE = Actor("stanch", "node")


class Subagents:
    """What is done with the sessions of subagents."""

    def __init__(
        self,
        store: Store,
        live: Live,
        asking: Asking,
        *,
        sessions: Sessions,
        messages: Messages,
        sight: TierSight,
        context: Callable[[str], Message | None],
    ) -> None:
        """`context` is what files said that went along with a session's requests."""
        self._context = context
        self._store, self._live, self._asking = store, live, asking
        self._sessions, self._messages, self._sight = sessions, messages, sight

    def open(self, parent_id: str, agent: str) -> SessionRecord:
        """The new session of a subagent: in the context of its parent unless the policy has one for the agent.

        Raises `BadFields` for an agent that there is not, and `Conflict` where there are too many above it.
        """
        parent = self._store.get_session(parent_id)
        policy = self._live.policy
        found = known_agent(policy, agent, parent.agent_id)
        if len(self._asking.lineage(parent_id)) > MOST_DEPTH:
            raise Conflict(f"an agent may stand at most {MOST_DEPTH} below another")
        given: dict[str, Any] = {}
        if agent not in policy.agent_defaults:
            given["context"] = self._sessions.now(parent).run_context
        return self._sessions.create(
            agent_id=agent,
            source=parent.source,
            principal=parent.principal,
            parent_id=parent_id,
            model=found.model or parent.model,
            by=Actor(parent_id, SURFACE),
            **given,
        )

    def end(self, session_id: str) -> None:
        """Ends the session of a subagent, whose work is done, with whatever of it waits for a person."""
        try:
            self._sessions.end(session_id, by=_NODE)
        except Conflict:
            return

    def task(self, session: SessionRecord, words: str) -> Message:
        """The task as the subagent is given it, without what its model may not see of what its ancestors have seen.

        WHY: a task is written by a model that may have read more, and is content on its way to another model.
        """
        if session.model is None or session.parent_id is None:
            return Message(Role.USER, (Text(words),))
        seen: list[Message] = []
        first, *below = reversed([kin.session_id for kin in self._asking.lineage(session.parent_id)])
        for one in (first, *below):
            # WHY not the first message of one below: its own task stands in the call that gave it
            seen += [*self.context(one), *self._messages.all(one)[0 if one == first else 1 :]]
        told = self._sight.passed_on(session.parent_id, seen, words, session.model)
        return Message(Role.USER, (Text(told),))

    def context(self, session_id: str) -> list[Message]:
        """What its model was shown besides its messages."""
        found = self._context(session_id)
        return [] if found is None else [found]


class Below:
    """Subagents as the tool `call_agent` uses them."""

    def __init__(self, subagents: Subagents, messages: Messages, turns: Turns) -> None:
        self._subagents, self._messages, self._turns = subagents, messages, turns

    async def open(self, parent_id: str, agent: str, task: str) -> TurnRecord:
        """The turn of a new session below the parent's. Raises `BadFields`, `NotFound` and `Conflict`."""
        return await whole(self._opened(parent_id, agent, task), self._closed)

    async def _opened(self, parent_id: str, agent: str, task: str) -> TurnRecord:
        session = await run_sync(self._subagents.open, parent_id, agent)
        try:
            prompt = await run_sync(self._subagents.task, session, task)
            return await self._turns.begin_here(session.id, prompt, Actor(parent_id, SURFACE))
        except Exception:
            await run_sync(self._subagents.end, session.id)
            raise

    async def _closed(self, turn: TurnRecord) -> None:
        await run_sync(self.stop, turn)

    async def ended(self, turn: TurnRecord) -> TurnRecord:
        """The turn, once it has ended."""
        return await self._turns.ended(turn.id)

    def stop(self, turn: TurnRecord) -> None:
        """Stops the turn. May be called in a thread only."""
        self._turns.stop(turn.id)

    def said(self, session_id: str) -> list[Message]:
        """What its model was shown: what files say that went along, and the session's messages."""
        return [*self._subagents.context(session_id), *self._messages.all(session_id)]
