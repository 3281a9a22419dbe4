"""`/api/inbox/plans`: the requests of one plan, and one answer to all of them or to some.

Settles the routes and what is told of each request. Does not settle what an answer does (`app.plans`).
"""

from __future__ import annotations

import hashlib
import json
from functools import partial

from stanch.app import plans
from stanch.app.tokens import Caller
from stanch.surfaces.http.access import Asked, By, Served
from stanch.surfaces.http.calls_bodies import PlanAnswerBody
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import item_shown
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import BrokenShown, Shown, Word
from stanch.surfaces.http.shown_calls import ApprovalShown, approval_shown
from stanch.values.approval import ApprovalState

ROUTER = guarded("/api/inbox/plans", "inbox")
_TO = {"approve": ApprovalState.APPROVED, "reject": ApprovalState.REJECTED}


class PlanRequestsShown(Shown):
    """Every request of a plan, answered or not, in the plan's order; a call that asked anew has several."""

    plan_id: str
    requests: list[ApprovalShown | BrokenShown]


class AnsweredShown(Shown):
    """What came of the answer for one request. `why` says why it was not taken, where it was not."""

    request_id: str
    outcome: Word
    why: str | None
    request: ApprovalShown | None


class PlanAnsweredShown(Shown):
    """What came of an answer to a plan. `waiting` are the requests of the plan that wait all the same."""

    plan_id: str
    answered: list[AnsweredShown]
    waiting: list[str]


@ROUTER.get("/{plan_id}", responses=problems(404))
def read_plan(plan_id: str, service: Served) -> PlanRequestsShown:
    """Read the requests of a plan, in its order."""
    shown = partial(approval_shown, told=service.projecting.records())
    found = [item_shown(one, shown) for one in service.plans.requests(plan_id)]
    return PlanRequestsShown.model_construct(plan_id=plan_id, requests=found)


@ROUTER.post("/{plan_id}/resolve", responses=problems(404, *BODY))
def resolve_plan(plan_id: str, body: PlanAnswerBody, service: Served, caller: Asked, by: By) -> PlanAnsweredShown:
    """Answer requests of a plan, each as it was shown; what came of each is told by itself."""
    named = [plans.Shown(one.request_id, one.fingerprint) for one in body.requests]
    digest = partial(_digest, caller, body)
    done = service.plans.answer(plan_id, _TO[body.action], named, note=body.note, digest=digest, by=by)
    told = service.projecting.records()
    rows = [
        AnsweredShown(
            request_id=one.request_id,
            outcome=one.outcome.value,
            why=told.tell(one.why) if one.why else None,
            request=None if one.approval is None else approval_shown(one.approval, told),
        )
        for one in done.answered
    ]
    return PlanAnsweredShown(plan_id=plan_id, answered=rows, waiting=list(done.waiting))


def _digest(caller: Caller, body: PlanAnswerBody, one: plans.Shown) -> str:
    """The digest of the answer to one request: which others were answered with it makes no difference."""
    who = caller.principal
    said = [who.kind.value, who.id, who.service_id, "plan", list(one), body.action, body.note]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
