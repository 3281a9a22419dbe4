"""The smallest single change that would give a call another answer, and what else it would change.

Settles which change that is, by asking the engine itself with each one made, and what of recorded calls would be
answered otherwise. Does not settle what is tried (`app.candidates`), nor how a change is written (`policy.patching`).

The smallest is the one by which the fewest other recorded calls get another answer; of equals the one with the
narrowest reach, then a grant before a rule before a tier cell, then the one that stands first.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from stanch.app.affected import Affected
from stanch.app.beside import Party, Told, told, unheard
from stanch.app.candidates import Candidate, Candidates
from stanch.app.change_warnings import HOOK, warnings_of
from stanch.app.engine import Engine, Session
from stanch.app.objections import Objection, objections
from stanch.app.recorded import Recorded
from stanch.gate.context import EffectiveContext
from stanch.paths.grants import BadGrant
from stanch.policy.changes import Change, GrantChange, Owner, Reach, RuleChange, What, changed, granted
from stanch.policy.document import Document
from stanch.policy.patching import Patch, Patching
from stanch.values.call import JudgedCall
from stanch.values.decision import Decision, Effect
from stanch.values.fault import BadContext

MOST_SUGGESTED = 3
MOST_SHOWN = 5


class Otherwise(NamedTuple):
    """A recorded call that would be answered otherwise."""

    call: Recorded
    before: Effect
    after: Effect


Place = tuple[int, tuple[Reach, int], int, str, tuple[str, ...]]
"""The place of a change among others, the smallest first."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """A change that gives the call the answer that was asked for, alone.

    `patch` is how it is made. `others` counts the recorded calls that would get another answer by it, `first` are the
    first of them. `warnings` are sentences that a person has to know before.
    """

    change: Change
    patch: Patch
    others: int = 0
    first: tuple[Otherwise, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flips:
    """What would make the answer another one. `suggested` are changes, the smallest first; none where none is enough.

    `objections` are then those who stand in the way, in the order in which they are asked. `cannot` says what cannot be
    written, where the smallest change names more than the call. `looked_at` is how many recorded calls were looked at.
    """

    now: Effect
    to: Effect
    suggested: tuple[Suggested, ...] = ()
    objections: tuple[Objection, ...] = ()
    cannot: tuple[str, ...] = ()
    looked_at: int = 0


@dataclass(slots=True)
class Flipping:
    """One question: who asks, what was answered, and what is known besides.

    `parties` are the sessions that judge the call, its own first. `document` is what the policy was made of. `owner` is
    whose default the run context of the call's session is; None: its own.
    `stored` are the groups that the database keeps.
    """

    parties: Sequence[Party]
    decision: Decision
    document: Document
    cwd: str | None = None
    owner: Owner | None = None
    stored: Container[str] = ()
    recorded: Sequence[Recorded] = ()
    _before: dict[int, tuple[list[tuple[Party, JudgedCall]], Effect]] = field(default_factory=dict)
    _beside: Sequence[Sequence[Told]] = ()

    def flips(self, to: Effect) -> Flips:
        """What would make the answer `to`."""
        now, engine, own = self.decision.effect, self.engine, self.decision.call.call
        self.recorded = [one for one in self.recorded if one.call[:2] != own[:2]]
        judged = [(party, self._stamped(party.session)) for party in self.parties]
        if now is to:
            return Flips(now, to)
        self._beside = told(judged, self.decision)
        against = tuple(objections(judged, self.decision, to, self._beside))
        if any(one.since for one in against) or self._refused:
            return Flips(now, to, objections=against)
        cannot: dict[str, None] = {}
        helping: list[tuple[Candidate, Patch]] = []
        seen: set[object] = set()
        writing = Patching(self.document, engine.policy)
        for one in self._candidates(judged, to, cannot):
            if _alike(one.change) in seen or self._asked(one.change, judged, engine) is not to:
                continue
            made = writing.patch(one.change)
            if made is not None:
                seen.add(_alike(one.change))
                helping.append((one, made))
        counted = sorted((self._counted(*one) for one in helping), key=lambda one: one[0])
        waits = () if to is Effect.DENY or not unheard(judged, self.decision) else (HOOK,)
        suggested = tuple(replace(one, warnings=(*one.warnings, *waits)) for _, one in counted[:MOST_SUGGESTED])
        looked = len(self.recorded)
        exact = bool(suggested) and suggested[0].change.what is What.ADD
        return Flips(now, to, suggested, () if suggested else against, () if exact else tuple(cannot), looked)

    @property
    def engine(self) -> Engine:
        """The engine that answered."""
        engine = self.parties[0].session.engine
        if not isinstance(engine, Engine):
            raise TypeError("only a session of the engine itself can be asked again")
        return engine

    @property
    def _refused(self) -> bool:
        return any(effect.stamp is not None and effect.stamp.refusal for effect in self.decision.call.effects)

    def _stamped(self, session: Session) -> JudgedCall:
        return session.stamped(self.decision.call.call, self.cwd)

    def _candidates(
        self, judged: Sequence[tuple[Party, JudgedCall]], to: Effect, cannot: dict[str, None]
    ) -> list[Candidate]:
        found: dict[Change, Candidate] = {}
        for at, (party, call) in enumerate(judged):
            own = party.session.judging(call, party.bypasses, self._beside[at])
            if own.effect is to:
                continue
            stamps = [effect.stamp for effect in call.effects if effect.stamp is not None]
            directories = {stamp.key for stamp in stamps if os.path.isdir(stamp.path)}
            tried = Candidates(party.session, own, to, directories, self.owner, self.stored, not at, cannot)
            found |= {one.change: one for one in tried.all() if one.change not in found}
        return sorted(found.values(), key=lambda one: one.order)

    # --- asking again -----------------------------------------------------------------------------------------------

    def _asked(self, change: Change, judged: Sequence[tuple[Party, JudgedCall]], engine: Engine) -> Effect | None:
        """The answer to the call with the change made; None where it cannot be made."""
        try:
            parties = self._changed(
                [party for party, _ in judged], change, engine.with_policy(changed(engine.policy, change))
            )
        except (BadContext, BadGrant):
            return None
        return _strictest(parties, [self._stamped(party.session) for party in parties], self._beside)

    def _changed(self, parties: Iterable[Party], change: Change, engine: Engine) -> list[Party]:
        """The same sessions with the change made: a grant is one of the first's context alone."""
        found = []
        for at, (session, bypasses) in enumerate(parties):
            context = None
            if isinstance(change, GrantChange) and not at:
                old = session.context
                context = EffectiveContext(
                    granted(old.written, change),
                    engine.policy.workspace,
                    engine.canonicaliser.directory,
                    old.effective_working_dir(),
                )
            found.append(Party(session.under(engine, context), bypasses))
        return found

    # --- what else changes ------------------------------------------------------------------------------------------

    def _counted(self, one: Candidate, made: Patch) -> tuple[Place, Suggested]:
        """The change with what it does to recorded calls, and its place among others."""
        change, engine = one.change, self.engine
        other = engine.with_policy(changed(engine.policy, change))
        affected = Affected(change)
        sessions: dict[int, list[Party]] = {}
        found: list[Otherwise] = []
        for at, call in enumerate(self.recorded):
            if isinstance(change, GrantChange) and not call.shares_context:
                continue
            judged, before = self._as_it_is(at, call)
            if not any(affected.by(party.session, own) for party, own in judged):
                continue
            key = id(call.parties)
            if key not in sessions:
                sessions[key] = self._changed(call.parties, change, other)
            calls = [own for _, own in judged]
            if affected.closes or any(effect.below is not None for own in calls for effect in own.effects):
                calls = [party.session.stamped(call.call, call.cwd) for party in sessions[key]]
            after = _strictest(sessions[key], calls)
            if after is not before:
                found.append(Otherwise(call, before, after))
        warnings = tuple(warnings_of(change, self.decision.call))
        suggested = Suggested(change, made, len(found), tuple(found[:MOST_SHOWN]), warnings)
        line = made.place.rpartition(":")[2]
        place = (len(found), one.order, int(line) if line.isdigit() else 0, made.place, made.lines)
        return place, suggested

    def _as_it_is(self, at: int, call: Recorded) -> tuple[list[tuple[Party, JudgedCall]], Effect]:
        """A recorded call as each of its sessions reads it, and its answer as the policy is now."""
        if at not in self._before:
            judged = [(party, party.session.stamped(call.call, call.cwd)) for party in call.parties]
            effect = _strictest([party for party, _ in judged], [own for _, own in judged])
            self._before[at] = judged, effect
        return self._before[at]


def owner_of(session: Session) -> Owner | None:
    """Whose default run context a session has that brought none: one that is there, else one that may be written."""
    policy, who = session.engine.policy, session.who
    if who.agent is not None and (who.agent in policy.agent_defaults or who.source is None):
        return Owner("agent", who.agent)
    if who.source is not None and (who.source.value in policy.source_defaults or who.agent is None):
        return Owner("source", who.source.value)
    return None if who.agent is None else Owner("agent", who.agent)


def _strictest(
    parties: Sequence[Party], calls: Sequence[JudgedCall], beside: Sequence[Sequence[Told]] | None = None
) -> Effect:
    others = [()] * len(parties) if beside is None else beside
    said = [
        party.session.judging(call, party.bypasses, told_)
        for party, call, told_ in zip(parties, calls, others, strict=True)
    ]
    return max(said, key=lambda one: one.answer.strength).effect


def _alike(change: Change) -> object:
    """What two changes have in common that say the same in two places."""
    if isinstance(change, RuleChange) and change.before is None:
        rule = change.rule
        return change.group, rule.tool, rule.path, rule.command, rule.agent, rule.source
    return change
