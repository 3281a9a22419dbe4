"""What would change an answer, as every door tells it: in JSON, and in a line for a person.

Settles keys and words. Does not settle which change it is (`app.flipping`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stanch.app.flipping import Flips, Otherwise, Suggested
from stanch.app.objections import Objection
from stanch.explain import visible
from stanch.policy.changes import CellChange, Change, GrantChange, RuleChange, What

Json = dict[str, Any]
_DONE = {What.ADD: "add", What.EDIT: "change", What.REMOVE: "take out"}


def flips_json(flips: Flips) -> Json:
    """What would make the answer `to`: the changes, or what stands in the way."""
    return {
        "to": flips.to.value,
        "already": flips.now is flips.to,
        "suggested": [suggested_json(one) for one in flips.suggested],
        "in_the_way": [_objection(one) for one in flips.objections],
        "cannot": list(flips.cannot),
        "looked_at": flips.looked_at,
    }


def suggested_json(one: Suggested) -> Json:
    """One change: what it is, how it is made, and what else it changes."""
    change, patch = one.change, one.patch
    rule = change.rule if isinstance(change, RuleChange) else None
    before, after = words_of(change)
    return {
        "kind": change.kind.value,
        "what": change.what.value,
        "group": None if rule is None else rule.group,
        "rule": rule.id if rule is not None and change.what is not What.ADD else None,
        "tier": change.tier if isinstance(change, CellChange) else None,
        "before": before,
        "after": after,
        "toml": "\n".join(patch.lines),
        "place": patch.place,
        "how": patch.how,
        "warnings": list(one.warnings),
        "others": one.others,
        "first": [_otherwise(two) for two in one.first],
    }


def words_of(change: Change) -> tuple[str | None, str | None]:
    """What stands there before and after, in words; None for nothing."""
    if isinstance(change, RuleChange):
        rules = change.before, change.after
        before, after = (None if rule is None else rule.words for rule in rules)
        return before, after
    if isinstance(change, CellChange):
        what = f"{change.cls.value} on {change.path}" if change.path else f"{change.cls.value} otherwise"
        was = None if change.before is None else f"{what}: {change.before.value}"
        return was, f"{what}: {change.after.value}"
    grant = f"{change.cls.value} grant for {change.path}"
    return (grant, None) if change.removed else (None, grant)


def said(one: Suggested) -> str:
    """The change in a few words: `add rule "allow Write on notes.md" in group "default"`."""
    change = one.change
    before, after = words_of(change)
    if isinstance(change, RuleChange):
        number = "a rule" if change.what is What.ADD else f"rule {change.rule.id}"
        where = f'{number} of group "{change.group}"'
    elif isinstance(change, GrantChange):
        where = "a grant"
    else:
        where = f'a cell of tier "{change.tier}"' if change.cell != 0 else f'what tier "{change.tier}" says'
    words = f"{before} -> {after}" if change.what is What.EDIT else before or after or ""
    return visible(f"{_DONE[change.what]} {where}: {words}")


def others_said(one: Suggested, looked_at: int) -> str:
    """What the change does to recorded calls."""
    if not looked_at:
        return "no recorded calls were looked at"
    calls = "1 recorded call" if looked_at == 1 else f"{looked_at} recorded calls"
    if not one.others:
        return f"of {calls} no other answer would change"
    return f"of {calls}, {one.others} more would be answered otherwise"


def otherwise_said(one: Otherwise) -> str:
    """One recorded call whose answer would change."""
    asked = f" {one.call.asked}" if one.call.asked else ""
    return visible(f"{one.before.value} -> {one.after.value}  {one.call.call.tool}{asked}  {one.call.where}")


def objection_said(one: Objection) -> str:
    """What stands in the way, and why no change of a rule, a grant or a tier helps, where that is so."""
    since = f" (no change of a rule, a grant or a tier helps: {one.since})" if one.since else ""
    return visible(f"{one.layer.value}: {one.said}{since}")


def _objection(one: Objection) -> Mapping[str, Any]:
    return {
        "layer": one.layer.value,
        "effect": one.effect.value,
        "sentence": one.said,
        "fixed": bool(one.since),
        "since": one.since or None,
    }


def _otherwise(one: Otherwise) -> Json:
    return {
        "tool": one.call.call.tool,
        "asked": one.call.asked,
        "where": one.call.where,
        "before": one.before.value,
        "after": one.after.value,
    }
