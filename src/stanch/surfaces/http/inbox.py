"""`/api/inbox` and the questions of agents: what waits for a person, and their answers.

Settles the routes, and that only an answer which says all it means in the right words is one. Does not settle what an
answer does (`app.approving`).
"""

from __future__ import annotations

import hashlib
import json
from functools import partial

from stanch.app.approving import BypassWish, Edit, EditRefused, Resolved
from stanch.app.owning import own_question, own_session
from stanch.app.plans import plans_of
from stanch.app.tokens import Caller
from stanch.app.told_records import TellsRecords
from stanch.explain.written import reason_json
from stanch.surfaces.http.access import Asked, By, Served
from stanch.surfaces.http.calls_bodies import AnswerBody, QuestionBody, ResolveBody
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.problems import Problem, unprocessable
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown_calls import (
    ApprovalShown,
    InboxShown,
    PlanShown,
    QuestionShown,
    ResolvedShown,
    approval_shown,
    bypass_shown,
    call_shown,
    question_shown,
    resolution_of,
)
from stanch.values.approval import ApprovalRecord, ApprovalState, BypassScope, ClarificationRecord, ClarificationState
from stanch.values.fault import Conflict

ROUTER = guarded("/api", "inbox")
OF_AN_APPROVAL = ("tool", "arguments", "bypass_secs", "bypass_scope", "include_subagents")


@ROUTER.get("/inbox")
def read_inbox(service: Served, limit: Limit = 50, cursor: Cursor = None, session_id: str | None = None) -> InboxShown:
    """List what waits for a person, oldest first, at most `limit` of each kind."""
    waiting = service.inbox.list(session_id=session_id, limit=limit, cursor=cursor)
    plans = service.plans.waiting(plans_of(waiting.approvals.items))
    return InboxShown.model_construct(
        total=waiting.total,
        approvals=page_shown(waiting.approvals, partial(approval_shown, told=service.projecting.records())).items,
        clarifications=page_shown(waiting.clarifications, question_shown).items,
        plans=[PlanShown(plan_id=plan_id, waiting=list(found)) for plan_id, found in plans.items()],
        next=waiting.next,
    )


@ROUTER.get("/inbox/approvals/{request_id}", responses=problems(404))
def read_approval(request_id: str, service: Served) -> ApprovalShown:
    """Read a request for approval, answered or not."""
    return approval_shown(service.inbox.resolution(request_id), service.projecting.records())


@ROUTER.post("/inbox/approvals/{request_id}/resolve", responses=problems(404, 409, *BODY))
def resolve_approval(request_id: str, body: ResolveBody, service: Served, caller: Asked, by: By) -> ResolvedShown:
    """Answer a request. The first answer counts; the very same one, given again, is answered as it was."""
    _whole(body)
    answer = _digest(caller, request_id, body)
    try:
        if body.action == "reject":
            done = service.approving.reject(request_id, note=body.note, answer=answer, by=by)
        else:
            done = service.approving.approve(
                request_id, note=body.note, edit=_edit(body), bypass=_bypass(body), answer=answer, by=by
            )
    except EditRefused as refused:
        reason = refused.decision.reason
        more = {"reason": reason_json(reason, refused.decision.effect)}
        raise Problem(409, "edit-refused", str(refused), code=reason.code, more=more) from None
    except Conflict as why:
        raise _late(why, service.inbox.resolution(request_id)) from None
    return _resolved(done, service.projecting.records())


@ROUTER.post("/inbox/clarifications/{request_id}/resolve", responses=problems(404, 409, *BODY))
def answer_question(request_id: str, body: AnswerBody, service: Served, by: By) -> QuestionShown:
    """Answer a question of an agent."""
    try:
        return question_shown(service.inbox.answer(request_id, body.answer, by=by))
    except Conflict as why:
        raise _late(why, service.inbox.question(request_id)) from None


@ROUTER.post("/sessions/{session_id}/questions", status_code=201, responses=problems(404, 409, *BODY))
def ask_question(session_id: str, body: QuestionBody, service: Served, caller: Asked, by: By) -> QuestionShown:
    """Ask a person something, on behalf of a session's agent."""
    own_session(service, caller, session_id)
    return question_shown(service.inbox.ask(session_id, body.question, choices=body.choices, by=by))


@ROUTER.get("/questions/{request_id}", responses=problems(404))
def read_question(request_id: str, service: Served, caller: Asked) -> QuestionShown:
    """Read a question, with its answer once there is one."""
    return question_shown(own_question(service, caller, request_id))


def _whole(body: ResolveBody) -> None:
    """Refuses an answer whose parts do not go together, since nobody can tell which of them was meant."""
    given = body.model_fields_set
    if body.action == "reject":
        wrong = [name for name in OF_AN_APPROVAL if name in given]
        if wrong:
            raise unprocessable([(name, f"'{name}' goes with 'approve' only; leave it out") for name in wrong])
    if body.bypass_secs is None:
        wrong = [name for name in ("bypass_scope", "include_subagents") if name in given]
        if wrong:
            raise unprocessable([(name, f"'{name}' needs 'bypass_secs' beside it") for name in wrong])


def _edit(body: ResolveBody) -> Edit | None:
    return None if body.tool is None and body.arguments is None else Edit(body.tool, body.arguments)


def _bypass(body: ResolveBody) -> BypassWish | None:
    if body.bypass_secs is None:
        return None
    scope = None if body.bypass_scope is None else BypassScope(body.bypass_scope)
    return BypassWish(body.bypass_secs, scope, body.include_subagents)


def _digest(caller: Caller, request_id: str, body: ResolveBody) -> str:
    """The digest of an answer with all that it says, of whom it is, and to what."""
    who = caller.principal
    said = [who.kind.value, who.id, who.service_id, request_id, body.model_dump(mode="json")]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _late(why: Conflict, found: ApprovalRecord | ClarificationRecord) -> Problem:
    """The answer to whoever comes second: who was first, and what is stored."""
    if found.state in (ApprovalState.OPEN, ClarificationState.OPEN):
        return Problem(409, "conflict", str(why))
    return Problem(409, "answered", str(why), more={"resolution": resolution_of(found).model_dump(mode="json")})


def _resolved(done: Resolved, told: TellsRecords) -> ResolvedShown:
    return ResolvedShown(
        request=approval_shown(done.approval, told),
        call=call_shown(done.call, told),
        bypass=None if done.bypass is None else bypass_shown(done.bypass),
        instead=None if done.instead is None else approval_shown(done.instead, told),
    )
