"""Routes of operations on stored content: one request is one call of one operation.

Settles how a request names a model's session and call, and that nothing is sent to a model which the operation has not
accounted for. Does not settle what an operation does (`content`), nor what is admitted (`delivery`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers

from stanch.app.content_writing import Declared
from stanch.app.owning import own_session
from stanch.app.service import Service
from stanch.app.tokens import Caller
from stanch.content.access import Access
from stanch.content.streams import Stream
from stanch.delivery.operation import ContentDelivery, ContentDeliveryUnaccounted, Operation
from stanch.surfaces.attachment import attachment
from stanch.surfaces.http.access import SURFACE
from stanch.surfaces.http.fields import problems_of
from stanch.surfaces.http.problems import unprocessable
from stanch.surfaces.http.route import GuardedRoute

SESSION, CALL = "stanch-session", "stanch-call"
SECRETS, COMPLETE = "stanch-secrets", "stanch-secrets-complete"
_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9_-]+=[A-Za-z0-9_.+-]+)*")
R = TypeVar("R")
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Unserved(TypeError):
    """A route of stored content was defined that does not say which operation it serves."""


def serves(operation: Operation[Any, Any, Any]) -> Callable[[Endpoint], Endpoint]:
    """Says which operation a route serves. It stands below the route's own decorator."""

    def marked(endpoint: Endpoint) -> Endpoint:
        endpoint.operation = operation  # type: ignore[attr-defined]
        return endpoint

    return marked


class Answering:
    """Answers one request with one operation."""

    def __init__(self, service: Service, caller: Caller, headers: Headers) -> None:
        self._service, self._caller, self._headers = service, caller, headers
        self.access: Access | None = None

    def __call__(self, operation: Operation[Any, Any, R], asked: Any, **more: Any) -> R:
        """What the operation returns, as this caller may have it: for a model JSON-like and projected.

        `more` goes to `Content.access`. Raises whatever the operation does, and `CallRefused`. It blocks.
        """
        content, session_id = self._service.content, _single(self._headers, SESSION)
        classified = self._caller.principal.is_copilot
        if classified and session_id is not None:
            own_session(self._service, self._caller, session_id)
        access = self.access = content.access(
            self._caller.principal,
            self._caller.through(SURFACE),
            session_id=session_id if classified else None,
            tool=operation.tool,
            declared=_declared(self._headers),
            **more,
        )
        arguments = asked.model_dump(mode="json", exclude_defaults=True)
        with ExitStack() as judged:
            if operation.tool is not None:
                call_id = _single(self._headers, CALL)
                judged.enter_context(
                    content.judged(access, operation.tool, arguments, call_id=call_id, read=_reading(operation))
                )
            found: R = content.given(access, operation, asked)
        return found


class ContentRoute(GuardedRoute):
    """A route of stored content. Raises `Unserved` where it does not say which operation it serves."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        operation = getattr(endpoint, "operation", None)
        if not isinstance(operation, Operation):
            raise Unserved(f"the route {path} does not say which operation it serves")
        self.operation = operation
        super().__init__(path, endpoint, **more)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler behind the guard, and before a last look at what it answers."""
        inner = super().get_route_handler()

        async def accounted(request: Request) -> Response:
            try:
                response = await inner(request)
            except ValidationError as why:
                if why.title != self.operation.arguments.__name__:
                    raise
                raise unprocessable(problems_of(why.errors(include_url=False))) from None
            caller: Caller = request.state.caller
            if caller.principal.is_copilot and self.operation.content_delivery is ContentDelivery.SOURCED:
                answering: Answering | None = getattr(request.state, "answering", None)
                access = None if answering is None else answering.access
                if access is None or not access.delivery.accounted:
                    raise ContentDeliveryUnaccounted(self.operation.name)
            return response

        return accounted


async def _answering(request: Request) -> Answering:
    answering = Answering(request.app.state.service, request.state.caller, request.headers)
    request.state.answering = answering
    return answering


Asks = Annotated[Answering, Depends(_answering)]


def streamed(stream: Stream) -> StreamingResponse:
    """The answer that sends a stream, to be kept and never shown as a page."""
    # WHY: somebody said of a file what type it has, and no client can read an answer of a type that is none.
    kind = stream.media_type if _TYPE.fullmatch(stream.media_type) else "application/octet-stream"
    return attachment(stream, stream.name, kind)


def as_json(given: BaseModel | Any, status: int = 200) -> JSONResponse:
    """The answer that holds what an operation gave: a model's is projected already, and no shape is held against it."""
    return JSONResponse(given.model_dump(mode="json") if isinstance(given, BaseModel) else given, status)


def _reading(operation: Operation[Any, Any, Any]) -> Callable[[Mapping[str, Any]], Mapping[str, Any] | None]:
    """How an operation reads the arguments of a call: without its defaults. None is for what it cannot read."""

    def read(arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        try:
            asked = operation.arguments.model_validate_json(json.dumps(dict(arguments)))
        except ValidationError:
            return None
        found: dict[str, Any] = asked.model_dump(mode="json", exclude_defaults=True)
        return found

    return read


def _single(headers: Headers, name: str) -> str | None:
    """The header's value; None where there is none. Raises `Problem` 422 where there are two: neither is believed."""
    given = headers.getlist(name)
    if len(given) > 1:
        raise unprocessable([(name, f"the header '{name}' may be sent once")])
    return given[0] if given else None


def _declared(headers: Headers) -> Declared | None:
    """What a writer says of itself. Raises `Problem` 422."""
    # WHY all of them: to drop one would be to forget secrets.
    named, complete = headers.getlist(SECRETS), _single(headers, COMPLETE)
    if not named and complete is None:
        return None
    if complete not in (None, "yes", "no"):
        raise unprocessable([(COMPLETE, f"'{COMPLETE}' is 'yes' or 'no'")])
    names = tuple(name.strip() for name in ",".join(named).split(",") if name.strip())
    return Declared(names, complete != "no")
