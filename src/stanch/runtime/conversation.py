"""One session's conversation while a turn is under way: what is stored, and what is added to it.

Settles that a message is stored before anything follows from it, and that a result which says again what a model was
shown is marked as that is. Does not settle what else is in it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace

from anyio.to_thread import run_sync
from pydantic_ai.messages import ModelRequest, ModelResponse, RetryPromptPart, ToolCallPart

from stanch.runtime.ports import Log
from stanch.runtime.transcript import answer_of, message_of
from stanch.tiers.quoted_tags import marked
from stanch.values.fault import Conflict
from stanch.values.message import Call, Message, Result, Role, Text

STOPPED = "Stopped: the turn was ended before this call was run to its end"
_LONGEST_ID = 512
NO_OBJECT = "The arguments of a call have to be one JSON object. Nothing was run: write them anew"


class Conversation:
    """The messages of a session, in the store and here. One turn has it at a time."""

    def __init__(self, log: Log, session_id: str, turn_id: str) -> None:
        self.session_id, self.turn_id = session_id, turn_id
        self._log = log
        self.messages: list[Message] = []
        self.context: tuple[Message, ...] = ()
        """What the model is shown besides, which is not stored: what files say that go along with its requests."""

    async def load(self) -> None:
        """Reads what is stored."""
        self.messages = await run_sync(self._log.all, self.session_id)

    async def add(self, message: Message) -> Message:
        """Stores a message. It is part of the conversation once this returns."""
        kept = await run_sync(self._log.add, self.session_id, message, self.turn_id)
        self.messages.append(kept)
        return kept

    async def add_response(self, response: ModelResponse, model: str) -> Message:
        """Stores what a model answered. Call ids that are there already, or no store can hold, are made new first.

        WHY: some servers count their calls anew in every answer; an id has to name one call, and its result.
        """
        known = {part.id for message in self.messages for part in message.parts if isinstance(part, Call)}
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                if not _is_id(part.tool_call_id) or part.tool_call_id in known:
                    part.tool_call_id = f"call_{secrets.token_hex(8)}"
                known.add(part.tool_call_id)
        return await self.add(message_of(response, model))

    async def add_request(self, request: ModelRequest) -> None:
        """Stores what the library answers a model in our place: that a tool is unknown, that arguments are no object.

        WHY only these: all else of a request was stored when it came about.
        """
        for part in request.parts:
            said = answer_of(part)
            if said is not None and self.result_of(said.call_id) is None:
                call = self._call(said.call_id)
                if call is not None and isinstance(call.arguments, str):
                    # WHY: the library's own words hold what the model wrote, which it may have from anywhere.
                    said = replace(said, content=(Text(NO_OBJECT),))
                await self.add(Message(Role.TOOL, (await self._marked(said),)))
            elif isinstance(part, RetryPromptPart) and said is None:
                await self.add(Message(Role.USER, (Text(part.model_response()),), extra={"by": "runtime"}))

    async def add_result(self, result: Result) -> Result:
        """Stores a call's result, once: the one that is stored already where there is one."""
        found = self.result_of(result.call_id)
        if found is not None:
            return found
        result = await self._marked(result)
        try:
            await self.add(Message(Role.TOOL, (result,)))
        except Conflict:
            await self.load()
            return self.result_of(result.call_id) or result
        return result

    def result_of(self, call_id: str) -> Result | None:
        """The stored result of a call."""
        for message in reversed(self.messages):
            for part in message.parts:
                if isinstance(part, Result) and part.call_id == call_id:
                    return part
        return None

    async def _marked(self, result: Result) -> Result:
        return await run_sync(marked, result, self._call(result.call_id), (*self.context, *self.messages))

    def _call(self, call_id: str) -> Call | None:
        calls = (part for message in reversed(self.messages) for part in message.parts if isinstance(part, Call))
        return next((call for call in calls if call.id == call_id), None)

    def open_calls(self) -> list[Call]:
        """The calls that have no result yet."""
        return open_calls(self.messages)

    def unfinished(self) -> list[Message]:
        """The messages up to the last answer of a model whose calls have not all a result; all where there is none.

        WHY: the library runs the calls of an answer that is the last message, and takes any later one for a request.
        """
        if self.open_calls():
            for at in range(len(self.messages) - 1, -1, -1):
                if self.messages[at].role is Role.ASSISTANT:
                    return self.messages[: at + 1]
        return self.messages


def _is_id(text: str) -> bool:
    """True for what can be kept as the id of a call."""
    return 0 < len(text) <= _LONGEST_ID and text.isprintable()


def open_calls(messages: Sequence[Message]) -> list[Call]:
    """The calls of the messages that have no result among them."""
    answered = {part.call_id for message in messages for part in message.parts if isinstance(part, Result)}
    calls = (part for message in messages for part in message.parts if isinstance(part, Call))
    return [call for call in calls if call.id not in answered]


def closing(messages: Sequence[Message]) -> list[Message]:
    """A result for each call that has none, so that a conversation whose turn was ended can go on."""
    return [
        Message(Role.TOOL, (Result(call.id, (Text(STOPPED),), call.tool, failed=True),))
        for call in open_calls(messages)
    ]


def last_text(messages: Sequence[Message]) -> str:
    """The words of the last answer of a model."""
    for message in reversed(messages):
        if message.role is Role.ASSISTANT:
            return "".join(part.text for part in message.parts if isinstance(part, Text))
    return ""
