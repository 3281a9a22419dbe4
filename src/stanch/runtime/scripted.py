"""A scripted model behind real HTTP: OpenAI's chat completions and responses, Anthropic's messages, streaming or not.

Settles which step of a script answers a request, and how the answer goes out: held back, cut off, as an error. Does not
settle how a dialect spells it (`runtime.scripted_chat`, `scripted_responses`, `scripted_messages`), nor where it is
served (`runtime.scripted_serving`).
WHY part of the product: what can be tried without a key for a real model has to have a model to talk to.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from stanch.runtime import scripted_chat, scripted_messages, scripted_responses
from stanch.runtime.scripted_asked import Asked, Dialect, Received
from stanch.runtime.scripted_reply import Reply, fail

MOST_SECONDS_HELD = 60.0
_POLL = 0.005
Answers: TypeAlias = Callable[[Asked], Reply]
"""What a script is in the end: a request in, a reply out. It is called in a thread and may wait there."""


class _Spelling(Protocol):
    """What a dialect's module offers."""

    def whole(self, reply: Reply, asked: Asked, ident: str) -> dict[str, Any]: ...

    def events(self, reply: Reply, asked: Asked, ident: str) -> list[bytes]: ...

    def error(self, status: int, message: str, ident: str) -> dict[str, Any]: ...

    def error_event(self, message: str, ident: str) -> bytes: ...


_SPELLINGS: dict[Dialect, _Spelling] = {
    Dialect.CHAT: scripted_chat,
    Dialect.RESPONSES: scripted_responses,
    Dialect.MESSAGES: scripted_messages,
}


class Script:
    """Replies in their order, whoever asks; after the last one, every request is an error of status 400."""

    def __init__(self, steps: Iterable[Reply | Answers]) -> None:
        self._steps: Iterator[Reply | Answers] = iter(tuple(steps))
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Reply:
        """The next reply; a step that is a callable makes it from the request."""
        with self._lock:
            step = next(self._steps, None)
        if step is None:
            return fail(400, f"the script ends before request {asked.number}")
        return step if isinstance(step, Reply) else step(asked)


def scripted_models(
    script: Iterable[Reply | Answers] | Answers,
    *,
    models: Iterable[str] = ("scripted",),
    seed: str = "",
    seen: Callable[[Received], None] | None = None,
) -> Starlette:
    """An application that answers as models do, from a list of steps or from a callable.

    `seen` is told of every request, before it is answered. `seed` stands in the ids of answers and tool calls, so that
    two servers give no id twice.
    """
    answers = script if callable(script) else Script(script)
    return _Scripted(answers, tuple(models), seed, seen).application()


class _Scripted:
    def __init__(
        self, answers: Answers, models: tuple[str, ...], seed: str, seen: Callable[[Received], None] | None
    ) -> None:
        self._answers = answers
        self._models = models
        self._seed = seed
        self._seen = seen
        self._number = 0

    def application(self) -> Starlette:
        routes = [Route(dialect.value, self._model, methods=["POST"]) for dialect in Dialect]
        routes.append(Route("/v1/messages/count_tokens", self._count, methods=["POST"]))
        routes.append(Route("/v1/models", self._list, methods=["GET"]))
        routes.append(Route("/v1/models/{model:path}", self._one, methods=["GET"]))
        routes.append(Route("/{path:path}", self._nothing, methods=["GET", "POST", "PUT", "DELETE"]))
        return Starlette(routes=routes)

    async def _received(self, request: Request) -> Received:
        received = Received(request.method, request.url.path, dict(request.headers), await request.body())
        if self._seen is not None:
            self._seen(received)
        return received

    async def _model(self, request: Request) -> Response:
        received = await self._received(request)
        dialect = Dialect(received.path)
        spelling = _SPELLINGS[dialect]
        self._number += 1
        ident = f"{self._seed}{self._number:04d}"
        body = _parsed(received)
        if body is None:
            return JSONResponse(spelling.error(400, "the body is no JSON object", ident), 400)
        asked = Asked(self._number, dialect, body)
        try:
            reply = await run_in_threadpool(self._answers, asked)
        except Exception as error:
            # WHY 400: a client asks again after a 500, and the next answer of the script would be taken by mistake.
            reply = fail(400, f"the script failed: {type(error).__name__}")
        headers = {"request-id": f"req_{ident}", "x-request-id": f"req_{ident}"} | dict(reply.headers)
        if not reply.gate_after and not await _held(reply, request):
            return JSONResponse(spelling.error(504, "the reply was held back for too long", ident), 504)
        if reply.status != 200:
            return JSONResponse(spelling.error(reply.status, reply.error, ident), reply.status, headers)
        if asked.streams:
            events = spelling.events(reply, asked, ident)
            if reply.error_after is not None:
                events[reply.error_after :] = [spelling.error_event(reply.error or "overloaded", ident)]
            return _Stream(events, reply, request, headers)
        whole = JSONResponse(spelling.whole(reply, asked, ident), 200, headers)
        return whole if reply.cut_after is None else _Cut(whole)

    async def _count(self, request: Request) -> Response:
        received = await self._received(request)
        return JSONResponse({"input_tokens": max(1, len(received.raw) // 4)})

    async def _list(self, request: Request) -> Response:
        await self._received(request)
        if _is_anthropic(request):
            ends = {"first_id": self._models[0], "last_id": self._models[-1]} if self._models else {}
            data = [_as_anthropic(model) for model in self._models]
            return JSONResponse({"data": data, "has_more": False, "first_id": None, "last_id": None} | ends)
        return JSONResponse({"object": "list", "data": [_as_openai(model) for model in self._models]})

    async def _one(self, request: Request) -> Response:
        await self._received(request)
        model = request.path_params["model"]
        if model not in self._models:
            return self._missing(request, f"no model {model!r}")
        return JSONResponse(_as_anthropic(model) if _is_anthropic(request) else _as_openai(model))

    async def _nothing(self, request: Request) -> Response:
        received = await self._received(request)
        return self._missing(request, f"no route {received.path!r}")

    @staticmethod
    def _missing(request: Request, message: str) -> Response:
        spelling = _SPELLINGS[Dialect.MESSAGES if _is_anthropic(request) else Dialect.CHAT]
        return JSONResponse(spelling.error(404, message, "0"), 404)


class _Stream(Response):
    """Events one by one, held back or cut off where the reply says so."""

    media_type = "text/event-stream"

    def __init__(self, events: list[bytes], reply: Reply, request: Request, headers: dict[str, str]) -> None:
        super().__init__(headers={"cache-control": "no-store"} | headers)
        del self.headers["content-length"]
        self._events = events
        self._reply = reply
        self._request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's shape
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        reply = self._reply
        for number, event in enumerate(self._events):
            if number == reply.cut_after or (reply.gate_after == number > 0 and not await _held(reply, self._request)):
                return  # WHY no last message: the server then hangs up in the middle, which is what is wanted
            await send({"type": "http.response.body", "body": event, "more_body": True})
        if reply.cut_after != len(self._events):
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Cut(Response):
    """The first half of an answer, and then nothing."""

    def __init__(self, whole: Response) -> None:
        super().__init__()
        self._whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's shape
        await send({"type": "http.response.start", "status": 200, "headers": self._whole.raw_headers})
        half = bytes(self._whole.body)[: len(self._whole.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})


def _parsed(received: Received) -> dict[str, Any] | None:
    try:
        body = received.json()
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


async def _held(reply: Reply, request: Request) -> bool:
    """Waits until the reply's gate opens; false where nobody opens it in time or the client is gone."""
    if reply.gate is None:
        return True
    end = time.monotonic() + MOST_SECONDS_HELD
    while not reply.gate.is_set():
        if time.monotonic() > end or await request.is_disconnected():
            return False
        await asyncio.sleep(_POLL)  # WHY: the gate belongs to a thread, and a thread that waits outlives the server
    return True


def _is_anthropic(request: Request) -> bool:
    return "anthropic-version" in request.headers


def _as_openai(model: str) -> dict[str, object]:
    return {"id": model, "object": "model", "created": scripted_chat.CREATED, "owned_by": "scripted"}


def _as_anthropic(model: str) -> dict[str, object]:
    known: dict[str, object] = {"type": "model", "id": model, "display_name": model, "lifecycle": "active"}
    return known | {"created_at": "2025-01-01T00:00:00Z", "max_input_tokens": 200_000, "max_tokens": 64_000}
