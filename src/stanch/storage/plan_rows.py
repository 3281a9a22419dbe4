"""The requests of plans in the store.

Settles how they are found, by the ids of their calls. Does not settle what an answer to a plan does (`app.plans`).
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select

from stanch.gate.plans import span_of
from stanch.storage.approval_nouns import APPROVAL
from stanch.storage.schema import APPROVALS
from stanch.storage.transactions import Transactions
from stanch.values.approval import ApprovalRecord, ApprovalState
from stanch.values.records import Broken


class PlanRows(Transactions):
    """The part of a store that finds what belongs to a plan."""

    def list_plan(self, plan_id: str) -> tuple[ApprovalRecord | Broken, ...]:
        """Every request ever made for a call of the plan, in the plan's order, and of one call the oldest first."""
        after, before = span_of(plan_id)
        wanted = (
            select(APPROVALS)
            .where(APPROVALS.c.call_id > after, APPROVALS.c.call_id < before)
            .order_by(APPROVALS.c.call_id, APPROVALS.c.created_at, APPROVALS.c.request_id)
        )
        with self._reading() as connection:
            return tuple(APPROVAL.read(row) for row in connection.execute(wanted).mappings())

    def open_in_plans(self, plan_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The ids of the requests of each plan that wait now, in the plan's order. None of them is read."""
        found: dict[str, tuple[str, ...]] = {}
        with self._reading() as connection:
            for plan_id in plan_ids:
                after, before = span_of(plan_id)
                wanted = (
                    select(APPROVALS.c.request_id)
                    .where(APPROVALS.c.call_id > after, APPROVALS.c.call_id < before)
                    .where(APPROVALS.c.state == ApprovalState.OPEN.value)
                    .order_by(APPROVALS.c.call_id, APPROVALS.c.request_id)
                )
                found[plan_id] = tuple(str(row[0]) for row in connection.execute(wanted))
        return found
