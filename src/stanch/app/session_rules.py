"""Which rules speak for a session, and what is said where they cannot be read.

Settles what a missing, broken or unreadable group means for the sessions that have it. Does not settle which rule is
first (`policy.index`) nor where groups come from (`app.stored_policy`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stanch.policy.document import Policy
from stanch.policy.index import RuleIndex
from stanch.policy.layers import Layer
from stanch.policy.persisted import BrokenRules, PersistedRules, group_missing, policy_invalid, store_unreadable
from stanch.policy.rule import DEFAULT_GROUP
from stanch.values.decision import Effect
from stanch.values.identity import Source


class Who(NamedTuple):
    """Whose calls are judged. `unreadable` says what of the session itself cannot be read, and why."""

    group: str | None = None
    agent: str | None = None
    source: Source | None = None
    unreadable: str | None = None


def rules_for(policy: Policy, index: Callable[[str], RuleIndex], memory: str, who: Who) -> Layer:
    """The layer of the persisted rules. `index` gives the rules of a group with those of `default` behind them.

    Denies that can be read stand in any case. Where the group is missing, or it, the session or the store cannot be
    read, all else is a mandated ask; where that is so of `default`, or a rule has a mistake, all is denied.
    """
    wanted = DEFAULT_GROUP if who.group is None else who.group
    default, own = policy.groups[DEFAULT_GROUP], policy.groups.get(wanted)
    broken = policy.broken or default.broken or (own.broken if own is not None else None)
    if broken is not None:
        return BrokenRules(policy_invalid(broken))
    if default.unreadable is not None:
        return BrokenRules(store_unreadable(default.unreadable, Effect.DENY))
    known = own is not None and own.unreadable is None
    unreadable = who.unreadable or policy.unreadable or (own.unreadable if own is not None else None)
    missing = None
    if unreadable is not None:
        missing = store_unreadable(unreadable)
    elif own is None:
        missing = group_missing(wanted)
    return PersistedRules(
        index(wanted if known else DEFAULT_GROUP),
        agent=who.agent,
        source=None if who.source is None else who.source.value,
        memory=memory,
        missing=missing,
    )
