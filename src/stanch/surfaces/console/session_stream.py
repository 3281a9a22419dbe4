"""`/console/sessions/{session_id}/stream`: says when a session went on, and the words that a model is writing.

Settles when something is said. What it is that changed, the page asks for itself (`session_page.timeline`).
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from stanch.explain import visible
from stanch.runtime.live import Kind
from stanch.surfaces.console.guard import HEADERS, LOGIN, Guard
from stanch.surfaces.console.session_records import mark_of
from stanch.surfaces.following import Following, Told, last_seq
from stanch.values.fault import NotFound, StoreUnreadable
from stanch.values.message import Role
from stanch.values.records import Broken
from stanch.values.turn import TurnState

QUIET_SECONDS = 15.0


async def _messages(guard: Guard, request: Request, session_id: str, after: int) -> AsyncIterator[str]:
    """The messages, until the login is over, the store cannot be read, the server stops, or the page goes."""
    service = guard.service
    following = Following(
        service, session_id, after, lambda: bool(request.app.state.stopping()) or service.events.closed
    )
    mark, said_at = "", 0.0
    yield "retry: 1000\n\n"
    try:
        async with aclosing(following.told()) as told:
            async for one in told:
                if one is not None:
                    if said := _said(one):
                        yield said
                    continue
                if await run_in_threadpool(guard.login_of, request) is None:
                    return
                now, before = time.monotonic(), mark
                mark = await run_in_threadpool(mark_of, service, session_id)
                if mark != before:
                    yield f"event: session\ndata: {mark}\n\n"
                elif now - said_at > QUIET_SECONDS:
                    yield ": still here\n\n"
                else:
                    continue
                said_at = now
    except StoreUnreadable:
        return


def _said(told: Told) -> str:
    """Words of an answer that is being written; that one is written to its end."""
    if told.kind is Kind.TEXT and told.data is not None:
        return f"event: words\ndata: {json.dumps(_visible(str(told.data.get('text', ''))))}\n\n"
    message, turn = told.message, told.turn
    is_answer = message is not None and not isinstance(message, Broken) and message.message.role is Role.ASSISTANT
    if is_answer or (turn is not None and turn.state is not TurnState.RUNNING):
        return "event: written\ndata: .\n\n"
    return ""


def _visible(text: str) -> str:
    return "\n".join("\t".join(visible(piece) for piece in line.split("\t")) for line in text.split("\n"))


def streaming(guard: Guard) -> Callable[[Request], Awaitable[Response]]:
    """The route's work."""

    async def stream(request: Request) -> Response:
        session_id = str(request.path_params["session_id"])
        try:
            login = await run_in_threadpool(guard.login_of, request)
            if login is None:
                if request.headers.get("hx-request") == "true":
                    return Response(status_code=401, headers=HEADERS)
                return RedirectResponse(LOGIN, 303, HEADERS)
            after = await run_in_threadpool(last_seq, guard.service, session_id)
        except (StoreUnreadable, NotFound) as why:
            status, words = await run_in_threadpool(guard.failing.said_of, why)
            return Response(words, status, HEADERS, "text/plain")
        messages = _messages(guard, request, session_id, after)
        return StreamingResponse(messages, media_type="text/event-stream", headers=HEADERS)

    return stream
