"""`/api/judge` and `/api/judge/plan`: would files be refused, or the calls of a plan? Nobody is asked.

Settles how a request becomes probes or a plan, and whom an agent may ask about. Does not settle the verdicts
(`app.judging`, `app.planning`).
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from pydantic import Field

from stanch.app.asking import Described
from stanch.app.owning import own_session
from stanch.app.permissions import Right
from stanch.app.planning import Outcome, PlannedCall
from stanch.app.plans import new_plan
from stanch.app.service import Service
from stanch.app.tokens import Caller
from stanch.explain.verdicts import verdict_json
from stanch.gate.plans import InPlan
from stanch.judge.question import LONGEST_CONSUMER, Probe
from stanch.surfaces import planned
from stanch.surfaces.http.access import Asked, By, Served
from stanch.surfaces.http.answers import ReasonShown
from stanch.surfaces.http.bodies import AboutBody, Body, Name
from stanch.surfaces.http.deciding import session_in
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.problems import Problem, unprocessable
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import Shown, Word
from stanch.values.fault import BadCall
from stanch.values.verdict import Face

ROUTER = guarded("/api/judge", "decide")
MOST_PROBES = 10_000
LONGEST_WAIT = 60.0
"""How long one request waits at most, in seconds: a deadline further away counts as this one."""
Lines = Annotated[int, Field(ge=0, lt=1 << 31)]
FilePath = Annotated[str, Field(min_length=1, max_length=65_536)]
Deadline = Annotated[
    int, Field(ge=0, description="In milliseconds of the epoch; left out: as long as the policy says, or 5 seconds.")
]


class JudgeBody(AboutBody):
    """Files, and who wants to know whether a session would be refused them. It has `path` or `paths`, and not both."""

    face: Annotated[str, Field(max_length=LONGEST_CONSUMER)] = Field(
        description="Who wants to know, in lower case letters and hyphens, as in `attachment`."
    )
    access: Literal["read", "write"]
    path: FilePath | None = Field(default=None, description="One file: the answer is its verdict.")
    paths: Annotated[list[FilePath], Field(min_length=1, max_length=MOST_PROBES)] | None = Field(
        default=None, description="Several: the answer is a list of their verdicts, in order."
    )
    offset: Lines | None = None
    limit: Lines | None = None
    deadline_at: Deadline | None = None


class PlannedCallBody(Body):
    """A call that an agent means to make."""

    tool: Name
    arguments: dict[str, Any] = Field(default={})
    cwd: Name | None = Field(default=None, description="Where its relative paths start.")


class PlanBody(AboutBody):
    """The calls that an agent means to make, in order."""

    calls: Annotated[list[PlannedCallBody], Field(min_length=1, max_length=planned.MOST_CALLS)]
    submit: bool = Field(
        default=False,
        description="Whether each call that would ask is asked for now, as a call of the stored session: a person can "
        "answer before it is made. It is started by its `call_id`, judged again then, and runs once.",
    )
    deadline_at: Deadline | None = None


class VerdictShown(Shown):
    """What the judge says of one file. Keys without a value are left out."""

    verdict: Literal["deny", "mandated_ask", "ask", "no_objection", "unanswerable"]
    layer: Word | None = None
    message: str | None = None
    cause: Word | None = None
    reason: str | None = None
    judged: str | None = None


class PlannedShown(Shown):
    """What would come of one call. `after` are the earlier calls, from 0, after which it may come out otherwise."""

    tool: str
    outcome: Outcome
    cause: str | None
    reason: ReasonShown
    after: list[int]
    unasked: list[Word]
    call_id: str | None = None
    plan_id: str | None = None


@ROUTER.post(
    "",
    response_model=VerdictShown | list[VerdictShown],
    response_model_exclude_none=True,
    responses=problems(404, 409, *BODY),
)
def judge(body: JudgeBody, service: Served, caller: Asked) -> Any:
    """Say whether a session would be refused files, without a model, an approver or a hook."""
    about = _about(body, service, caller)
    if (body.path is None) is (body.paths is None):
        raise unprocessable([("path", "give one of 'path' and 'paths'")])
    paths = body.paths if body.paths is not None else [str(body.path)]
    cwd = body.cwd if body.session_id is not None else None
    face = Face(body.access)
    probes = [Probe(face, body.face, path, cwd, body.offset, body.limit) for path in paths]
    verdicts = service.judges.of(about).batch(probes, deadline_at=_deadline(body.deadline_at))
    tell = service.projecting.records(now=False).tell
    said = [verdict_json(one) for one in verdicts]
    told = [{key: tell(value) if key in ("message", "reason") else value for key, value in one.items()} for one in said]
    return told if body.paths is not None else told[0]


@ROUTER.post("/plan", response_model=list[PlannedShown], responses=problems(404, 409, *BODY))
def judge_plan(body: PlanBody, service: Served, caller: Asked, by: By) -> Any:
    """Say what would come of the calls of a plan: refused, asks, passes, or why that cannot be known."""
    about = _about(body, service, caller)
    if body.submit and body.session_id is None:
        raise unprocessable([("submit", "calls can be asked for where 'session_id' names a stored session")])
    here = body.cwd if body.session_id is not None else None
    calls = [PlannedCall(one.tool, one.arguments, one.cwd or here) for one in body.calls]
    found = service.judges.plan(about, calls, deadline_at=_deadline(body.deadline_at))
    said = service.projecting.records(now=False).answer(planned.planned_json(found))
    if body.submit and body.session_id is not None:
        plan_id = new_plan()
        service.calls.ready_for(body.session_id, sum(one.outcome is Outcome.ASKS for one in found))
        for place, (call, one) in enumerate(zip(calls, found, strict=True)):
            if one.outcome is Outcome.ASKS:
                at = InPlan(plan_id, place)
                said[place] |= {"call_id": _submitted(service, body.session_id, call, at, by), "plan_id": plan_id}
    return said


def _submitted(service: Service, session_id: str, call: PlannedCall, at: InPlan, by: By) -> str:
    try:
        return service.calls.submit(session_id, call.tool, call.arguments, cwd=call.cwd, at=at, by=by).call.id
    except RecursionError:
        raise BadCall("the arguments are nested too deeply") from None


def _about(body: AboutBody, service: Service, caller: Caller) -> str | Described:
    """The session that is asked about. Raises `Problem` where it is none of an agent's own."""
    about = session_in(body)
    if isinstance(about, str):
        own_session(service, caller, about)
    elif Right.READ not in caller.rights:
        kind = caller.principal.kind.value
        raise Problem(403, "forbidden", f"a principal of the kind '{kind}' asks about its own sessions only")
    return about


def _deadline(given: int | None) -> float | None:
    return None if given is None else float(min(given, (time.time() + LONGEST_WAIT) * 1000))
