"""A rule's place among the others of its group.

Settles which priorities make an order, by changing as few as that takes. Does not settle what the order means
(`policy.rule`).
"""

from __future__ import annotations

from stanch.values.records import RuleRecord


def placed(rules: list[RuleRecord], rule_id: int, *, up: bool) -> list[tuple[RuleRecord, int]]:
    """The rules whose priority has to change, with the new one, for this rule to move one place up or down."""
    order = sorted(rules, key=_key)
    at = next((at for at, rule in enumerate(order) if rule.id == rule_id), None)
    if at is None or not 0 <= (to := at - 1 if up else at + 1) < len(order):
        return []
    priorities = [rule.priority for rule in order]
    order[at], order[to] = order[to], order[at]
    for place in range(1, len(order)):
        before, here = order[place - 1], order[place]
        if (priorities[place], here.id) <= (priorities[place - 1], before.id):
            priorities[place] = priorities[place - 1] + (here.id < before.id)
    return [(rule, wanted) for rule, wanted in zip(order, priorities, strict=True) if rule.priority != wanted]


def _key(rule: RuleRecord) -> tuple[int, int]:
    return rule.priority, rule.id
