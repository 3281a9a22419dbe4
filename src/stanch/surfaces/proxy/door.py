"""The model proxy as an application: one request in, one request to a provider, its answer back.

Settles what is refused before anything is decided: an address, a method, a kind of content that nobody knows here. Does
not settle what is sent (`app.proxying`) nor how it travels (`surfaces.proxy.upstream`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode

import httpx2
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stanch.app.proxying import Asked, Outgoing, Proxy
from stanch.app.service import Service
from stanch.surfaces.proxy.addresses import PREFIX, QUERIES, Address, Kind, address_of, shape_of
from stanch.surfaces.proxy.headers import onward, secret_of, single
from stanch.surfaces.proxy.refusals import Refused, note, refusal, refusal_of
from stanch.surfaces.proxy.upstream import TIMES, Unreachable, Upstream

MOST_BODY_BYTES = 64 << 20
MOST_UNKNOWN_BYTES = 1 << 20


class _Gone(Exception):
    """The caller went away."""


class Door:
    """Everything below `/v1`."""

    def __init__(self, service: Service, upstream: Upstream | None = None) -> None:
        self._service, self._upstream = service, upstream

    @property
    def _proxy(self) -> Proxy:
        return self._service.proxy

    async def aclose(self) -> None:
        """Ends the connections to providers."""
        if self._upstream is not None:
            await self._upstream.aclose()

    @staticmethod
    def is_for(scope: Scope) -> bool:
        """True for a request below `/v1`, however its path is spelled."""
        return any(path == PREFIX or path.startswith(PREFIX + "/") for path in (_path(scope), scope["path"]))

    @staticmethod
    def refused(scope: Scope, status: int, words: str) -> Response:
        """The refusal of a request that does not come as far as this door."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        return refusal(shape_of(_path(scope), headers), status, words)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, whose body comes in one message."""
        shape = shape_of(_path(scope), {})
        try:
            headers = single(scope["headers"])
            shape = shape_of(_path(scope), headers)
            address = _address(scope, headers)
            body = await self._body(receive, headers) if address.method == "POST" else b""
            outgoing = await run_in_threadpool(self._made, address, body, headers)
        except _Gone:
            return
        except Exception as fault:
            # WHY in a thread: whether the vault knows more by now is asked of the store.
            refused = await run_in_threadpool(refusal_of, shape, fault, self._service.projecting.told)
            await refused(scope, receive, send)
            return
        await self._passed(scope, receive, send, address, outgoing)

    async def _body(self, receive: Receive, headers: Mapping[str, str]) -> bytes:
        """The body. WHY the token first where it is long: nobody without one shall fill the memory."""
        _json_alone(headers)
        pieces, size, more, known = [], 0, True, False
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise _Gone
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            more = message.get("more_body", False)
            if size > MOST_BODY_BYTES:
                raise _too_long()
            if more and size > MOST_UNKNOWN_BYTES and not known:
                await run_in_threadpool(self._proxy.caller, secret_of(headers))
                known = True
        return b"".join(pieces)

    def _made(self, address: Address, body: bytes, headers: Mapping[str, str]) -> Outgoing:
        secret = secret_of(headers)
        if address.kind is Kind.MODELS:
            return self._proxy.listed(secret, address.shape)
        return self._proxy.prepared(Asked(address.shape, body, secret, headers, address.kind is Kind.COUNT))

    async def _passed(self, scope: Scope, receive: Receive, send: Send, address: Address, outgoing: Outgoing) -> None:
        copy: bytes | None = None
        begun = False
        try:
            if self._upstream is None:
                self._upstream = Upstream()
            url, host = _url(outgoing.provider.base_url + address.upstream + _query(scope, address))
            headers = onward(scope["headers"], outgoing.provider, outgoing.key, host=host, body=outgoing.body)

            request = httpx2.Request(
                address.method, url, headers=headers, content=outgoing.body, extensions={"timeout": TIMES}
            )

            async def sending(message: object) -> None:
                nonlocal begun
                begun = True
                await send(message)  # type: ignore[arg-type]

            passed = await self._upstream.passing(request, receive, sending)
            copy = passed.copy
        except Unreachable:
            words = f"the provider '{outgoing.provider.id}' cannot be reached"
            await refusal(address.shape, 502, words)(scope, receive, send)
        except Exception as fault:
            note(fault)
            if not begun:
                words = f"the provider '{outgoing.provider.id}' broke off"
                await refusal(address.shape, 502, words)(scope, receive, send)
            # WHY nothing more where it has begun: without its last message the server hangs up, as the provider did.
        finally:
            if outgoing.sent is not None and not self._proxy.settled_at_once(outgoing.sent, copy):
                await BackgroundTask(self._proxy.settled, outgoing.sent, copy)()


def _path(scope: Scope) -> str:
    """The path as it was sent: not a percent sign resolved."""
    raw = scope.get("raw_path")
    path: str = raw.decode("latin-1").partition("?")[0] if raw else scope["path"]
    return path


def _address(scope: Scope, headers: Mapping[str, str]) -> Address:
    found = address_of(_path(scope), headers)
    if found is None:
        raise Refused(404, "the model proxy knows no such address, and sends nothing there")
    if headers.get("upgrade", "").lower() == "websocket":
        # WHY 426: after it an agent asks as everybody does, at once; after any other refusal it tries again first.
        raise Refused(426, f"there is no WebSocket here; use {found.method}")
    if scope["method"] != found.method:
        raise Refused(405, f"this address is for {found.method} alone")
    return found


def _json_alone(headers: Mapping[str, str]) -> None:
    """Raises `Refused` for a body that is not said to be plain JSON of a length that can be read."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "the body has to be application/json")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "the body has to come without a content-encoding")
    length = headers.get("content-length", "0")
    if not length.isdigit() or len(length) > len(str(MOST_BODY_BYTES)) or int(length) > MOST_BODY_BYTES:
        raise _too_long()


def _too_long() -> Refused:
    return Refused(413, f"the body is larger than {MOST_BODY_BYTES:,} bytes")


@lru_cache(maxsize=64)
def _url(text: str) -> tuple[httpx2.URL, str]:
    """The address, and the host that it names."""
    url = httpx2.URL(text)
    return url, url.netloc.decode()


def _query(scope: Scope, address: Address) -> str:
    given = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
    kept = [(name, value) for name, value in given if name in QUERIES[address.kind]]
    return f"?{urlencode(kept)}" if kept else ""
