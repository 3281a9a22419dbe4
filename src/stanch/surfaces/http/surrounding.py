"""What surrounds every request, whatever it asks for: its host, its length, the headers of its answer, its failing.

Settles what is refused before any route is looked for. Does not settle who may ask (`access`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stanch.surfaces.http.content_uploads import most_uploaded, too_long
from stanch.surfaces.http.problems import Problem, note, problem_of, teller, told

MOST_BODY_BYTES = 1 << 20
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Apart(Protocol):
    """A part of the application that reads bodies by itself, and refuses in words of its own."""

    def is_for(self, scope: Scope, /) -> bool:
        """True for a request that is this part's to answer."""

    def refused(self, scope: Scope, status: int, words: str, /) -> Response:
        """The refusal of a request that does not come as far as this part."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send, /) -> None:
        """Answers one request."""


class Surrounding:
    """The outermost part of the application.

    `hosts` are further names by which the server may be called where it listens on loopback, such as a proxy's.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] = (), apart: Apart | None = None) -> None:
        self.app, self._hosts, self._apart = app, frozenset(host.lower() for host in hosts), apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False
        apart = self._apart if self._apart is not None and self._apart.is_for(scope) else None

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._called_rightly(scope)
            if apart is not None:
                await apart(scope, receive, sending)
                return
            headers, most = Headers(scope=scope), most_uploaded(scope["method"], scope["path"])
            receiving = await _bounded(headers, receive) if most is None else _counted(headers, receive, most)
            await self.app(scope, receiving, sending)
        except Exception as fault:
            if not isinstance(fault, Problem):
                note(fault)
            if begun:
                return
            problem = problem_of(fault)
            answer: Response = await told(problem, scope)
            if apart is not None:
                words = await run_in_threadpool(teller(scope), problem.detail)
                answer = apart.refused(scope, problem.status, words)
            await answer(scope, receive, sending)

    def _called_rightly(self, scope: Scope) -> None:
        """Refuses a request that reached loopback under a name that is not loopback's.

        WHY: a page on the web can have its own name lead to 127.0.0.1, and its scripts then speak to this server.
        """
        server = scope.get("server")
        if not server or not _is_loopback(str(server[0])):
            return
        given = Headers(scope=scope).getlist("host")
        name = _host_of(given[0]) if len(given) == 1 else ""
        if name not in self._hosts and name != "localhost" and not _is_loopback(name):
            raise Problem(421, "misdirected", "this server is asked by another name than its own; use 127.0.0.1")


def _host_of(header: str) -> str:
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


async def _bounded(headers: Headers, receive: Receive) -> Receive:
    """The same messages, the body in one of them. Raises `Problem` 413 for one that is too long."""
    if headers.get("content-length") is None and "transfer-encoding" not in headers:
        return receive
    _announced(headers, MOST_BODY_BYTES)
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return _again(message, receive)
        body += message.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            raise too_long(MOST_BODY_BYTES)
        more = message.get("more_body", False)
    return _again({"type": "http.request", "body": bytes(body), "more_body": False}, receive)


def _again(message: Message, receive: Receive) -> Receive:
    told = False

    async def receiving() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return message

    return receiving


def _counted(headers: Headers, receive: Receive, most: int) -> Receive:
    """The same messages as they come, for a part that puts a body away. Raises `Problem` 413, also in between."""
    _announced(headers, most)
    size = 0

    async def receiving() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise too_long(most)
        return message

    return receiving


def _announced(headers: Headers, most: int) -> None:
    """Refuses a body that says of itself that it is too long. Raises `Problem` 413."""
    length = headers.get("content-length", "")
    if length.isdigit() and (len(length) > len(str(most)) or int(length) > most):
        raise too_long(most)
