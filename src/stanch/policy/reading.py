"""In which order the rules of a session are read, and which of them together keep a later one from speaking.

Settles what is proved of an order of rules, for lint. Does not settle which rule decides a call (`policy.index`), nor
what is said of a rule that never speaks (`policy.lint`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stanch.paths.pattern import PathPattern
from stanch.policy import covering
from stanch.policy.command_covering import covers_commands
from stanch.policy.index import RuleIndex
from stanch.policy.reach import Kind, reaches
from stanch.policy.rule import Rule
from stanch.policy.shell.matching import command_pattern
from stanch.values.decision import Effect


class Reading:
    """The rules of a chain in the order in which they are read, and what is read before each."""

    def __init__(self, chain: Sequence[Rule], inert: Collection[str] = ()) -> None:
        """`inert`: the programs of which nothing is proved, since a rule that names one speaks in any place."""
        self._inert = inert
        must = [rule for rule in chain if rule.mandatory]
        denies = [rule for rule in must if rule.action is Effect.DENY]
        asks = [rule for rule in must if rule.action is Effect.ASK]
        self.order = [*denies, *asks, *(rule for rule in chain if not rule.mandatory)]
        self._rank = {(rule.group, rule.id): at for at, rule in enumerate(self.order)}
        self._index = RuleIndex(chain)
        self._commanded = [rule for rule in self.order if rule.command is not None]

    def covering(self, rule: Rule, kinds: frozenset[Kind]) -> tuple[Rule, ...]:
        """The rules that together keep this one from speaking of these kinds; empty where that is not proved."""
        if not kinds or (rule.path is not None and not rule.patterns) or self._names_inert(rule):
            return ()
        found: dict[int, Rule] = {}
        for kind in kinds:
            for pattern in rule.patterns or (None,):
                before = self._before(rule, kind, pattern)
                if before is None:
                    return ()
                found[self._rank[before.group, before.id]] = before
        return tuple(found[at] for at in sorted(found))

    def _names_inert(self, rule: Rule) -> bool:
        return rule.command is not None and rule.path is None and command_pattern(rule.command).programs in self._inert

    def _before(self, rule: Rule, kind: Kind, pattern: PathPattern | None) -> Rule | None:
        """A rule read before this one that covers all it says of one kind and one pattern."""
        rank = self._rank[rule.group, rule.id]
        key = None if pattern is None else covering.witness(pattern)
        who = self._index.who(rule.agent, rule.source)
        # WHY none for a command on a path: a rule without one may leave such an effect to the command's answer.
        both = rule.command is not None and rule.path is not None
        plain = () if both else self._index.all_matching(kind.tool, kind.cls, kind.declared, key, who)
        for place in plain:
            other = self._index.rules[place]
            if self._rank[other.group, other.id] >= rank:
                break
            if pattern is None or other.path is None or covering.covered_by_any(pattern, other.patterns):
                return other
        for other in self._commanded if rule.command is not None else ():
            if self._rank[other.group, other.id] >= rank:
                break
            if (other.path is None) is not (rule.path is None) or not covers_commands(other, rule):
                continue
            if not reaches(other, kind.tool, kind.cls, kind.declared):
                continue
            if other.agent not in (None, rule.agent) or other.source not in (None, rule.source):
                continue
            if other.path is None or (pattern is not None and covering.covered_by_any(pattern, other.patterns)):
                return other
        return None
