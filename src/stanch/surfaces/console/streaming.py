"""`/console/stream`: says when the inbox changed, for as long as a page listens.

Settles when something is said. What it is that changed, the page asks for itself (`inbox.cards`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from stanch.surfaces.console.guard import HEADERS, LOGIN, Guard
from stanch.surfaces.console.inbox import mark_of
from stanch.values.fault import StoreUnreadable

LOOK_SECONDS = 5.0
"""How long a change may go unheard that no watch tells of, such as an expiry."""
QUIET_SECONDS = 15.0
STOP_SECONDS = 0.5


class Stream:
    """What is sent to one page."""

    def __init__(self, guard: Guard, request: Request) -> None:
        self._guard, self._request = guard, request
        self._rung = asyncio.Event()
        self._mark = ""
        self._said_at = 0.0

    async def messages(self) -> AsyncIterator[str]:
        """The messages, until the login is over, the store cannot be read, the server stops, or the page goes."""
        loop = asyncio.get_running_loop()

        def ring() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(self._rung.set)

        forget: Callable[[], None] | None = None
        with suppress(StoreUnreadable):
            forget = await run_in_threadpool(self._guard.service.overview.listen, ring)
        try:
            yield "retry: 1000\n\n"
            while await run_in_threadpool(self._may_go_on):
                said = await self._changed()
                if said:
                    yield said
                if not await self._waited():
                    return
        except StoreUnreadable:
            return
        finally:
            if forget is not None:
                forget()

    def _may_go_on(self) -> bool:
        return self._guard.login_of(self._request) is not None

    async def _changed(self) -> str:
        mark = await run_in_threadpool(mark_of, self._guard.service)
        now = time.monotonic()
        if mark == self._mark and now - self._said_at < QUIET_SECONDS:
            return ""
        said = ": still here\n\n" if mark == self._mark else f"event: inbox\ndata: {mark}\n\n"
        self._mark, self._said_at = mark, now
        return said

    async def _waited(self) -> bool:
        """True once there may be something to say; False where the server stops."""
        end = time.monotonic() + LOOK_SECONDS
        while time.monotonic() < end and not self._rung.is_set():
            if self._is_over():
                return False
            with suppress(TimeoutError):
                await asyncio.wait_for(self._rung.wait(), STOP_SECONDS)
        self._rung.clear()
        return not self._is_over()

    def _is_over(self) -> bool:
        return bool(self._request.app.state.stopping()) or self._guard.service.events.closed


def streaming(guard: Guard) -> Callable[[Request], Awaitable[Response]]:
    """The route's work."""

    async def stream(request: Request) -> Response:
        try:
            login = await run_in_threadpool(guard.login_of, request)
        except StoreUnreadable:
            return Response(status_code=503, headers=HEADERS)
        if login is None:
            if request.headers.get("hx-request") == "true":
                return Response(status_code=401, headers=HEADERS)
            return RedirectResponse(LOGIN, 303, HEADERS)
        return StreamingResponse(Stream(guard, request).messages(), media_type="text/event-stream", headers=HEADERS)

    return stream
