"""Running a call as an application does that has Stanch in it: judged, approved, judged again, run once, recorded.

Settles what `run` does from the first word to the last. Does not settle any of its steps (`app.calls`).
INVARIANT: `execute` is called at most once for a call, and only after `start` said that the call is running.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stanch.app.calls import Calls
from stanch.gate.approval import FINAL, Move
from stanch.storage.store import Store
from stanch.values.approval import CallRecord, CallState
from stanch.values.fault import Conflict
from stanch.values.records import Actor

Result = TypeVar("Result")
Execute = Callable[[str, Mapping[str, Any]], Result]
"""From the tool's name and the arguments, as a person may have edited them, to the result."""


@dataclass(frozen=True, slots=True)
class Ran(Generic[Result]):
    """How a call ended. `result` is there where it was completed; `call.reason` says why it was not run.

    `call.edited` is true where a person, a policy or a hook changed what ran.
    """

    call: CallRecord
    result: Result | None = None

    @property
    def ran(self) -> bool:
        """True where it was run to its end."""
        return self.call.state is CallState.COMPLETED


class Runner:
    """Runs calls of stored sessions."""

    def __init__(self, store: Store, calls: Calls) -> None:
        self._store, self._calls = store, calls

    def run(
        self,
        session_id: str,
        tool: str,
        arguments: Mapping[str, Any],
        execute: Execute[Result],
        *,
        tool_call_id: str = "",
        cwd: str | None = None,
        wait_seconds: float | None = None,
        by: Actor,
    ) -> Ran[Result]:
        """Judges the call, waits for a person where one is asked, judges it again, runs it once, and records the end.

        Waits as long as it takes, or `wait_seconds`; a call that nobody answered by then goes on waiting in the inbox,
        and `resume` takes it up. What `execute` raises is raised, and the call has failed. Raises what `submit` raises.
        """
        submitted = self._calls.submit(session_id, tool, arguments, tool_call_id=tool_call_id, cwd=cwd, by=by)
        return self.resume(submitted.call.id, execute, wait_seconds=wait_seconds, by=by)

    def resume(
        self, call_id: str, execute: Execute[Result], *, wait_seconds: float | None = None, by: Actor
    ) -> Ran[Result]:
        """Goes on with a call that was asked for before, perhaps by a process that is gone."""
        until = None if wait_seconds is None else time.monotonic() + wait_seconds
        while True:
            call = self._settled(call_id, until)
            if call.state is not CallState.PENDING:
                return Ran(call)
            try:
                started = self._calls.start(call.id, by=by).call
            except Conflict:
                continue  # WHY: another one moved it; what it is now is looked at anew
            if started.state is CallState.RUNNING:
                return self._execute(started, execute, by)

    def _settled(self, call_id: str, until: float | None) -> CallRecord:
        """The call once nobody has to answer any more, or as it is when the time is up."""
        changed = threading.Event()
        watch = self._store.watch(lambda _: changed.set(), interval=0.25)
        try:
            while True:
                changed.clear()
                call = self._store.get_call(call_id)
                left = None if until is None else until - time.monotonic()
                if call.state is not CallState.AWAITING_APPROVAL or (left is not None and left <= 0):
                    return call
                changed.wait(timeout=1.0 if left is None else min(left, 1.0))
        finally:
            watch.stop()

    def _execute(self, call: CallRecord, execute: Execute[Result], by: Actor) -> Ran[Result]:
        try:
            result = execute(call.tool, call.arguments)
        except BaseException:
            self._end(call, Move.FAIL, by)
            raise
        return Ran(self._end(call, Move.COMPLETE, by), result)

    def _end(self, call: CallRecord, move: Move, by: Actor) -> CallRecord:
        try:
            return self._calls.finish(call.id, move, by=by)
        except Conflict:
            now = self._store.get_call(call.id)
            assert now.state in FINAL
            return now


__all__ = ["Execute", "Ran", "Runner"]
