"""The gate's answer to a call, for a session that the store has, or for one that is described with the call.

Settles which engine session answers, and what is said where the session cannot be read. Does not settle the answer
itself (`app.engine`). Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stanch.app.contexts import Contexts
from stanch.app.engine import UNSET, Engine, Session, _Unset
from stanch.app.lineage import Kin, Lines
from stanch.app.live import Live
from stanch.app.session_policies import SessionPolicies
from stanch.app.turns import Turn, Turns
from stanch.paths.grants import BadGrant
from stanch.storage.store import Store
from stanch.tiers.answers import Answers
from stanch.values.context import RunContext
from stanch.values.decision import Decision
from stanch.values.fault import BadContext, BadFields
from stanch.values.identity import Source
from stanch.values.records import SessionRecord

MOST_ANCESTORS = 32


__all__ = ["Answered", "Asking", "Described", "Kin", "strictest", "strictest_decision", "where"]


class Described(NamedTuple):
    """A session that is nowhere stored: what `stanch check` takes as options."""

    agent: str | None = None
    source: Source | None = None
    group: str | None = None
    model: str | None = None
    cwd: str | None = None
    context: RunContext | _Unset | None = UNSET
    skills: tuple[str, ...] = ()


class Answered(NamedTuple):
    """The answer to a call, and the engine's session that gave it."""

    session: Session
    decision: Decision


class Asking:
    """What is asked of the gate."""

    def __init__(
        self, store: Store, live: Live, contexts: Contexts, turns: Turns, policies: SessionPolicies | None = None
    ) -> None:
        self._live, self._contexts, self._turns = live, contexts, turns
        self._policies = policies if policies is not None else SessionPolicies()
        self._lines = Lines(store, live, contexts, turns, self._policies)

    def described(
        self,
        session: Described,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        trace: bool = False,
        hooks: bool = True,
    ) -> Answered:
        """The answer for a session that is described with the call. Raises `BadCall`, `BadFields` and `BadContext`."""
        bound = self.session_of(session)
        return Answered(bound, bound.check(tool, arguments, call_id=call_id, trace=trace, hooks=hooks))

    def session_of(self, session: Described) -> Session:
        """The engine's session as it is described. Raises `BadFields`."""
        engine = self._live.engine
        cwd = None if session.cwd is None else _directory(engine, session.cwd)
        try:
            return engine.session(
                context=session.context,
                agent=session.agent,
                source=session.source,
                group=session.group,
                model=session.model,
                cwd=cwd,
                hooks=self._policies.hooks,
                skills=session.skills,
            )
        except (BadContext, BadGrant) as why:
            raise BadFields(("context", str(why))) from None

    def stored(
        self,
        session_id: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        cwd: str | None = None,
        trace: bool = False,
        hooks: bool = True,
    ) -> Answered:
        """The answer for a session that the store has; of a subagent's and its ancestors', the strictest.

        Within a turn it is judged with the turn's context, else with the stored one. Where the session cannot be read,
        nothing is allowed. Raises `NotFound`, `BadCall`, and `Conflict` where the session has ended.
        """
        return strictest(self.line(session_id, tool, arguments, call_id=call_id, cwd=cwd, trace=trace, hooks=hooks))

    def line(
        self,
        session_id: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        cwd: str | None = None,
        trace: bool = False,
        hooks: bool = True,
    ) -> list[Answered]:
        """The answer of the session itself, then those of its ancestors, each with the bypasses that hold for the call.

        Those are the session's own, and of an ancestor's those of which a person said that they hold for its subagents
        too. WHY for every answer of the line: a person's word about this call is one about whoever judges it; without
        that, a bypass for a subagent would never answer for a rule that its parent is under as well. Raises what
        `stored` raises.
        """
        found: list[Answered] = []
        for _, session, bypasses in self.lineage(session_id):
            decision = session.check(
                tool, arguments, call_id=call_id, trace=trace, cwd=cwd, bypasses=bypasses, hooks=hooks
            )
            if not found:
                # The call's paths start where the session works, whoever judges them; and what a policy or a hook of
                # the session made of it is what its ancestors judge, since it is what runs.
                cwd, arguments = where(session, cwd), decision.call.call.arguments
            found.append(Answered(session, decision))
        return found

    def lineage(self, session_id: str, *, ended: bool = False) -> list[Kin]:
        """The session itself, then its ancestors, each as the engine has it. Raises what `stored` raises.

        `ended`: the session may have ended, for whoever only looks back.
        """
        return self._lines.lineage(session_id, ended=ended)

    def answers(self, record: SessionRecord) -> Answers:
        """What persons have answered in the session where the tier of its model asks. Raises `BrokenRow`."""
        return self._lines.answers(record)

    def turn(self, session_id: str) -> Turn:
        """The session's new turn, bound to the context that is stored now.

        Raises `NotFound`, `BrokenRow`, `Conflict` where it has ended, and `BadContext` for a context of no use by now.
        """
        record = self._lines.going_on(session_id)
        # WHY already here: the last one is over, also where no new one can begin.
        self._turns.forget(session_id)
        turn = Turn(session_id, self._contexts.now(record))
        try:
            self._lines.bound(turn, record)
        except BadGrant as why:
            raise BadContext(f"a grant of the session's context cannot be used: {why}") from None
        self._turns.begin(turn)
        return turn

    def bound(self, turn: Turn) -> Session:
        """The engine's session for a turn. Raises what `turn` raises."""
        return self._lines.bound(turn, self._lines.going_on(turn.session_id))


def strictest(line: Sequence[Answered]) -> Answered:
    """The strictest answer of a line of sessions, the earliest of equals."""
    return max(line, key=lambda one: one.decision.answer.strength)


def strictest_decision(line: Sequence[Decision]) -> Decision:
    """The strictest decision of a line of sessions, the earliest of equals."""
    return max(line, key=lambda one: one.answer.strength)


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
