"""The gate's answer to a call, for a session that the store has, or for one that is described with the call.

Settles which engine session answers, and what is said where the session cannot be read. Does not settle the answer
itself (`app.engine`). Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from stanch.app.contexts import Contexts
from stanch.app.engine import UNSET, Engine, Session, _Unset
from stanch.app.live import Live
from stanch.app.turns import Turn, Turns
from stanch.gate.relax import Bypass
from stanch.paths.grants import BadGrant
from stanch.storage.store import Store
from stanch.tiers.answers import NO_ANSWERS, Answers
from stanch.values.approval import BypassRecord, BypassScope
from stanch.values.context import RunContext
from stanch.values.decision import Decision
from stanch.values.fault import BadContext, BadFields, Conflict, NotFound, StoreUnreadable, quoted
from stanch.values.identity import Source
from stanch.values.records import Broken, SessionRecord

MOST_ANCESTORS = 32


class Described(NamedTuple):
    """A session that is nowhere stored: what `stanch check` takes as options."""

    agent: str | None = None
    source: Source | None = None
    group: str | None = None
    model: str | None = None
    cwd: str | None = None
    context: RunContext | _Unset | None = UNSET


class Answered(NamedTuple):
    """The answer to a call, and the engine's session that gave it."""

    session: Session
    decision: Decision


class Kin(NamedTuple):
    """One session of a line: its id, the engine's session for it, and the bypasses that hold for calls of the line."""

    session_id: str
    session: Session
    bypasses: Sequence[Bypass]


class Asking:
    """What is asked of the gate."""

    def __init__(self, store: Store, live: Live, contexts: Contexts, turns: Turns) -> None:
        self._store, self._live, self._contexts, self._turns = store, live, contexts, turns

    def described(
        self, session: Described, tool: str, arguments: Mapping[str, Any], *, call_id: str = "", trace: bool = False
    ) -> Answered:
        """The answer for a session that is described with the call. Raises `BadCall`, `BadFields` and `BadContext`."""
        engine = self._live.engine
        cwd = None if session.cwd is None else _directory(engine, session.cwd)
        try:
            bound = engine.session(
                context=session.context,
                agent=session.agent,
                source=session.source,
                group=session.group,
                model=session.model,
                cwd=cwd,
            )
        except (BadContext, BadGrant) as why:
            raise BadFields(("context", str(why))) from None
        return Answered(bound, bound.check(tool, arguments, call_id=call_id, trace=trace))

    def stored(
        self,
        session_id: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        cwd: str | None = None,
        trace: bool = False,
    ) -> Answered:
        """The answer for a session that the store has; of a subagent's and its ancestors', the strictest.

        Within a turn it is judged with the turn's context, else with the stored one. Where the session cannot be read,
        nothing is allowed. Raises `NotFound`, `BadCall`, and `Conflict` where the session has ended.
        """
        return strictest(self.line(session_id, tool, arguments, call_id=call_id, cwd=cwd, trace=trace))

    def line(
        self,
        session_id: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        cwd: str | None = None,
        trace: bool = False,
    ) -> list[Answered]:
        """The answer of the session itself, then those of its ancestors, each with the bypasses that hold for the call.

        Those are the session's own, and of an ancestor's those of which a person said that they hold for its subagents
        too. WHY for every answer of the line: a person's word about this call is one about whoever judges it; without
        that, a bypass for a subagent would never answer for a rule that its parent is under as well. Raises what
        `stored` raises.
        """
        found: list[Answered] = []
        for _, session, bypasses in self.lineage(session_id):
            decision = session.check(tool, arguments, call_id=call_id, trace=trace, cwd=cwd, bypasses=bypasses)
            if not found:
                # The call's paths start where the session works, whoever judges them.
                cwd = where(session, cwd)
            found.append(Answered(session, decision))
        return found

    def lineage(self, session_id: str) -> list[Kin]:
        """The session itself, then its ancestors, each as the engine has it. Raises what `stored` raises."""
        lineage = [*self._line_of(self._live.engine, session_id)]
        bypasses = [
            bypass
            for place, (one, _) in enumerate(lineage)
            for bypass, shared in self._bypasses(one)
            if shared or not place
        ]
        return [Kin(one, session, bypasses) for one, session in lineage]

    def _bypasses(self, session_id: str) -> list[tuple[Bypass, bool]]:
        """The bypasses of one session that hold now, each with whether they hold for its subagents too."""
        try:
            held = self._store.list_bypasses(session_id)
        except StoreUnreadable:
            return []
        return [(_bypass(one), one.include_subagents) for one in held if not isinstance(one, Broken)]

    def turn(self, session_id: str) -> Turn:
        """The session's new turn, bound to the context that is stored now.

        Raises `NotFound`, `BrokenRow`, `Conflict` where it has ended, and `BadContext` for a context of no use by now.
        """
        record = self._going_on(session_id)
        # WHY already here: the last one is over, also where no new one can begin.
        self._turns.forget(session_id)
        turn = Turn(session_id, self._contexts.now(record))
        try:
            turn.bound(self._live.engine, record.agent_id, record.source, record.model, self.answers(record))
        except BadGrant as why:
            raise BadContext(f"a grant of the session's context cannot be used: {why}") from None
        self._turns.begin(turn)
        return turn

    def bound(self, turn: Turn) -> Session:
        """The engine's session for a turn. Raises what `turn` raises."""
        record = self._going_on(turn.session_id)
        return turn.bound(self._live.engine, record.agent_id, record.source, record.model, self.answers(record))

    def answers(self, record: SessionRecord) -> Answers:
        """What persons have answered in the session where the tier of its model asks. Raises `BrokenRow`."""
        return NO_ANSWERS if record.model is None else Answers(self._store.tier_answers(record.id))

    def _going_on(self, session_id: str) -> SessionRecord:
        record = self._store.get_session(session_id)
        if record.ended_at is not None:
            self._turns.forget(session_id)
            raise Conflict(f"the session {quoted(session_id)} has ended")
        return record

    def _line_of(self, engine: Engine, session_id: str) -> Iterator[tuple[str, Session]]:
        """The id and the engine's session of a stored one, then those of its ancestors, ended or not."""
        wanted: str | None = session_id
        seen: set[str] = set()
        while wanted is not None and wanted not in seen:
            seen.add(wanted)
            try:
                record = self._going_on(wanted) if wanted == session_id else self._ancestor(wanted, len(seen))
            except StoreUnreadable as why:
                yield wanted, engine.session(context=None, unreadable=str(why))
                return
            yield wanted, self._session_of(engine, record)
            wanted = record.parent_id

    def _session_of(self, engine: Engine, record: SessionRecord) -> Session:
        """The engine's session for a stored one.

        Where its context cannot be used, the denies that are meant for it stand where it works, and nothing is allowed.
        """
        context = record.run_context
        try:
            turn = self._turns.of(record.id) or Turn(record.id, self._contexts.now(record))
            context = turn.context
            return turn.bound(engine, record.agent_id, record.source, record.model, self.answers(record))
        except StoreUnreadable as why:
            unreadable = str(why)
        except (BadContext, BadGrant) as why:
            unreadable = f"the context of the session is of no use: {why}"
        group, directory = (None, None) if context is None else (context.security_group, context.working_directory)
        refusing = partial(
            engine.session, agent=record.agent_id, source=record.source, model=record.model, unreadable=unreadable
        )
        try:
            return refusing(context=RunContext(group, working_directory=directory))
        except BadContext:
            return refusing(context=RunContext(group))

    def _ancestor(self, session_id: str, place: int) -> SessionRecord:
        if place > MOST_ANCESTORS:
            raise StoreUnreadable(f"it has more than {MOST_ANCESTORS} ancestors")
        try:
            return self._store.get_session(session_id)
        except NotFound as why:
            raise StoreUnreadable(str(why)) from None


def strictest(line: Sequence[Answered]) -> Answered:
    """The strictest answer of a line of sessions, the earliest of equals."""
    return max(line, key=lambda one: one.decision.answer.strength)


def strictest_decision(line: Sequence[Decision]) -> Decision:
    """The strictest decision of a line of sessions, the earliest of equals."""
    return max(line, key=lambda one: one.answer.strength)


def _bypass(record: BypassRecord) -> Bypass:
    return Bypass(
        everything=record.scope is BypassScope.ALL,
        category=record.category,
        server=record.mcp_server,
        until=None if record.until is None else record.until.timestamp(),
    )


def where(session: Session, cwd: str | None) -> str:
    """Where a call of the session starts that names this directory, or none: a canonical path."""
    base = session.context.effective_working_dir()
    return base if cwd is None else session.engine.canonicaliser.stamp(cwd, base).path


def _directory(engine: Engine, written: str) -> str:
    stamp = engine.canonicaliser.directory(written, engine.policy.workspace)
    if not written or stamp.refusal is not None:
        why = stamp.detail or ("it belongs to Stanch itself" if stamp.refusal else "it is empty")
        raise BadFields(("cwd", f"'cwd' is no directory that can be used: {why}"))
    return stamp.path
