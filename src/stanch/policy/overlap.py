"""Which allow rules take part of what a later deny of the same group forbids.

Settles the pairs. An allow that lies within the deny, or that holds for a narrower place, agent, source or command, is
an exception that somebody meant, and no pair; so is whatever comes before a mandatory deny.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stanch.policy import covering
from stanch.policy.command_covering import wider
from stanch.policy.declared import Tool
from stanch.policy.reach import Kind, known_kinds, reaches
from stanch.policy.rule import CLASSES, Rule
from stanch.values.decision import Effect

Head = tuple[str, ...]


def partly_unreachable(ordered: Sequence[Rule], tools: Mapping[str, Tool]) -> Iterator[tuple[Rule, Rule]]:
    """Each deny that an allow read before it cuts into, with that allow: the first one for each deny.

    `ordered` are the rules of one group that are not mandatory, in the order in which they are read.
    """
    kinds = _Kinds(ordered, tools)
    allows = _Allows()
    for rule in ordered:
        if rule.action is Effect.ALLOW:
            allows.add(rule)
        elif rule.action is Effect.DENY:
            for allow in allows.near(rule):
                if _cuts(allow, rule, kinds):
                    yield allow, rule
                    break


class _Kinds:
    """The known kinds of effects that each tool pattern speaks of."""

    def __init__(self, rules: Sequence[Rule], tools: Mapping[str, Tool]) -> None:
        names = [rule.tool for rule in rules if "*" not in rule.tool and rule.tool not in CLASSES]
        self._all = known_kinds(tools, names)
        self._of: dict[tuple[str, Effect], frozenset[Kind]] = {}

    def of(self, rule: Rule) -> frozenset[Kind]:
        """The kinds that the rule speaks of."""
        key = rule.tool, rule.action
        if key not in self._of:
            self._of[key] = frozenset(k for k in self._all if reaches(rule, k.tool, k.cls, k.declared))
        return self._of[key]


class _Allows:
    """Allow rules by the literal heads of their patterns: each deny meets only those it may share a path with."""

    def __init__(self) -> None:
        self._at: dict[Head, list[tuple[int, Rule]]] = {}
        self._below: dict[Head, list[tuple[int, Rule]]] = {}
        self._count = 0

    def add(self, rule: Rule) -> None:
        """Files an allow rule."""
        entry = (self._count, rule)
        self._count += 1
        for head in heads_of(rule):
            self._at.setdefault(head, []).append(entry)
            for cut in range(len(head)):
                self._below.setdefault(head[:cut], []).append(entry)

    def near(self, rule: Rule) -> Iterator[Rule]:
        """The allow rules whose paths may meet the rule's, in the order in which they were added."""
        found: dict[int, Rule] = {}
        for head in heads_of(rule):
            found.update(self._below.get(head, ()))
            for cut in range(len(head) + 1):
                found.update(self._at.get(head[:cut], ()))
        return (found[at] for at in sorted(found))


def heads_of(rule: Rule) -> list[Head]:
    """The literal heads of the rule's patterns; the empty one for a rule without a path."""
    if rule.path is None:
        return [()]
    return [tuple(part.text for part in pattern.literal_parts) for pattern in rule.patterns]


def _cuts(allow: Rule, deny: Rule, kinds: _Kinds) -> bool:
    """True where the allow surely takes part of what the deny forbids, and is no exception to it."""
    if allow.agent not in (None, deny.agent) or allow.source not in (None, deny.source):
        return False
    if not _commands_within(deny, allow):
        return False
    if deny.command is not None and (allow.path is None) is not (deny.path is None):
        return False
    inside = _path_within(allow, deny)
    # An allow of more commands is no exception to the deny, whatever tool it names.
    wide = deny.command is not None and (allow.tool == deny.tool or not _commands_within(allow, deny))
    if inside and not _path_within(deny, allow):
        return False
    allowed, denied = kinds.of(allow), kinds.of(deny)
    on_path = allow.path is not None or deny.path is not None
    if inside and not wide and (allowed <= denied if allowed else covering.covers_name(deny.tool, allow.tool)):
        return False
    shared = any(kind.path or not on_path for kind in allowed & denied)
    if not shared and not _names_meet(allow, deny):
        return False
    return not on_path or allow.path is None or deny.path is None or _paths_meet(allow, deny)


def _commands_within(narrow: Rule, wide: Rule) -> bool:
    """True only where the commands of one rule surely lie within those of the other, for all that both fit."""
    if wide.command is None or narrow.command is None:
        return wide.command is None
    return wider(wide.command, narrow.command)


def _path_within(narrow: Rule, wide: Rule) -> bool:
    """True only where the paths of one rule surely lie within those of the other."""
    if wide.path is None:
        return True
    return narrow.path is not None and all(covering.covered_by_any(one, wide.patterns) for one in narrow.patterns)


def _paths_meet(one: Rule, other: Rule) -> bool:
    return any(covering.meet(a, b) for a in one.patterns for b in other.patterns)


def _names_meet(allow: Rule, deny: Rule) -> bool:
    """True where both name tools by glob, and some tool that nobody has declared yet would fit both."""
    if allow.tool in CLASSES or deny.tool in CLASSES or not allow.tool.strip("*"):
        return False
    return "*" in allow.tool and "*" in deny.tool and covering.texts_meet(allow.tool, deny.tool)
