"""A stored session and the sessions above it, each as the engine has it.

Settles what of each of them is asked about a call, so that nothing is asked twice, and what is said where one cannot be
read. Does not settle which answer of a line counts (`app.asking`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from stanch.app.contexts import Contexts
from stanch.app.engine import Engine, Session
from stanch.app.further import Further
from stanch.app.live import Live
from stanch.app.session_policies import SessionPolicies
from stanch.app.session_rules import Who
from stanch.app.turns import Turn, Turns
from stanch.gate.relax import Bypass
from stanch.paths.grants import BadGrant
from stanch.storage.store import Store
from stanch.tiers.answers import NO_ANSWERS, Answers
from stanch.values.approval import BypassRecord, BypassScope
from stanch.values.context import RunContext
from stanch.values.fault import BadContext, Conflict, NotFound, StoreUnreadable, quoted
from stanch.values.records import Broken, SessionRecord

MOST_ANCESTORS = 32


class Kin(NamedTuple):
    """One session of a line: its id, the engine's session for it, and the bypasses that hold for calls of the line."""

    session_id: str
    session: Session
    bypasses: Sequence[Bypass]


class _Line(NamedTuple):
    """The records of a session and of its ancestors, and which of them cannot be read, and why."""

    records: tuple[SessionRecord, ...]
    unread: tuple[str, str] | None = None

    def key(self, place: int, answers: Answers) -> object:
        """What the engine's session of one of them depends on, besides its context."""
        record, own = self.records[place], self.records[0]
        whose = (record.agent_id, record.source, record.model, answers, record.skills, record.narrowing, own.approver)
        if place:
            return (*whose, own.id, own.agent_id, own.source)
        return (*whose, tuple((one.id, one.has_policy, one.ended_at) for one in self.records))


class Lines:
    """The lines of sessions in a store."""

    def __init__(self, store: Store, live: Live, contexts: Contexts, turns: Turns, policies: SessionPolicies) -> None:
        self._store, self._live, self._contexts, self._turns = store, live, contexts, turns
        self._policies = policies

    def lineage(self, session_id: str, *, ended: bool = False) -> list[Kin]:
        """The session itself, then its ancestors, each as the engine has it. Raises what `stored` raises.

        `ended`: the session may have ended, for whoever only looks back.
        """
        lineage = [*self._line_of(self._live.engine, session_id, ended)]
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

    def answers(self, record: SessionRecord) -> Answers:
        """What persons have answered in the session where the tier of its model asks. Raises `BrokenRow`."""
        return NO_ANSWERS if record.model is None else Answers(self._store.tier_answers(record.id))

    def going_on(self, session_id: str) -> SessionRecord:
        """The record of a session that has not ended. Raises `NotFound`, and `Conflict` where it has."""
        record = self._store.get_session(session_id)
        if record.ended_at is not None:
            self._turns.forget(session_id)
            raise Conflict(f"the session {quoted(session_id)} has ended")
        return record

    def _line_of(self, engine: Engine, session_id: str, ended: bool = False) -> Iterator[tuple[str, Session]]:
        """The id and the engine's session of a stored one, then those of its ancestors, ended or not."""
        try:
            line = self._records(self._store.get_session(session_id) if ended else self.going_on(session_id))
        except StoreUnreadable as why:
            yield session_id, engine.session(context=None, unreadable=str(why))
            return
        for place, record in enumerate(line.records):
            yield record.id, self._session_of(engine, line, place)
        if line.unread is not None:
            lost, why_lost = line.unread
            own = line.records[0]
            below = Further(session=own.id, below=Who(None, own.agent_id, own.source))
            yield lost, engine.session(context=None, unreadable=why_lost, further=below)

    def _records(self, own: SessionRecord) -> _Line:
        """The records of a session and its ancestors, as far as they can be read."""
        records, seen = [own], {own.id}
        wanted = own.parent_id
        while wanted is not None and wanted not in seen:
            seen.add(wanted)
            try:
                records.append(self._ancestor(wanted, len(seen)))
            except StoreUnreadable as why:
                return _Line(tuple(records), (wanted, str(why)))
            wanted = records[-1].parent_id
        return _Line(tuple(records))

    def bound(self, turn: Turn, record: SessionRecord) -> Session:
        """The engine's session of a turn. Raises `BadContext` and `BadGrant`, and `BrokenRow`."""
        return self._bound(self._live.engine, turn, self._records(record))

    def _bound(self, engine: Engine, turn: Turn, line: _Line, place: int = 0) -> Session:
        """The engine's session of one of a line, as itself or, further up, as an ancestor of the first."""
        record, answers = line.records[place], self.answers(line.records[place])
        further = partial(self._further, line, place)

        def made(context: RunContext | None) -> Session:
            return engine.session(
                context=context,
                agent=record.agent_id,
                source=record.source,
                model=record.model,
                answers=answers,
                approver=line.records[0].approver,
                further=further(),
            )

        return turn.bound(engine, line.key(place, answers), made)

    def _further(self, line: _Line, place: int) -> Further:
        """What a session has besides its rules and its tier. The policies of all are asked once, for the first."""
        record, own = line.records[place], line.records[0]
        further = Further(record.skills, record.narrowing.rows, session=own.id)
        if place:
            return further._replace(below=Who(None, own.agent_id, own.source))
        above = self._policies.above(line.records[1:])
        return further._replace(policies=self._policies.of(own), inherited=above, hooks=self._policies.hooks)

    def _session_of(self, engine: Engine, line: _Line, place: int) -> Session:
        """The engine's session for a stored one.

        Where its context cannot be used, the denies that are meant for it stand where it works, and nothing is allowed.
        """
        record = line.records[place]
        context = record.run_context
        try:
            turn = self._turns.of(record.id) or Turn(record.id, self._contexts.now(record))
            context = turn.context
            return self._bound(engine, turn, line, place)
        except StoreUnreadable as why:
            unreadable = str(why)
        except (BadContext, BadGrant) as why:
            unreadable = f"the context of the session is of no use: {why}"
        group, directory = (None, None) if context is None else (context.security_group, context.working_directory)
        refusing = partial(
            engine.session,
            agent=record.agent_id,
            source=record.source,
            model=record.model,
            unreadable=unreadable,
            further=self._further(line, place),
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


def _bypass(record: BypassRecord) -> Bypass:
    return Bypass(
        everything=record.scope is BypassScope.ALL,
        category=record.category,
        server=record.mcp_server,
        until=None if record.until is None else record.until.timestamp(),
    )
