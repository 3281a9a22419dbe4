"""Which tools a model is not to be offered, since no call of them would ever pass.

Settles what can be told from a tool's name alone. Does not settle what becomes of a call: the gate decides anyway,
so that a tool that is left out here is refused there, and one that is offered may be refused, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stanch.paths.pattern import glob
from stanch.policy.rule import DEFAULT_GROUP, Group, Rule, in_order
from stanch.values.decision import Effect

_STRICTEST = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}


def chain(groups: Mapping[str, Group], group: str | None) -> list[Rule]:
    """The rules that a session of the group is under, in the order in which they are read."""
    names = [DEFAULT_GROUP] if group in (None, DEFAULT_GROUP) or group not in groups else [group, DEFAULT_GROUP]
    ordered = [rule for name in names for rule in in_order(groups[name].rules)]
    first = [rule for rule in ordered if rule.mandatory]
    first.sort(key=lambda rule: _STRICTEST[rule.action])
    return [*first, *(rule for rule in ordered if not rule.mandatory)]


def hidden(rules: Iterable[Rule], tools: Iterable[str]) -> frozenset[str]:
    """Those of the tools whose first rule by name alone is a deny that has no conditions."""
    rules = tuple(rules)
    return frozenset(tool for tool in tools if _is_refused(rules, tool))


def _is_refused(rules: tuple[Rule, ...], tool: str) -> bool:
    for rule in rules:
        if names(rule.tool, tool):
            return rule.action is Effect.DENY and not (rule.agent or rule.source or rule.path or rule.command)
    return False


def names(pattern: str, tool: str) -> bool:
    """True where a rule's tool pattern is one of this name. An effect class is none."""
    return pattern == tool or ("*" in pattern and not pattern.startswith("@") and glob(pattern)(tool))
