"""`ask_user`: an agent's question to a person, which waits in the inbox.

Settles what the agent is told where nobody answers. Does not settle how a question is answered (`app.inbox`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from anyio.to_thread import run_sync

from stanch.runtime.live import Kind, Live
from stanch.runtime.ports import Questions
from stanch.runtime.tool import Job, Output
from stanch.runtime.waiting import Bell, whole
from stanch.values.approval import CallRecord, ClarificationRecord, ClarificationState
from stanch.values.fault import BadFields, Conflict

NAME = "ask_user"
DESCRIPTION = (
    "Ask the person you work for a question, and wait for the answer. Ask when only they can know or decide; give "
    "choices where there are few answers."
)
PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "The question, in a sentence or two."},
        "choices": {"type": "array", "items": {"type": "string"}, "description": "Answers to choose from, if any."},
    },
    "required": ["question"],
    "additionalProperties": False,
}


class AskUser:
    """The tool."""

    name = NAME

    def __init__(self, questions: Questions, bell: Callable[[], Bell], live: Live) -> None:
        self._questions, self._bell, self._live = questions, bell, live

    async def run(self, job: Job, call: CallRecord) -> Output:
        """Asks, and waits for the answer."""
        return await self._ask(job.arguments, call.session_id, None)

    async def resume(self, call: CallRecord) -> Output | None:
        """Waits on: a question changes nothing, so that asking it again does no harm."""
        return await self._ask(call.arguments, call.session_id, call.created_at)

    async def _ask(self, arguments: Mapping[str, Any], session_id: str, since: datetime | None) -> Output:
        question, choices = arguments.get("question"), arguments.get("choices") or ()
        if not isinstance(question, str):
            return Output("'question' must be a text", failed=True)
        if (
            not isinstance(choices, Sequence)
            or isinstance(choices, str)
            or not all(isinstance(c, str) for c in choices)
        ):
            return Output("'choices' must be a list of texts", failed=True)
        try:
            asked = await self._asked(session_id, question, tuple(choices), since)
        except (BadFields, Conflict) as why:
            return Output(str(why), failed=True)
        self._live.tell(
            session_id, Kind.QUESTION, request_id=asked.request_id, question=question, choices=list(asked.choices)
        )
        try:
            while asked.state is ClarificationState.OPEN:
                await self._bell().wait()
                asked = await run_sync(self._questions.get, asked.request_id)
        except asyncio.CancelledError:
            await asyncio.shield(self._taken_back(asked))
            raise
        return _answered(asked)

    async def _taken_back(self, asked: ClarificationRecord) -> None:
        if self._bell().is_open:
            await run_sync(self._questions.cancel, asked.request_id)

    async def _asked(
        self, session_id: str, question: str, choices: tuple[str, ...], since: datetime | None
    ) -> ClarificationRecord:
        """The question, which a process that is gone has asked already where it went on since then."""
        if since is not None:
            known = await run_sync(self._questions.asked, session_id, question, choices, since)
            if known is not None:
                return await run_sync(self._questions.get, known)
        return await whole(run_sync(self._questions.ask, session_id, question, choices), self._taken_back)


def _answered(asked: ClarificationRecord) -> Output:
    if asked.state is ClarificationState.ANSWERED and asked.answer is not None:
        return Output(asked.answer)
    if asked.state is ClarificationState.EXPIRED:
        return Output("Nobody answered in time. Go on without the answer, or end with what is missing", failed=True)
    return Output("The question was taken back", failed=True)
