"""Whose session is it, and whose call: what an agent may touch of what is stored.

Settles that an agent finds only what belongs to sessions whose principal it is; anything else is not there for it.
Whoever may read finds everything. Does not settle which routes an agent may use at all (`surfaces.http.access`).
"""

from __future__ import annotations

from stanch.app.permissions import Right
from stanch.app.service import Service
from stanch.app.sessions import hands_of
from stanch.app.tokens import Caller
from stanch.values.approval import CallRecord, ClarificationRecord
from stanch.values.fault import NotFound
from stanch.values.records import SessionRecord


def own_session(service: Service, caller: Caller, session_id: str) -> SessionRecord:
    """The session. Raises `NotFound`, also where it is somebody else's."""
    session = service.sessions.get(session_id)
    if Right.READ not in caller.rights and session.principal != hands_of(caller.principal):
        raise NotFound("session", session_id)
    return session


def own_call(service: Service, caller: Caller, call_id: str) -> CallRecord:
    """The call. Raises `NotFound`, also where it is of somebody else's session."""
    call = service.calls.get(call_id)
    _check(service, caller, call.session_id, NotFound("call", call_id))
    return call


def own_question(service: Service, caller: Caller, request_id: str) -> ClarificationRecord:
    """The question. Raises `NotFound`, also where it is of somebody else's session."""
    question = service.inbox.question(request_id)
    _check(service, caller, question.session_id, NotFound("question", request_id))
    return question


def _check(service: Service, caller: Caller, session_id: str, absent: NotFound) -> None:
    try:
        own_session(service, caller, session_id)
    except NotFound:
        raise absent from None
