"""Calls that were asked for together, as one plan: which plan a call is of, and at which place it stands there.

Settles how the gate writes both into the id that it gives a call. Does not settle how a plan's requests are answered
(`app.plans`).
INVARIANT: pure. An id is the gate's own and never changes, so that no call comes into a plan, or leaves it, afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from stanch.values.approval import ApprovalRecord

MOST_PLACES = 10_000
_PLAN = re.compile(r"plan_[0-9a-f]{24}")
_CALL = re.compile(r"(plan_[0-9a-f]{24})_([0-9]{4})")


class InPlan(NamedTuple):
    """The plan that a call is of, and its place among all the calls of that plan, from 0."""

    plan_id: str
    place: int


def is_plan(text: str) -> bool:
    """True for what may be the id of a plan."""
    return _PLAN.fullmatch(text) is not None


def call_id_in(at: InPlan) -> str:
    """The id of the call at this place of the plan. Raises `ValueError` where there is no such place."""
    if not is_plan(at.plan_id) or not 0 <= at.place < MOST_PLACES:
        raise ValueError("no place of a plan")
    return f"{at.plan_id}_{at.place:04d}"


def plan_of(call_id: str) -> InPlan | None:
    """The place of a call in its plan; None for a call that was asked for by itself."""
    found = _CALL.fullmatch(call_id)
    return None if found is None else InPlan(found[1], int(found[2]))


def span_of(plan_id: str) -> tuple[str, str]:
    """The ids of the plan's calls are greater than the first of these, and less than the second."""
    return f"{plan_id}_", f"{plan_id}`"  # the sign behind `_`


class PlanRequests(NamedTuple):
    """The requests of one plan among several, in the order of the plan."""

    plan_id: str
    requests: tuple[ApprovalRecord, ...]


def grouped(requests: Iterable[ApprovalRecord]) -> list[ApprovalRecord | PlanRequests]:
    """The requests in their order, those of one plan together, in the plan's order, where the first of them stands."""
    rows = list(requests)
    plans: dict[str, list[ApprovalRecord]] = {}
    for one in rows:
        at = plan_of(one.call_id)
        if at is not None:
            plans.setdefault(at.plan_id, []).append(one)
    found: list[ApprovalRecord | PlanRequests] = []
    for one in rows:
        at = plan_of(one.call_id)
        if at is None:
            found.append(one)
        elif (mine := plans.pop(at.plan_id, None)) is not None:
            found.append(PlanRequests(at.plan_id, tuple(sorted(mine, key=lambda each: each.call_id))))
    return found
