"""Every single change that could give a call another answer: those that are tried, and why others are not.

Settles what is tried. Does not settle what helps, nor which of those is the smallest (`app.flipping`).
INVARIANT: a rule, a grant or a cell that is added names what the call names, and nothing beside it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from stanch.app.engine import Session
from stanch.app.explaining import contests
from stanch.paths.pattern import BadPattern, PathPattern
from stanch.policy.changes import (
    CellChange,
    Change,
    GrantChange,
    Kind,
    Owner,
    Paths,
    Reach,
    RuleChange,
    Tools,
    Who,
    edited,
    first_of,
    reach_of,
    removed,
)
from stanch.policy.exactly import Unwritable, command_text, grant_text, path_text, tool_text
from stanch.policy.reach import reaches
from stanch.policy.rule import DEFAULT_GROUP, DEFAULT_PRIORITY, Rule
from stanch.tiers.answers import UNKNOWN, targets_of
from stanch.values.call import CallEffect, EffectClass
from stanch.values.decision import Decision, Effect

MOST_BELOW = 10
_FILES = (EffectClass.READ, EffectClass.WRITE)


class Candidate(NamedTuple):
    """A change, and how far it reaches."""

    change: Change
    reach: Reach

    @property
    def order(self) -> tuple[Reach, int]:
        """Its place among changes that give as many other calls another answer."""
        return self.reach, list(Kind).index(self.change.kind)


@dataclass(slots=True)
class Candidates:
    """What is tried for one call of one session, and why some things cannot be written.

    `decision` is the answer of this session alone. `directory` says whether a canonical path is a directory now.
    `owner` is whose default the session's run context is; `stored` are the groups that the database keeps. `grants`:
    the run context may be another.
    """

    session: Session
    decision: Decision
    to: Effect
    directory: Container[str]
    owner: Owner | None
    stored: Container[str]
    grants: bool = True
    cannot: dict[str, None] = field(default_factory=dict)

    def all(self) -> list[Candidate]:
        """Every candidate once, the smallest first as far as that can be said before calls are counted."""
        found: dict[Change, Candidate] = {}
        for one in (*self._rules(), *self._grants(), *self._cells()):
            found.setdefault(one.change, one)
        return sorted(found.values(), key=lambda one: one.order)

    @property
    def group(self) -> str:
        """The group that an added rule stands in: the session's own, `default` where it names none."""
        own = self.session.who.group
        return DEFAULT_GROUP if own is None else own

    def _wanting(self) -> Iterator[tuple[int, CallEffect]]:
        """The effects whose answers are to be others."""
        most = 0 if self.to is Effect.ALLOW else 2
        for at, (effect, answer) in enumerate(zip(self.decision.call.effects, self.decision.answers, strict=True)):
            if self._raises or answer is None or answer.strength > most:
                yield at, effect

    # --- rules ------------------------------------------------------------------------------------------------------

    def _rules(self) -> Iterator[Candidate]:
        policy = self.session.engine.policy
        own = self.session.who.group
        missing = own is not None and own not in policy.groups
        if missing:
            self.cannot[f'the group "{own}" is not there: write it first'] = None
            if self.to is Effect.ALLOW:
                return
        found = contests(self.session, self.decision)
        wanting = dict(self._wanting())
        # WHY none is added where the group is missing: it would stand in `default`, and hold for every other session.
        alone = not missing and (self._raises or self._one_target(list(wanting.values())))
        for at, effect in wanting.items():
            first = found[at].first if at < len(found) else None
            if at < len(found) and found[at].as_command:
                continue  # its answer is that of the command, which is one of the others
            answer = self.decision.answers[at]
            ref = None if answer is None else answer.rule
            spoke = [] if first is None else [first]
            if ref is not None and ref.group in policy.groups:
                spoke += [rule for rule in policy.groups[ref.group].rules if rule.id == ref.id and rule != first]
            spoke += self._silent_until_closing(effect)
            for rule in filter(self._may_change, spoke):
                yield from self._changed(rule, None if effect.stamp is None else effect.stamp.key)
            if alone:
                yield from self._added(effect, first)

    def _silent_until_closing(self, effect: CallEffect) -> Iterator[Rule]:
        """The rules that speak of an effect only where they close: one for a built-in tool closes its whole class."""
        call, who = self.decision.call, self.session.who
        if not self._raises:
            return
        for name in dict.fromkeys((who.group, DEFAULT_GROUP)):
            group = None if name is None else self.session.engine.policy.groups.get(name)
            for rule in () if group is None else group.rules:
                if rule.action is not Effect.ALLOW or reaches(rule, call.call.tool, effect.cls, call.declared):
                    continue
                if reaches(replace(rule, action=Effect.DENY), call.call.tool, effect.cls, call.declared):
                    yield rule

    def _may_change(self, rule: Rule) -> bool:
        """False for a rule that must not be opened for one call's sake: it keeps far more closed than that.

        One that speaks of every path and of more tools than one is such, but for a mandatory one, which is warned of;
        so is one that names no command, where a command runs, or not this very tool, where nobody has described it.
        """
        if self._raises:
            return True
        call = self.decision.call
        if not call.declared:
            return rule.tool == call.call.tool
        if any(effect.command is not None and effect.found is None for effect in call.effects):
            return rule.command is not None or rule.path is not None
        one = rule.tool == call.call.tool or rule.mandatory
        return one or rule.path is not None or rule.command is not None

    @property
    def _raises(self) -> bool:
        """True where the answer is to be a stricter one: then one effect is enough."""
        return self.decision.effect is not Effect.DENY and self.to is not Effect.ALLOW

    def _one_target(self, effects: Sequence[CallEffect]) -> bool:
        """True where one rule can name all that the effects touch: the same path, the same command, or the tool."""
        if not self.decision.call.declared:
            return True
        commands = {effect.command for effect in effects if effect.command is not None}
        if commands:
            return len(commands) == 1
        return len({None if effect.stamp is None else effect.stamp.key for effect in effects}) == 1

    def _changed(self, rule: Rule, key: str | None) -> Iterator[Candidate]:
        directory = key in self.directory
        reach = reach_of(rule, key, directory=directory)
        for action in Effect:
            if action is not rule.action and not (rule.mandatory and action is Effect.ALLOW):
                change = edited(rule, action)
                yield Candidate(change, max(reach, reach_of(change.after or rule, key, directory=directory)))
        yield Candidate(removed(rule), reach)

    def _added(self, effect: CallEffect, first: Rule | None) -> Iterator[Candidate]:
        """The rule that names the target alone, directly above the one that speaks first, or wherever it is heard."""
        named = self._naming(effect)
        if named is None:
            return
        group = self.session.engine.policy.groups[self.group]
        key = None if effect.stamp is None else effect.stamp.key
        own = first is not None and first.group == self.group and not first.mandatory
        places = [first] if own else [None, first_of(group)]
        kept = self.group in self.stored
        for mandatory in (False,) if self.to is Effect.ALLOW else (False, True):
            for above in places:
                priority = DEFAULT_PRIORITY if above is None else above.priority - kept
                new = replace(named, mandatory=mandatory, priority=priority)
                # WHY in a database by priority: nothing is put between two rules there, since its numbers only grow.
                change = RuleChange(self.group, None, new, None if above is None or kept else above.id)
                yield Candidate(change, reach_of(new, key, directory=key in self.directory))

    def _naming(self, effect: CallEffect) -> Rule | None:
        """The rule that names this tool and this target alone; None where none can, which is then noted."""
        call, who = self.decision.call, self.session.who
        tool = self._text(tool_text(call.call.tool))
        command = path = None
        patterns: tuple[PathPattern, ...] = ()
        if effect.command is not None:
            if effect.found is not None and effect.stamp is None:
                return None
            command = self._text(command_text(effect.command))
            if command is None:
                return None
        if effect.stamp is not None and call.declared:
            path = self._text(path_text(effect.stamp.key, self.session.engine.policy.workspace))
            patterns = self._patterns(path)
            if not patterns:
                return None
        if tool is None:
            return None
        source = None if who.source is None else who.source.value
        return Rule(
            0, self.group, tool, self.to, path=path, command=command, agent=who.agent, source=source, patterns=patterns
        )

    def _patterns(self, path: str | None) -> tuple[PathPattern, ...]:
        try:
            return () if path is None else self.session.engine.patterns(path)
        except BadPattern as why:
            self.cannot[f"no rule can name this path: {why}"] = None
            return ()

    def _text(self, said: str | Unwritable) -> str | None:
        if isinstance(said, str):
            return said
        self.cannot[said.why] = None
        return None

    # --- grants -----------------------------------------------------------------------------------------------------

    def _grants(self) -> Iterator[Candidate]:
        for _, effect in self._wanting() if self.grants else ():
            stamp = effect.stamp
            if stamp is None or effect.cls not in _FILES or stamp.refusal is not None or effect.cls is None:
                continue
            paths = Paths.DIRECTORY if stamp.path in self.directory else Paths.EXACT
            if self.to is Effect.ALLOW:
                text = self._text(grant_text(stamp.path))
                if text is not None and self.decision.call.declared:
                    change = GrantChange(effect.cls, text, owner=self.owner)
                    yield Candidate(change, Reach(paths, Tools.CLASS, Who.SOME))
            elif self.to is Effect.ASK:
                for cls in _FILES:
                    yield from (
                        Candidate(
                            GrantChange(cls, one, True, self.owner), Reach(Paths.DIRECTORY, Tools.CLASS, Who.SOME)
                        )
                        for one in getattr(self.session.context.written, f"allow_fs_{cls.value}s")
                    )

    # --- tiers ------------------------------------------------------------------------------------------------------

    def _cells(self) -> Iterator[Candidate]:
        for seen in self.session.seen:
            spec = self.session.engine.policy.tiers[seen.tier.id]
            for _, effect in self._wanting():
                if effect.cls is None:
                    continue
                below = () if effect.below is None else effect.below.keys[:MOST_BELOW]
                for key, folded in (*targets_of(effect), *((one, False) for one in below)):
                    held = seen.tier.says(effect.cls, None if key == UNKNOWN else key, folded=folded)
                    if held.effect is not self.to:
                        yield self._spoken(seen.tier.id, effect.cls, held.cell, held.effect, key)
                    if key is not None and key != UNKNOWN and effect.cls is not EffectClass.NETWORK:
                        yield from self._new_cell(spec.id, effect.cls, key)

    def _spoken(self, tier: str, cls: EffectClass, cell: int, before: Effect, key: str | None) -> Candidate:
        paths = Paths.ANY
        path = ""
        if cell:
            spec = self.session.engine.policy.tiers[tier]
            path, patterns = spec.cells[cell - 1]["path"], spec.patterns[cell - 1]
            wild = any(part.wild for pattern in patterns for part in pattern.parts)
            exact = any(pattern.literal == key for pattern in patterns) and key not in self.directory
            paths = Paths.GLOB if wild else Paths.EXACT if exact else Paths.DIRECTORY
        return Candidate(CellChange(tier, cls, cell, before, self.to, path), Reach(paths, Tools.CLASS, Who.ALL))

    def _new_cell(self, tier: str, cls: EffectClass, key: str) -> Iterator[Candidate]:
        path = self._text(path_text(key, self.session.engine.policy.workspace))
        patterns = self._patterns(path)
        if path is not None and patterns:
            paths = Paths.DIRECTORY if key in self.directory or cls is EffectClass.EXECUTE else Paths.EXACT
            change = CellChange(tier, cls, None, None, self.to, path, patterns)
            yield Candidate(change, Reach(paths, Tools.CLASS, Who.ALL))
