"""Calls of sessions, from their asking to their end: `/api/sessions/{session_id}/calls` and `/api/calls`.

Settles the routes. Does not settle whether a call may run (`app.calls`) nor whose it is (`app.owning`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from stanch.app.calls import Submitted
from stanch.app.owning import own_call, own_session
from stanch.app.service import Service
from stanch.app.tokens import Caller
from stanch.app.told_records import TellsRecords
from stanch.gate.approval import Move
from stanch.surfaces import wire
from stanch.surfaces.http.access import Asked, By, Served
from stanch.surfaces.http.calls_bodies import CallBody, FinishBody, StartBody
from stanch.surfaces.http.deciding import policy_of
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown
from stanch.surfaces.http.shown_calls import CallShown, JudgedCallShown, call_shown, request_shown
from stanch.values.approval import CallRecord, CallState
from stanch.values.fault import BadCall

ROUTER = guarded("/api", "calls")
ENDS = {"completed": Move.COMPLETE, "failed": Move.FAIL, "cancelled": Move.CANCEL}


@ROUTER.post(
    "/sessions/{session_id}/calls", status_code=201, response_model=JudgedCallShown, responses=problems(404, 409, *BODY)
)
def submit_call(session_id: str, body: CallBody, service: Served, caller: Asked, by: By) -> Any:
    """Ask for a call: it is judged and kept. It may run once it is started, which judges it again."""
    own_session(service, caller, session_id)
    try:
        made = service.calls.submit(
            session_id, body.tool, body.arguments, tool_call_id=body.tool_call_id, cwd=body.cwd, by=by
        )
    except RecursionError:
        raise BadCall("the arguments are nested too deeply") from None
    return _judged(service, caller, made)


@ROUTER.get("/sessions/{session_id}/calls", responses=problems(404))
def list_calls(  # noqa: PLR0917 - called by name
    session_id: str,
    service: Served,
    caller: Asked,
    limit: Limit = 50,
    cursor: Cursor = None,
    state: CallState | None = None,
) -> PageShown[CallShown | BrokenShown]:
    """List the calls of a session, newest first."""
    own_session(service, caller, session_id)
    page = service.calls.list(session_id, state=state, limit=limit, cursor=cursor)
    return page_shown(page, partial(_shown, told=service.projecting.records(), caller=caller))


@ROUTER.get("/calls/{call_id}", responses=problems(404))
def read_call(call_id: str, service: Served, caller: Asked) -> CallShown:
    """Read a call: where it stands, and why."""
    return _shown(own_call(service, caller, call_id), service.projecting.records(), caller)


@ROUTER.post("/calls/{call_id}/start", response_model=JudgedCallShown, responses=problems(404, 409, *BODY))
def start_call(call_id: str, body: StartBody, service: Served, caller: Asked, by: By) -> Any:
    """Have a call judged again, and start it. Run it only where its `state` is then `running`: this once."""
    own_call(service, caller, call_id)
    try:
        started = service.calls.start(call_id, tool=body.tool, arguments=body.arguments, by=by)
    except RecursionError:
        raise BadCall("the arguments are nested too deeply") from None
    return _judged(service, caller, started)


@ROUTER.post("/calls/{call_id}/finish", responses=problems(404, 409, *BODY))
def finish_call(call_id: str, body: FinishBody, service: Served, caller: Asked, by: By) -> CallShown:
    """Say how a call ended that was running."""
    own_call(service, caller, call_id)
    return _shown(service.calls.finish(call_id, ENDS[body.outcome], by=by), service.projecting.records(), caller)


@ROUTER.post("/calls/{call_id}/cancel", responses=problems(404, 409))
def cancel_call(call_id: str, service: Served, caller: Asked, by: By) -> CallShown:
    """Take a call back, with the request that it waits for."""
    own_call(service, caller, call_id)
    return _shown(service.calls.cancel(call_id, by=by), service.projecting.records(), caller)


def _shown(call: CallRecord, told: TellsRecords, caller: Caller) -> CallShown:
    """A call as JSON. WHY not its arguments as they are for a model: those of a step of a run are stored content."""
    shown = call_shown(call, told)
    if not caller.principal.is_copilot:
        return shown
    return shown.model_copy(update={"arguments": told.tell(shown.arguments), "cwd": told.tell(shown.cwd)})


def _judged(service: Service, caller: Caller, made: Submitted) -> dict[str, Any]:
    told = service.projecting.records()
    answer = told.answer(wire.answer_json(made.decision, policy_of(service, service.policy.workspace)))
    return {
        "call": _shown(made.call, told, caller),
        "answer": told.tell(answer) if caller.principal.is_copilot else answer,
        "request": request_shown(made.approval),
    }
