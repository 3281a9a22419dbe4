"""Which recorded calls a change could give another answer: all others need not be asked about again.

Settles what is passed over. INVARIANT: a call that the change gives another answer is never passed over; one that it
does not may be asked about in vain.
"""

from __future__ import annotations

from stanch.app.engine import Session
from stanch.paths.pattern import glob
from stanch.policy.changes import CellChange, Change, RuleChange
from stanch.policy.reach import reaches
from stanch.policy.rule import DEFAULT_GROUP, Rule
from stanch.policy.shell.matching import command_pattern
from stanch.values.call import CallEffect, EffectClass, JudgedCall
from stanch.values.decision import Effect

_FILES = (EffectClass.READ, EffectClass.WRITE)


class Affected:
    """What one change could affect. `closes`: it may close what lies below a directory, which is then looked for."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self._rules: tuple[Rule, ...] = ()
        if isinstance(change, RuleChange):
            self._rules = tuple(rule for rule in (change.before, change.after) if rule is not None)
            after = change.after
            self.closes = after is not None and (after.mandatory or after.action is Effect.DENY)
        else:
            self.closes = isinstance(change, CellChange) and change.after is not Effect.ALLOW
        self._programs = {_program(rule) for rule in self._rules if rule.command is not None}

    def by(self, session: Session, call: JudgedCall) -> bool:
        """True where the change could give the call of this session another answer."""
        change = self.change
        if isinstance(change, RuleChange):
            who = session.who
            if change.group not in (DEFAULT_GROUP, who.group):
                return False
            source = None if who.source is None else who.source.value
            if not any(rule.agent in (None, who.agent) and rule.source in (None, source) for rule in self._rules):
                return False
            return any(self._rule(rule, call, effect) for rule in self._rules for effect in call.effects)
        if isinstance(change, CellChange):
            if change.tier not in {seen.tier.id for seen in session.seen}:
                return False
            return any(effect.cls is change.cls and self._cell(change, effect) for effect in call.effects)
        return any(effect.stamp is not None and effect.cls in _FILES for effect in call.effects)

    def _rule(self, rule: Rule, call: JudgedCall, effect: CallEffect) -> bool:
        if effect.command is not None:
            if rule.command is not None and effect.command.program:
                fits = any(glob(program)(effect.command.program) for program in self._programs)
                return fits and self._path(rule, effect)
            return effect.found is None or self._path(rule, effect)
        if rule.command is not None:
            return effect.cls is EffectClass.EXECUTE
        return reaches(rule, call.call.tool, effect.cls, call.declared) and self._path(rule, effect)

    def _path(self, rule: Rule, effect: CallEffect) -> bool:
        stamp = effect.stamp
        if rule.path is None or stamp is None:
            return rule.path is None
        if _wide(effect) or any(pattern.covers(stamp.key) for pattern in rule.patterns):
            return True
        # WHY: what reaches down from above the path meets it there.
        heads = [pattern.literal for pattern in rule.patterns]
        return self.closes and any(head.startswith(stamp.key.rstrip("/") + "/") or not head for head in heads)

    def _cell(self, change: CellChange, effect: CallEffect) -> bool:
        stamp = effect.stamp
        if not change.patterns or self.closes or stamp is None or effect.places or _wide(effect):
            return True
        return any(pattern.covers(stamp.key) for pattern in change.patterns)


def _wide(effect: CallEffect) -> bool:
    """True where more than the path itself counts, or it is compared in another way."""
    return effect.below is not None or (effect.stamp is not None and effect.stamp.folded)


def _program(rule: Rule) -> str:
    return command_pattern(rule.command or "*").program.rpartition("/")[2]
