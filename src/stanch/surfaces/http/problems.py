"""Errors as problem details (RFC 9457): one shape for whatever goes wrong.

Settles the status, the type and the words of each. INVARIANT: they hold names of fields and types, never a value that
was sent. Does not settle what is an error.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import Scope

from stanch.app.content import CallRefused
from stanch.delivery.admit import ContentRefused
from stanch.explain.written import reason_json
from stanch.paths.grants import BadGrant
from stanch.surfaces.http.fields import problems_of
from stanch.values.decision import Effect
from stanch.values.fault import (
    BadCall,
    BadContext,
    BadFields,
    BadInput,
    BrokenRow,
    Conflict,
    Fault,
    NotFound,
    NotInstalled,
    StoreUnreadable,
)
from stanch.values.reason import Code

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:problem-type:stanch:"
Fields = Sequence[tuple[str, str]]
Tell = Callable[[Any], Any]
_LOG = logging.getLogger(__name__)


def _as_it_is(value: Any) -> Any:
    return value


class Problem(Exception):
    """What a request is answered with in place of what it wanted."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        fields: Fields = (),
        headers: Mapping[str, str] | None = None,
        code: Code | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        self.status, self.kind, self.detail, self.more = status, kind, detail, more or {}
        self.fields, self.headers, self.code = fields, headers, code
        super().__init__(kind)

    def response(self, tell: Tell = _as_it_is) -> JSONResponse:
        """The answer; `tell` makes of its words what may be told."""
        errors = [{"field": field, "message": message} for field, message in self.fields]
        detail, errors, more = tell([self.detail, errors, dict(self.more)])
        said: dict[str, Any] = {
            "type": TYPE_PREFIX + self.kind,
            "title": _title(self.kind),
            "status": self.status,
            "detail": detail,
        }
        if self.code is not None:
            said["code"] = self.code.value
        if self.fields:
            said["errors"] = errors
        said |= more
        return JSONResponse(said, self.status, self.headers, MEDIA_TYPE)


def unprocessable(fields: Fields) -> Problem:
    """The answer to a request whose fields cannot be used."""
    count = len(fields)
    detail = "; ".join(message for _, message in fields) if count <= 3 else f"{count} fields cannot be used"
    return Problem(422, "unusable", detail, fields=fields)


def problem_of(fault: Exception) -> Problem:
    """The answer that stands for an exception."""
    match fault:
        case Problem():
            return fault
        case ContentRefused():
            return _withheld(fault)
        case CallRefused():
            kind = "approval-needed" if fault.asks else "call-refused"
            return Problem(403, kind, str(fault), more={"reason": dict(fault.told)})
        case NotFound():
            return Problem(404, "not-found", str(fault))
        case Conflict():
            return Problem(409, "conflict", str(fault))
        case BadCall():
            fields = (("arguments", str(fault)),)
            return Problem(422, "call-unreadable", str(fault), fields=fields, code=Code.CALL_UNREADABLE)
        case BadFields():
            return unprocessable(fault.fields)
        case RequestValidationError():
            return unprocessable(problems_of(fault.errors()))
        case NotInstalled():
            return Problem(503, "not-installed", str(fault))
        case BadInput() | BadContext() | BadGrant():
            return unprocessable([(_named_in(str(fault)), str(fault))])
        case BrokenRow():
            return Problem(500, "broken-row", str(fault), code=Code.STORE_UNREADABLE)
        case StoreUnreadable():
            return Problem(503, "store-unreadable", str(fault), code=Code.STORE_UNREADABLE)
        case HTTPException():
            return _of_http(fault)
        case _:
            return Problem(500, "fault", f"the server failed with {type(fault).__name__}")


def _withheld(fault: ContentRefused) -> Problem:
    """The answer to a model that may not have what it asked for; what was saved stays so, and that is said."""
    reason = reason_json(fault.reason, Effect.DENY)
    detail = f"{reason['sentence']}. What was to be changed is saved" if fault.saved else reason["sentence"]
    more = {"reason": reason, "saved": True} if fault.saved else {"reason": reason}
    return Problem(403, "content-withheld", detail, code=fault.reason.code, more=more)


def register(app: FastAPI) -> None:
    """Has the application answer every exception that is expected with a problem."""
    for expected in (Problem, Fault, BadGrant, RequestValidationError, HTTPException):
        app.add_exception_handler(expected, _answer)


def note(fault: Exception) -> None:
    """Writes an unexpected exception to the log: its type and where it was raised, not its message."""
    places = traceback.extract_tb(fault.__traceback__)[-3:]
    where = ", ".join(f"{place.filename.rpartition('/')[2]}:{place.lineno}" for place in places)
    _LOG.error("a request failed with %s (%s)", type(fault).__name__, where)


async def _answer(request: Request, fault: Exception) -> JSONResponse:
    if isinstance(fault, RequestValidationError):
        model = getattr(request.state, "body_model", None)
        return await told(unprocessable(problems_of(fault.errors(), model)), request.scope)
    return await told(problem_of(fault), request.scope)


async def told(problem: Problem, scope: Scope) -> JSONResponse:
    """The answer without a value of the vault: the one way in which a problem leaves."""
    # WHY in a thread: whether the vault knows more by now is asked of the store.
    return await run_in_threadpool(problem.response, teller(scope))


def teller(scope: Scope) -> Tell:
    """What takes the vault's values out of words, for the application of a request."""
    service = getattr(getattr(scope.get("app"), "state", None), "service", None)
    return _as_it_is if service is None else service.projecting.told


def _named_in(message: str) -> str:
    """The field that a message names first, in quotes; empty where it names none."""
    parts = message.split("'")
    return parts[1] if len(parts) > 2 and parts[1].isidentifier() else ""


def _of_http(fault: HTTPException) -> Problem:
    said = {
        404: ("not-found", "there is nothing at this address"),
        405: ("method-not-allowed", "this address does not know the method"),
    }
    phrase = HTTPStatus(fault.status_code).phrase.lower()
    kind, detail = said.get(fault.status_code, (phrase.replace(" ", "-"), phrase))
    return Problem(fault.status_code, kind, detail, headers=fault.headers)


def _title(kind: str) -> str:
    words = kind.replace("-", " ")
    return words[:1].upper() + words[1:]
