"""A router of guarded routes, described as all of them are.

Settles what the routers of all nouns have in common. Does not settle what any route does.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Security
from pydantic import ValidationError

from stanch.surfaces.http.access import BEARER
from stanch.surfaces.http.bodies import RunContextBody
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.fields import problems_of
from stanch.surfaces.http.problems import unprocessable
from stanch.surfaces.http.route import GuardedRoute
from stanch.values.context import RunContext

TAKES_CONTEXT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"anyOf": [{"$ref": "#/components/schemas/RunContextBody"}, {"type": "null"}]}
            }
        },
    }
}
BODY = (400, 413, 415)
"""What a route with a body may answer with."""


def guarded(prefix: str, tag: str, route_class: type[GuardedRoute] = GuardedRoute) -> APIRouter:
    """A router whose routes only those may use who have the right that each needs."""
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        route_class=route_class,
        dependencies=[Security(BEARER)],
        responses=problems(),
        redirect_slashes=False,
    )


async def given_context(request: Request) -> RunContext | None:
    """The run context that is the whole body, None for null. Raises `Problem`.

    WHY by hand: a body that is left out by mistake must not be taken for a null, which takes a context away.
    """
    if not await request.body():
        raise unprocessable([("", "a body is needed: a run context, or null for none")])
    value = await request.json()
    if value is None:
        return None
    try:
        return RunContextBody.model_validate(value).context()
    except ValidationError as why:
        raise unprocessable(problems_of(why.errors(include_url=False), RunContextBody)) from None
