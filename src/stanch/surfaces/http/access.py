"""Who may make which request.

Settles how a request shows whom it comes from, and which right each route needs. Does not settle who has which right
(`app.permissions`). INVARIANT: a route that is named nowhere here needs the right to change.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from stanch.app.permissions import Right
from stanch.app.service import Service
from stanch.app.tokens import Caller
from stanch.surfaces.http.problems import Problem
from stanch.values.records import Actor

SURFACE = "http"
TOKENS = "/api/tokens"
# All that somebody may do who may only ask: an agent, in the first place.
ASKING = frozenset(
    {
        ("GET", "/api/approval/tools"),
        # Of these, it is answered about what belongs to its own sessions, and about no other that is stored.
        ("POST", "/api/check"),
        ("POST", "/api/explain"),
        ("POST", "/api/judge"),
        ("POST", "/api/judge/plan"),
        ("POST", "/api/sessions/{session_id}/calls"),
        ("GET", "/api/sessions/{session_id}/calls"),
        ("GET", "/api/calls/{call_id}"),
        ("POST", "/api/calls/{call_id}/start"),
        ("POST", "/api/calls/{call_id}/finish"),
        ("POST", "/api/calls/{call_id}/cancel"),
        ("POST", "/api/sessions/{session_id}/questions"),
        ("GET", "/api/questions/{request_id}"),
    }
)
# What goes on from here to a model is another matter than asking: no agent says which model it would be.
FILTERING = frozenset({("POST", "/api/history/redact")})
# What is done with stored content: whoever may, may all of it, and what a model gets is admitted item by item.
CONTENT = ("/api/files", "/api/links", "/api/runs", "/api/knowledge", "/api/tables", "/api/tools")
# What comes into a workbench is stored content, too; what lies in one is for people alone.
FILLING = frozenset({("POST", "/api/sessions/{session_id}/workbench/files")})
# What a person alone decides: that a value of the vault is looked for no more.
FORGETTING = frozenset({("DELETE", "/api/vault/{name}/values"), ("POST", "/api/vault/unreadable/forget")})
BEARER = HTTPBearer(auto_error=False, description="A token of `POST /api/tokens`, or the one made at first start.")


def right_for(method: str, path: str) -> Right:
    """The right that a route needs; `path` is the route's, with its parameters in braces."""
    if (method, path) in ASKING:
        return Right.ASK
    if (method, path) in FILTERING:
        return Right.FILTER
    if (method, path) in FILLING or any(path == place or path.startswith(f"{place}/") for place in CONTENT):
        return Right.CONTENT
    if path == TOKENS or path.startswith(f"{TOKENS}/") or (method, path) in FORGETTING:
        return Right.ADMINISTER
    return Right.READ if method == "GET" else Right.CHANGE


def admitted(request: Request, path: str) -> Caller:
    """Who makes the request, if they may. Raises `Problem` 401 and 403, and `StoreUnreadable`. It blocks."""
    caller = _service(request).tokens.caller(_secret(request))
    if caller is None:
        raise _unauthorized("this token opens nothing; it may have been revoked")
    if right_for(request.method, path) not in caller.rights:
        kind = caller.principal.kind.value
        raise Problem(403, "forbidden", f"a principal of the kind '{kind}' may not do this")
    return caller


def _secret(request: Request) -> str:
    given = request.headers.getlist("authorization")
    if not given:
        raise _unauthorized("a token is needed: send the header 'Authorization: Bearer TOKEN'")
    scheme, _, secret = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer" or not secret.strip():
        raise _unauthorized("the header has to be one 'Authorization: Bearer TOKEN'")
    return secret.strip()


def _unauthorized(detail: str) -> Problem:
    return Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _served(request: Request) -> Service:
    return _service(request)


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


async def _by(request: Request) -> Actor:
    caller: Caller = request.state.caller
    return caller.through(SURFACE)


Served = Annotated[Service, Depends(_served)]
Asked = Annotated[Caller, Depends(_caller)]
By = Annotated[Actor, Depends(_by)]
