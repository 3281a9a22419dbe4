"""One tool call of a model, from its asking to its stored result.

Settles the order: judged, waited for, judged again, run once, its result stored, its end told. Does not settle any of
these. INVARIANT: a tool is run only with a job that the gate gave for this call, and a call that has a stored result,
or whose process died while it ran, is not run again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from stanch.gate.approval import Move
from stanch.gate.fingerprint import same_arguments
from stanch.runtime.conversation import Conversation
from stanch.runtime.live import Kind, Live
from stanch.runtime.ports import Gate, Surroundings
from stanch.runtime.tool import Builtin, Job, Output
from stanch.runtime.waiting import Bell, whole
from stanch.values.approval import CallRecord, CallState
from stanch.values.fault import BadCall, Conflict
from stanch.values.message import Result, Text

_MOST_AT_ONCE = 32


class Slow(Protocol):
    """A tool that waits for somebody, and so runs in the event loop instead of a thread."""

    @property
    def name(self) -> str:
        """The tool's name."""

    async def run(self, job: Job, call: CallRecord) -> Output:
        """Does it."""

    async def resume(self, call: CallRecord) -> Output | None:
        """Goes on with a call whose process died meanwhile; None where that cannot be."""


class Calling:
    """Runs the calls of one turn."""

    def __init__(
        self,
        gate: Gate,
        conversation: Conversation,
        tools: Mapping[str, Builtin | Slow],
        *,
        bell: Bell,
        live: Live,
        limiter: CapacityLimiter,
        tell: Callable[[str], str],
        surroundings: Surroundings,
    ) -> None:
        """`tell` makes of the words of a refusal, or of a failure, what may be kept of them; it raises nothing."""
        self._surroundings = surroundings
        self._gate, self._conversation, self._tools = gate, conversation, tools
        self._bell, self._live, self._limiter, self._words = bell, live, limiter, tell

    async def run(self, call_id: str, tool: str, arguments: Mapping[str, Any]) -> Result:
        """The result of the call, as it is stored."""
        stored = self._conversation.result_of(call_id)
        if stored is not None:
            return stored
        result = await self._run(call_id, tool, arguments)
        return await self._conversation.add_result(result)

    async def _run(self, call_id: str, tool: str, arguments: Mapping[str, Any]) -> Result:
        session = self._conversation.session_id
        call = await run_sync(self._gate.find, session, call_id)
        if call is None or not _is_that(call, tool, arguments):
            try:
                call = await whole(run_sync(self._gate.submit, session, tool, arguments, call_id), self._taken_back)
            except (BadCall, Conflict) as why:
                return await self._said(call_id, tool, str(why))
        try:
            return await self._to_its_end(call, call_id)
        except asyncio.CancelledError:
            await asyncio.shield(self._taken_back(call))
            raise

    async def _taken_back(self, call: CallRecord) -> None:
        """Takes the call out of the inbox, whoever stops the turn.

        One whose process ends is left where it stands, for the next process to go on with.
        """
        if self._bell.is_open:
            await run_sync(self._gate.cancel, call.id)

    async def _to_its_end(self, call: CallRecord, call_id: str) -> Result:
        while True:
            call = await self._settled(call)
            if call.state is CallState.INTERRUPTED:
                return await self._interrupted(call, call_id)
            if call.state is not CallState.PENDING:
                return await self._said(call_id, call.tool, _sentence(call))
            try:
                started = await run_sync(self._gate.start, call.id)
            except Conflict:
                call = await run_sync(self._gate.get, call.id)
                if call.state is CallState.RUNNING:
                    return await self._said(call_id, call.tool, "Somebody else runs this call")
                continue
            except BadCall as why:
                await run_sync(self._gate.cancel, call.id)
                return await self._said(call_id, call.tool, str(why))
            call = started.call
            if started.job is not None:
                return await self._execute(call, call_id, started.job)

    async def _settled(self, call: CallRecord) -> CallRecord:
        """The call once nobody has to answer any more."""
        self._tell(call)
        while call.state is CallState.AWAITING_APPROVAL:
            await self._bell.wait()
            call = await run_sync(self._gate.get, call.id)
        return call

    async def _execute(self, call: CallRecord, call_id: str, job: Job) -> Result:
        self._tell(call)
        tool = self._tools.get(call.tool)
        if tool is None:
            output = Output(f"There is no tool {call.tool}", failed=True)
        else:
            began = time.time_ns()
            output = await self._ran(tool, job, call)
            await run_sync(self._surroundings.ran, job, output, call_id, began)
        result = Result(call_id, (Text(output.text), *output.files), call.tool, failed=output.failed, tags=output.tags)
        result = await self._conversation.add_result(result)
        move = Move.FAIL if output.failed else Move.COMPLETE
        await run_sync(self._gate.end, call.id, move)
        self._tell(await run_sync(self._gate.get, call.id), withheld=output.withheld)
        return result

    async def _ran(self, tool: Builtin | Slow, job: Job, call: CallRecord) -> Output:
        try:
            if not isinstance(tool, Builtin):
                return await tool.run(job, call)
            return await run_sync(tool.run, job, limiter=self._limiter, abandon_on_cancel=True)
        except asyncio.CancelledError:
            job.cancelled.set()
            raise
        except Exception as error:  # a tool that breaks ends its call, and not the turn
            return Output(f"{tool.name} broke: {type(error).__name__}", failed=True)

    async def _interrupted(self, call: CallRecord, call_id: str) -> Result:
        tool = self._tools.get(call.tool)
        if tool is not None and not isinstance(tool, Builtin):
            output = await tool.resume(call)
            if output is not None:
                return Result(call_id, (Text(output.text),), call.tool, failed=output.failed, tags=output.tags)
        return await self._said(
            call_id,
            call.tool,
            "Interrupted: Stanch was stopped while this call ran. Nobody knows how far it came: look before you repeat",
        )

    async def _said(self, call_id: str, tool: str, words: str) -> Result:
        return Result(call_id, (Text(await run_sync(self._words, words)),), tool, failed=True)

    def _tell(self, call: CallRecord, **more: Any) -> None:
        self._live.tell(
            call.session_id,
            Kind.CALL,
            id=call.id,
            tool_call_id=call.tool_call_id,
            tool=call.tool,
            arguments=dict(call.arguments),
            state=call.state.value,
            reason=dict(call.reason),
            request_id=call.request_id,
            **more,
        )


def limiter() -> CapacityLimiter:
    """How many tools may run at once."""
    return CapacityLimiter(_MOST_AT_ONCE)


def _is_that(call: CallRecord, tool: str, arguments: Mapping[str, Any]) -> bool:
    """True where a stored call is the one that a model asks for: a process that is gone may have asked already.

    A person may have changed its arguments since; what runs is what they approved.
    """
    return call.edited or (call.tool == tool and same_arguments(call.arguments, arguments))


def _sentence(call: CallRecord) -> str:
    said = call.reason.get("sentence")
    words = said if isinstance(said, str) and said else f"The call is {call.state.value.replace('_', ' ')}"
    note = call.reason.get("note")
    return f"{words}. {note}" if isinstance(note, str) and note else words
