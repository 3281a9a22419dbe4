"""The gate as the agent runtime uses it: calls of a session judged and kept, and what a call that runs may open.

Settles which stamps and which directory a tool is given, and that files below a search's root are judged one by one.
Does not settle what the gate answers (`app.asking`), nor what a tool does (`runtime.builtin`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stanch.app.asking import Asking, where
from stanch.app.calls import Calls, Submitted
from stanch.app.command_reads import closed_below, reads_of
from stanch.app.live import Live
from stanch.app.searching import SearchReader
from stanch.gate.approval import Move
from stanch.policy.visible import chain, hidden
from stanch.runtime.environment import environment_for
from stanch.runtime.ports import Started
from stanch.runtime.tool import Job
from stanch.storage.store import Store
from stanch.tiers.tier import Tiers
from stanch.values.approval import CallRecord, CallState
from stanch.values.call import EffectClass, JudgedCall, Stamp
from stanch.values.fault import BadCall, Conflict, StoreUnreadable
from stanch.values.records import Actor

SURFACE = "agent"
Guard = Callable[[str, str, Mapping[str, Any]], str | None]


def _no_objection(session_id: str, tool: str, arguments: Mapping[str, Any]) -> None:
    """Objects to nothing."""


class AgentGate:
    """Judges and keeps the calls of the sessions that the runtime drives."""

    def __init__(self, store: Store, live: Live, asking: Asking, calls: Calls, guard: Guard = _no_objection) -> None:
        """`guard` says why a call may not even be asked for, besides what the rules say; None where it may."""
        self._guard = guard
        self._store, self._live, self._asking, self._calls = store, live, asking, calls

    def hidden(self, session_id: str, tools: Iterable[str]) -> frozenset[str]:
        """Those of the tools that the rules of the session, or of an ancestor, refuse by their name alone."""
        groups, tools = self._live.policy.groups, tuple(tools)
        found: frozenset[str] = frozenset()
        for kin in self._asking.lineage(session_id):
            found |= hidden(chain(groups, kin.session.context.tool_group_id()), tools)
        return found

    def find(self, session_id: str, tool_call_id: str) -> CallRecord | None:
        """The newest call of the session that its agent knows by this id."""
        return self._store.find_call(session_id, tool_call_id)

    def submit(self, session_id: str, tool: str, arguments: Mapping[str, Any], tool_call_id: str) -> CallRecord:
        """The call, judged and stored."""
        self._guarded(session_id, tool, arguments)
        by = _by(session_id)
        return self._calls.submit(session_id, tool, arguments, tool_call_id=tool_call_id, by=by).call

    def get(self, call_id: str) -> CallRecord:
        """The call as it now stands."""
        return self._calls.get(call_id)

    def start(self, call_id: str) -> Started:
        """The call, judged again, and what to do where it is running now."""
        call = self._calls.get(call_id)
        session_id = call.session_id
        # WHY again: it may have waited, and what it would do may be another thing by now.
        self._guarded(session_id, call.tool, call.arguments)
        submitted = self._calls.start(call_id, by=_by(session_id))
        if submitted.call.state is not CallState.RUNNING:
            return Started(submitted.call, None)
        return Started(submitted.call, self.job(submitted))

    def _guarded(self, session_id: str, tool: str, arguments: Mapping[str, Any]) -> None:
        why = self._guard(session_id, tool, arguments)
        if why is not None:
            raise BadCall(why)

    def end(self, call_id: str, move: Move) -> None:
        """Says that a running call has ended."""
        try:
            self._calls.finish(call_id, move, by=_by(self._calls.get(call_id).session_id))
        except Conflict:
            return

    def cancel(self, call_id: str) -> None:
        """Cancels the call, and the request that it waits for."""
        try:
            self._calls.cancel(call_id, by=_by(self._calls.get(call_id).session_id))
        except (Conflict, StoreUnreadable):
            return

    def listen(self, told: Callable[[], None]) -> Callable[[], None]:
        """Calls `told` after any change of the store."""
        return self._store.watch(lambda _: told(), interval=0.25).stop

    def job(self, submitted: Submitted) -> Job:
        """What a call that is running now is to do, with what it may open."""
        call, decision = submitted.call, submitted.decision
        lineage = self._asking.lineage(call.session_id)
        own = lineage[0].session
        asked = () if submitted.approval is None else submitted.approval.asked
        stamps: dict[str, Stamp] = {}
        for effect in decision.call.effects:
            if effect.stamp is not None and effect.argument and effect.found is None:
                stamps.setdefault(effect.argument, effect.stamp)
        directory, reads = where(own, call.cwd), reads_of(decision)
        return Job(
            tool=call.tool,
            arguments=dict(call.arguments),
            stamps=stamps,
            directory=directory,
            reader=SearchReader(call.tool, lineage, directory, asked),
            cancelled=threading.Event(),
            environment=environment_for(os.environ),
            reads=reads.paths if reads.all_known else None,
            also_reads=reads.paths,
            closed_below=self._closed_below,
            session_id=call.session_id,
            approved=asked,
            writes=_written(decision.call),
            call_id=call.id,
        )

    def _closed_below(self, directory: str, /) -> tuple[tuple[str, ...], bool]:
        return closed_below(Tiers(self._live.policy).tiers.values(), directory)


def _written(call: JudgedCall) -> tuple[str, ...]:
    stamps = (one.stamp for one in call.effects if one.cls is EffectClass.WRITE)
    return tuple(dict.fromkeys(stamp.path for stamp in stamps if stamp is not None and stamp.path))


def _by(session_id: str) -> Actor:
    return Actor(session_id, SURFACE)
