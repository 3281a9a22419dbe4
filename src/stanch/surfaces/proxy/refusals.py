"""A refusal in the words of the provider that the caller thinks it speaks to.

Settles status and body. INVARIANT: they hold names of fields, never a value that was sent, and none of the vault. Does
not settle what is refused (`app.proxying`).
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from stanch.app.proxying import NotSent, Unauthorized, Unready
from stanch.tiers.dialects.telling import Shape
from stanch.tiers.tier import TiersBroken
from stanch.values.fault import BadInput, BrokenRow, Conflict, NotFound, StoreUnreadable

_INVALID = "invalid_request_error"
_TYPES = {
    400: (_INVALID, _INVALID),
    401: ("authentication_error", _INVALID),
    403: ("permission_error", "permission_error"),
    404: ("not_found_error", _INVALID),
    405: (_INVALID, _INVALID),
    409: (_INVALID, _INVALID),
    413: ("request_too_large", _INVALID),
    415: (_INVALID, _INVALID),
    421: (_INVALID, _INVALID),
    426: (_INVALID, _INVALID),
}
_LOG = logging.getLogger(__name__)
_CODES = {401: "invalid_api_key", 404: "model_not_found"}


class Refused(Exception):
    """What a request is answered with that is refused before anything is decided about it."""

    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words
        super().__init__(words)


def note(fault: Exception) -> None:
    """Writes an unexpected exception to the log: its type and where it was raised, not its message."""
    places = traceback.extract_tb(fault.__traceback__)[-3:]
    where = ", ".join(f"{place.filename.rpartition('/')[2]}:{place.lineno}" for place in places)
    _LOG.error("the model proxy failed with %s (%s)", type(fault).__name__, where)


def refusal(shape: Shape, status: int, message: str, code: str | None = None) -> Response:
    """The answer. It tells clients not to ask the same again: nothing would come of it but the same."""
    theirs, openais = _TYPES.get(status, ("api_error", "server_error"))
    said: dict[str, Any]
    if shape is Shape.ANTHROPIC:
        said = {"type": "error", "error": {"type": theirs, "message": message}, "request_id": None}
    else:
        said = {"error": {"message": message, "type": openais, "param": None, "code": code}}
    headers = {"x-should-retry": "false", "connection": "close"} if status == 413 else {"x-should-retry": "false"}
    return Response(json.dumps(said).encode(), status, headers, "application/json")


def refusal_of(shape: Shape, fault: Exception, tell: Callable[[str], str]) -> Response:
    """The answer that stands for an exception; `tell` makes of its words what may be told."""
    match fault:
        case Unauthorized():
            return refusal(shape, 401, tell(str(fault)), _CODES[401])
        case NotSent():
            return refusal(shape, 403, tell(str(fault)), "withheld")
        case BadInput():
            return refusal(shape, 400, tell(str(fault)))
        case NotFound(kind="model"):
            message = f"{fault}, or its provider does not speak this API: write provider/model, or see [proxy]"
            return refusal(shape, 404, tell(message), _CODES[404])
        case Conflict():
            return refusal(shape, 409, tell(str(fault)))
        case Unready() | TiersBroken() | StoreUnreadable() | BrokenRow():
            return refusal(shape, 503, tell(str(fault)))
        case Refused():
            return refusal(shape, fault.status, tell(fault.words))
        case _:
            note(fault)
            return refusal(shape, 500, f"the proxy failed with {type(fault).__name__}; nothing was sent")
