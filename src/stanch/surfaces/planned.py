"""A plan as doors take it, and what would come of it as they give it: one shape for all.

Settles keys, and what is no plan. Does not settle what comes of a call (`app.planning`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stanch.app.planning import Outcome, Planned, PlannedCall
from stanch.explain.written import reason_json
from stanch.values.decision import Effect
from stanch.values.fault import BadInput

Json = dict[str, Any]
MOST_CALLS = 1_000
KEYS = ("tool", "arguments", "cwd")
EXITS = {Outcome.PASSES: 0, Outcome.UNKNOWN: 10, Outcome.ASKS: 10, Outcome.REFUSED: 11}
_AS = {Outcome.PASSES: Effect.ALLOW, Outcome.REFUSED: Effect.DENY}


def plan_of(value: Any) -> list[PlannedCall]:
    """The calls of a plan: a list of them, or an object with `calls`. Raises `BadInput` with what is wrong."""
    rows = value.get("calls") if isinstance(value, dict) and value.keys() == {"calls"} else value
    if not isinstance(rows, list) or not rows:
        raise BadInput('a plan is a list of calls, or {"calls": [...]}, with one call at least')
    if len(rows) > MOST_CALLS:
        raise BadInput(f"a plan of more than {MOST_CALLS:,} calls")
    return [_call_of(place, row) for place, row in enumerate(rows, start=1)]


def _call_of(place: int, row: Any) -> PlannedCall:
    if not isinstance(row, dict):
        raise BadInput(f"call {place} of the plan is no object")
    unknown = sorted(map(str, row.keys() - set(KEYS)))
    if unknown:
        raise BadInput(f"call {place} of the plan has an unknown key '{unknown[0]}' (known: {', '.join(KEYS)})")
    tool, arguments, cwd = row.get("tool"), row.get("arguments", {}), row.get("cwd")
    if not isinstance(tool, str) or not tool:
        raise BadInput(f"call {place} of the plan: 'tool' must be a tool's name")
    if not isinstance(arguments, dict):
        raise BadInput(f"call {place} of the plan: 'arguments' must be an object")
    if not isinstance(cwd, str | None) or cwd == "":
        raise BadInput(f"call {place} of the plan: 'cwd' must be a directory")
    return PlannedCall(tool, arguments, cwd)


def effect_of(outcome: Outcome) -> Effect:
    """The effect by whose words an outcome's reason is told."""
    return _AS.get(outcome, Effect.ASK)


def planned_json(found: Iterable[Planned]) -> list[Json]:
    """What would come of each call, in order; `after` and the calls themselves are counted from 0."""
    return [
        {
            "tool": one.call.tool,
            "outcome": one.outcome.value,
            "cause": one.cause,
            "reason": reason_json(one.reason, effect_of(one.outcome)),
            "after": list(one.after),
            "unasked": [layer.value for layer in one.unasked],
        }
        for one in found
    ]


def worst(found: Sequence[Planned]) -> int:
    """The exit code of a plan: 11 where a call is refused, 10 where one asks or cannot be known, else 0."""
    return max(EXITS[one.outcome] for one in found)
