"""What every route does before its own work: who asks, may they, and can what they sent be read?

Settles the order: first the token, then the right, then the query and the body. Does not settle who has which right
(`access`) nor what a body holds (`bodies`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from stanch.surfaces.http import json_text
from stanch.surfaces.http.access import admitted
from stanch.surfaces.http.problems import Problem, unprocessable

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """The body's value. Raises `Problem` 400 and 415."""
        return body_of(self, await self.body())


class GuardedRoute(APIRoute):
    """A route that only those may use who have the right that it needs."""

    @property
    def body_model(self) -> type[BaseModel] | None:
        """What its body has to be, where it is an object with known fields."""
        kind = self.body_field.field_info.annotation if self.body_field is not None else None
        return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None

    def get_route_handler(self) -> Handler:
        """The handler behind the guard."""
        inner = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            strict.state.caller = await run_in_threadpool(admitted, strict, self.path)
            strict.state.body_model = self.body_model
            self.known_query(strict)
            await self.known_body(strict)
            return await inner(strict)

        return guarded

    async def known_body(self, request: Request) -> None:
        """Refuses a body that cannot be read, or that nothing is made of. Raises `Problem` 400, 415 and 422."""
        raw = await request.body()
        takes = self.body_field is not None or "requestBody" in (self.openapi_extra or {})
        if raw and body_of(request, raw) not in (None, {}) and not takes:
            raise unprocessable([("", "this takes no body")])

    def known_query(self, request: Request) -> None:
        """Refuses a parameter that the route does not know. Raises `Problem` 422."""
        known = {field.alias for field in self.dependant.query_params}
        wrong = [name for name in dict.fromkeys(request.query_params) if name not in known]
        if wrong:
            said = f" (known: {', '.join(sorted(known))})" if known else ""
            raise unprocessable([(name, f"{name[:100]!r} is no parameter of this{said}") for name in wrong[:10]])


def body_of(request: Request, raw: bytes) -> Any:
    """The value of a body that is there. Raises `Problem` 400 for what is no JSON, 415 for what says so itself."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "unsupported-media-type", "the body has to be JSON, sent as application/json")
    try:
        return json_text.read(raw)
    except json_text.BadJson as why:
        raise Problem(400, "no-json", f"the body is no JSON: {why}") from None
