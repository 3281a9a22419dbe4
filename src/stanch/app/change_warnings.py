"""What a person has to know before making a suggested change.

Settles the sentences. Does not settle which change is suggested (`app.flipping`).
"""

from __future__ import annotations

from stanch.policy.changes import CellChange, Change, GrantChange, RuleChange
from stanch.values.call import JudgedCall
from stanch.values.decision import Effect

HOOK = "a hook is asked when the call is made, and was not asked for this: it may still object"


def warnings_of(change: Change, call: JudgedCall) -> list[str]:
    """What a person has to know before making the change."""
    found = []
    if isinstance(change, RuleChange) and change.before is not None and change.before.mandatory:
        rule = change.before
        whose = {"seeded": "one of the built-in rules", "database": "kept in the database"}.get(rule.place, rule.place)
        note = "" if rule.note is None else f" [{rule.note}]"
        found.append(
            f'rule {rule.id} of group "{rule.group}" is mandatory ({whose}){note}: somebody meant that no other rule '
            "answers for it; what it covers besides is open then, too"
        )
    if _opens(change) and any(e.stamp is not None and e.stamp.links > 1 for e in call.effects):
        found.append("the file has several names: what is written under this one is written under the others")
    if isinstance(change, RuleChange) and change.before is None and change.rule.path is change.rule.command is None:
        found.append(f"it speaks of every call of {change.rule.tool}, since nothing in the call can be named by a rule")
    return found


def _opens(change: Change) -> bool:
    """True for a change that adds an allow."""
    if isinstance(change, GrantChange):
        return not change.removed
    after = change.after.action if isinstance(change, RuleChange) and change.after is not None else None
    return (change.after if isinstance(change, CellChange) else after) is Effect.ALLOW
