"""The way to a provider and back: a request sent, and its answer passed on byte for byte as it comes.

Settles connections, time limits, and that a caller who goes away ends the request at the provider too. Does not settle
what is sent (`app.proxying`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from starlette.types import Receive, Send

from stanch.surfaces.proxy.headers import back

CONNECT_SECONDS, SILENT_SECONDS = 10.0, 600.0
MOST_CONNECTIONS, MOST_IDLE, IDLE_SECONDS = 1_000, 32, 15.0
MOST_COPY = 4 << 20
TIMES = {"connect": CONNECT_SECONDS, "read": SILENT_SECONDS, "write": SILENT_SECONDS, "pool": CONNECT_SECONDS}


class Unreachable(Exception):
    """The provider did not answer. The message names no address."""


class Passed:
    """What came of passing an answer on. `copy` is all that was answered, None where it was too long, or cut off."""

    def __init__(self) -> None:
        self.begun = False
        self.copy: bytes | None = None


class Upstream:
    """The connections to providers, of one event loop."""

    def __init__(self, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        # WHY not a client: that follows redirects, keeps cookies and reads the environment, none of which may be.
        limits = httpx2.Limits(
            max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_IDLE, keepalive_expiry=IDLE_SECONDS
        )
        self._transport = transport or httpx2.AsyncHTTPTransport(limits=limits, trust_env=False)

    async def aclose(self) -> None:
        """Ends the connections."""
        await self._transport.aclose()

    async def passing(self, request: httpx2.Request, receive: Receive, send: Send) -> Passed:
        """Sends the request and passes its answer on; ends both where the caller goes away.

        Raises `Unreachable` where nothing was answered at all. An answer that breaks off raises what broke it.
        """
        passed = Passed()

        async def work() -> None:
            async with self._answer(request) as answer:
                await _pass_on(answer, send, passed)

        await _unless_gone(receive, work)
        return passed

    @asynccontextmanager
    async def _answer(self, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
        try:
            answer = await self._transport.handle_async_request(request)
        except (httpx2.TransportError, httpx2.InvalidURL, OSError) as why:
            raise Unreachable(type(why).__name__) from None
        try:
            yield answer
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()


async def _pass_on(answer: httpx2.Response, send: Send, passed: Passed) -> None:
    copy: bytearray | None = bytearray() if answer.status_code == 200 else None
    if answer.headers.get("content-encoding", "identity") != "identity":
        copy = None
    stream: Any = answer.stream
    await send({"type": "http.response.start", "status": answer.status_code, "headers": back(answer.headers.raw)})
    passed.begun = True
    async for piece in stream:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        if copy is not None:
            copy += piece
            if len(copy) > MOST_COPY:
                copy = None
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    passed.copy = None if copy is None else bytes(copy)


async def _unless_gone(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Does the work, and stops it where the caller goes away before it is done."""
    faults: list[Exception] = []
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            await work()
        except Exception as why:  # raised again below, out of the group, which would wrap it
            faults.append(why)
        group.cancel_scope.cancel()
    if faults:
        raise faults[0]
