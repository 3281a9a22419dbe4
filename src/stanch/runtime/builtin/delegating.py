"""`call_agent`: a subagent, in a session of its own below the caller's.

Settles that a subagent's work comes back as a text with the marks of all it read. Does not settle what it may do: it is
judged as itself and as each of its ancestors (`app.asking`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from anyio.to_thread import run_sync

from stanch.runtime.conversation import last_text
from stanch.runtime.tool import Job, Output
from stanch.values.approval import CallRecord
from stanch.values.fault import BadFields, Conflict, NotFound
from stanch.values.message import Message, SourceTag, Tags
from stanch.values.turn import TurnRecord, TurnState

NAME = "call_agent"
DESCRIPTION = (
    "Give a task to another agent, which works on it in a session of its own and answers with a text. It knows nothing "
    "of this conversation: say all that it needs. It may do no more than you may."
)
PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "agent": {"type": "string", "description": "The name of the agent."},
        "prompt": {"type": "string", "description": "The task, with all that the agent needs to know."},
    },
    "required": ["agent", "prompt"],
    "additionalProperties": False,
}


class Below(Protocol):
    """Opens sessions below others, and drives their turns."""

    async def open(self, parent_id: str, agent: str, task: str) -> TurnRecord:
        """The turn of a new session below the parent's, which is told as much of the task as its model may see.

        Raises `BadFields`, `NotFound` and `Conflict`.
        """

    async def ended(self, turn: TurnRecord) -> TurnRecord:
        """The turn, once it has ended."""

    def stop(self, turn: TurnRecord) -> None:
        """Stops the turn. May be called in a thread only."""

    def said(self, session_id: str) -> list[Message]:
        """The session's messages."""


class CallAgent:
    """The tool."""

    name = NAME

    def __init__(self, below: Below) -> None:
        self._below = below

    async def run(self, job: Job, call: CallRecord) -> Output:
        """Opens the session, and waits for the end of its turn."""
        agent, prompt = job.arguments.get("agent"), job.arguments.get("prompt")
        if not isinstance(agent, str) or not agent.strip() or not isinstance(prompt, str) or not prompt.strip():
            return Output("'agent' and 'prompt' must be texts", failed=True)
        try:
            turn = await self._below.open(call.session_id, agent, prompt)
        except (BadFields, NotFound, Conflict) as why:
            return Output(str(why), failed=True)
        try:
            turn = await self._below.ended(turn)
        except asyncio.CancelledError:
            await asyncio.shield(run_sync(self._below.stop, turn))
            raise
        messages = await run_sync(self._below.said, turn.session_id)
        words, tags = last_text(messages), tags_of(messages)
        if turn.state is not TurnState.COMPLETED:
            problem = turn.problem.sentence if turn.problem is not None else turn.state.value
            return Output(f"The agent {agent} did not come to an end: {problem}\n{words}".rstrip(), tags, failed=True)
        return Output(words or "The agent ended without a word", tags)

    async def resume(self, call: CallRecord) -> Output | None:  # noqa: ARG002 - the shape of a slow tool
        """None: what the subagent had done by then is not known here."""
        return None


def tags_of(messages: list[Message]) -> Tags:
    """Every mark of the messages once, without its place: whoever sums them up carries all of them."""
    found: dict[SourceTag, None] = {}
    for message in messages:
        for part in message.parts:
            for tag in part.tags:
                found[SourceTag(tag.name, tag.origin, None, tag.below, tag.all_below)] = None
    return tuple(found)
