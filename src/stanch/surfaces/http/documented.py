"""The OpenAPI description: what every route may answer beside what it was asked for.

Settles the problems that each route is described with, and the schemas that no route names by itself. Does not settle
when a problem is given (`problems`).
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from stanch.surfaces.http.problems import MEDIA_TYPE
from stanch.surfaces.http.shown import ProblemShown

_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemShown"}}}
_SAID = {
    400: "The body is no JSON.",
    401: "There is no token, or it opens nothing.",
    403: "This principal may not do this.",
    404: "It does not exist.",
    409: "It does not go with what is stored; nothing was changed.",
    413: "The body is too large.",
    415: "The body is not sent as application/json.",
    421: "The server was asked by a name that is not its own.",
    422: "Some fields cannot be used; nothing was changed.",
    500: "A row cannot be read, or the server failed.",
    503: "The store cannot be read, or a package is missing; `type` says which.",
}
DESCRIPTION = """One gate for AI agents: may this agent do this?

Every request but `/healthz` carries `Authorization: Bearer TOKEN`. Errors are problem details (RFC 9457). Lists are
paged: `next` of one page is the `cursor` of the following one. What is refused changes nothing."""


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route that may give these problems, and those that any may give."""
    wanted = sorted({401, 403, 421, 422, 500, 503, *codes})
    return {code: {"description": _SAID[code], "content": _PROBLEM} for code in wanted}


def describe(app: FastAPI) -> None:
    """Has the application describe itself, the schema of problems included."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schemas = found["components"]["schemas"]
            said = ProblemShown.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas.update(said.pop("$defs", {}))
            schemas["ProblemShown"] = said
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
