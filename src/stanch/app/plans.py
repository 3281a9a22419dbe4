"""Answering the requests of one plan together: all that wait, or some of them.

Settles which requests an answer to a plan is for, and what came of each. Does not settle what an answer to one request
does (`app.approving`).
INVARIANT: an answer is for requests that it names, as each was shown, and for no other. Each is answered by itself, as
if it were the only one: what becomes of one call depends on no other.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from stanch.app.approving import Approving
from stanch.gate.plans import is_plan, plan_of
from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, ApprovalState
from stanch.values.fault import BadFields, BrokenRow, Conflict, NotFound
from stanch.values.records import Actor, Broken


class Shown(NamedTuple):
    """A request as a person was shown it: its id, and the fingerprint of what stood there."""

    request_id: str
    fingerprint: str


class Outcome(StrEnum):
    """What came of one request of an answer to its plan."""

    APPROVED = "approved"
    REJECTED = "rejected"
    TOO_LATE = "too_late"  # it was answered before, or is over
    NOT_SHOWN = "not_shown"  # it is not what the person was shown
    UNREADABLE = "unreadable"


class Answered(NamedTuple):
    """One request, as it now stands, and what came of the answer for it; `why` is empty where the answer was taken."""

    request_id: str
    outcome: Outcome
    approval: ApprovalRecord | None
    why: str = ""


class PlanAnswered(NamedTuple):
    """What came of an answer to a plan: of each request that it names, and which of the plan still wait."""

    answered: tuple[Answered, ...]
    waiting: tuple[str, ...]


class Plans:
    """What is done with the requests of a plan."""

    def __init__(self, store: Store, approving: Approving) -> None:
        self._store, self._approving = store, approving

    def requests(self, plan_id: str) -> tuple[ApprovalRecord | Broken, ...]:
        """Every request of the plan, answered or not, in the plan's order. Raises `NotFound` where it has none."""
        self._store.expire_due(self._approving.now())
        found = self._store.list_plan(plan_id) if is_plan(plan_id) else ()
        if not found:
            raise NotFound("plan", plan_id)
        return found

    def waiting(self, plan_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The requests of each plan that wait now, in the plan's order."""
        return self._store.open_in_plans(plan_ids) if plan_ids else {}

    def answer(
        self,
        plan_id: str,
        to: ApprovalState,
        shown: Sequence[Shown],
        *,
        note: str | None = None,
        digest: Callable[[Shown], str] | None = None,
        by: Actor,
    ) -> PlanAnswered:
        """Approves or rejects those requests of the plan that are named, each as it was shown.

        `digest` makes of each the digest of its answer, by which a repetition is known. Raises `NotFound`; and
        `BadFields`, with nothing answered, where a request is named twice, or is none of the plan.
        """
        known = {_id(one): one for one in self.requests(plan_id)}
        _check([one.request_id for one in shown], known)
        order = {request_id: at for at, request_id in enumerate(known)}
        named = sorted(shown, key=lambda one: order[one.request_id])
        done = tuple(self._answered(one, to, note, digest, by) for one in named)
        return PlanAnswered(done, self.waiting([plan_id])[plan_id])

    def _answered(
        self, one: Shown, to: ApprovalState, note: str | None, digest: Callable[[Shown], str] | None, by: Actor
    ) -> Answered:
        approve = to is ApprovalState.APPROVED
        answering = self._approving.approve if approve else self._approving.reject
        try:
            approval = self._store.get_approval(one.request_id)
            # INVARIANT: what a request shows never changes while it is open, so that what is looked at here is what is
            # answered below: an edit that asks for more is a new request, and any other edit is its answer.
            if approval.state is ApprovalState.OPEN and str(approval.fingerprint) != one.fingerprint:
                return Answered(one.request_id, Outcome.NOT_SHOWN, approval, "the request is not what was shown")
            answer = None if digest is None else digest(one)
            done = answering(one.request_id, note=note, answer=answer, by=by)
        except BrokenRow as why:
            return Answered(one.request_id, Outcome.UNREADABLE, None, str(why))
        except Conflict as why:
            return Answered(one.request_id, Outcome.TOO_LATE, self._store.get_approval(one.request_id), str(why))
        return Answered(one.request_id, Outcome.APPROVED if approve else Outcome.REJECTED, done.approval)


def new_plan() -> str:
    """The id of a new plan."""
    return f"plan_{secrets.token_hex(12)}"


def plans_of(approvals: Sequence[ApprovalRecord | Broken]) -> list[str]:
    """The plans that the requests are of, in the order in which each comes first."""
    found = (plan_of(one.call_id) for one in approvals if not isinstance(one, Broken))
    return list(dict.fromkeys(at.plan_id for at in found if at is not None))


def _id(one: ApprovalRecord | Broken) -> str:
    return str(one.id) if isinstance(one, Broken) else one.request_id


def _check(named: Sequence[str], known: dict[str, ApprovalRecord | Broken]) -> None:
    """Raises `BadFields` where a request is named twice, or is none of the plan."""
    if len(set(named)) != len(named):
        raise BadFields(("requests", "a request is named twice"))
    if any(request_id not in known for request_id in named):
        raise BadFields(("requests", "a request that is named is none of this plan; nothing was answered"))
