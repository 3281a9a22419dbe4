"""Rows: rules beside the persisted ones that only narrow, of an active skill, of a session, of an organization.

Settles what a layer of such rows says of a call: denies and asks, the strictest row that fits. Does not settle where
rows come from, nor which rule fits (`policy.persisted`, over the same index).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stanch.policy.index import RuleIndex
from stanch.policy.layers import NO_OBJECTION, LayerAnswer
from stanch.policy.persisted import PersistedRules, ProbedRules
from stanch.policy.rule import Rule
from stanch.values.call import CallEffect, EffectClass, JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId

SKILL, NARROWING, ORGANIZATION = "skill:", "narrowing", "organization"
"""What `RuleRef.group` says of a row's owner; of a skill's rows its name stands behind."""
_NO_MEMORY = "\0"  # no path begins so: rows know no exception for the memory directory
_DENIES_ONLY = frozenset({LayerId.SKILL_ROWS})
_DOUBTS = frozenset({Code.COVERS_REFUSED, Code.MAY_WRITE_CLOSED})


class RowsLayer:
    """A layer that is made of rules which deny or ask. What else they say counts as nothing.

    Of the rows that fit, the strictest counts: a deny, then an ask that is `mandatory`, which only a person may answer,
    then any other ask; of equals the first. Where a search or a command may reach what a row closes, or runs something
    of which nobody can say whether a row about commands is meant, that is an ask which only a person may answer.
    """

    immediate = True

    def __init__(
        self, layer: LayerId, rules: Iterable[Rule], *, agent: str | None = None, source: str | None = None
    ) -> None:
        self.id = layer
        self.rules = tuple(_strict(rule) for rule in rules if _may(layer, rule))
        self._rows = PersistedRules(RuleIndex(self.rules), agent=agent, source=source, memory=_NO_MEMORY)
        self._meant: dict[int, tuple[Answer, Answer]] = {}

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """What the rows say of each effect of the call."""
        said = self._rows.ask(call)
        if not isinstance(said, list):
            return said
        meant = [
            None if answer is None or answer.effect is Effect.ALLOW else self._of(call, effect, answer)
            for effect, answer in zip(call.effects, said, strict=True)
        ]
        return meant if any(answer is not None for answer in meant) else NO_OBJECTION

    def may_refuse(self, tool: str, cls: EffectClass, *, declared: bool = True) -> bool:
        """True where it matters what lies below a directory that such an effect reaches down from."""
        return self._rows.index.last_closing >= 0 or self._rows.may_refuse(tool, cls, declared)

    def bound(self, agent: str | None, source: str | None) -> RowsLayer:
        """The same rows for another session, over the same index."""
        layer = RowsLayer.__new__(RowsLayer)
        layer.id, layer.rules, layer._meant = self.id, self.rules, {}
        layer._rows = PersistedRules(self._rows.index, agent=agent, source=source, memory=_NO_MEMORY)
        return layer

    def probed(self, also: str) -> RowsLayer:
        """The same layer for a probe, whose tool is known by another name as well."""
        layer = RowsLayer.__new__(RowsLayer)
        layer.id, layer.rules, layer._meant = self.id, self.rules, {}
        layer._rows = ProbedRules(self._rows, also)
        return layer

    def _of(self, call: JudgedCall, effect: CallEffect, answer: Answer) -> Answer | None:
        """The answer of the rows as this layer's own; None for what they do not speak of."""
        code = answer.code
        if code is Code.RULE:
            known = self._meant.get(id(answer))
            if known is None:
                known = self._meant[id(answer)] = answer, replace(answer, layer=self.id)
            return known[1]
        if code is Code.COVERS_TOO_MUCH:
            # WHY asked: other layers have it looked for what lies below, too.
            cls = effect.cls
            doubts = cls is not None and self.may_refuse(call.call.tool, cls, declared=call.declared)
        else:
            # Of a command that cannot be read the persisted rules ask; of what is no command they do not know the rows.
            doubts = code in _DOUBTS or (code is Code.COMMAND_UNREAD and effect.command is None)
        return replace(answer, layer=self.id, mandated=True) if doubts else None


def _may(layer: LayerId, rule: Rule) -> bool:
    """True for a rule that a layer of rows may have."""
    return rule.action is Effect.DENY or (rule.action is Effect.ASK and layer not in _DENIES_ONLY)


def _strict(rule: Rule) -> Rule:
    """The rule as the index reads the strictest first: denies are all mandatory, and so come before every ask."""
    return replace(rule, mandatory=True) if rule.action is Effect.DENY else rule
