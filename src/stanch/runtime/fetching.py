"""How requests to providers go over the network: straight to the address, and no more of an answer than can be held.

Settles what a provider may send at most, and that nobody stands in between whom the policy does not name. Does not
settle who is asked (`runtime.models`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

MOST_BYTES = 64 * 1024 * 1024
# WHY this long: a local model may take minutes to its first word. A turn can be stopped at any time.
_PATIENCE = httpx2.Timeout(600.0, connect=10.0)
_PLAIN = ("", "identity")


class TooMuch(httpx2.TransportError):
    """A provider sends more than any answer has, or in a form whose size cannot be told."""


def provider_client(most: int = MOST_BYTES) -> httpx2.AsyncClient:
    """A client for one provider. An answer of more than `most` bytes raises `TooMuch` where these are exceeded.

    WHY no proxies or redirects of the environment: a request goes to the address that the policy names. Certificates
    that the environment names count.
    """
    transport = _Bounded(httpx2.AsyncHTTPTransport(verify=httpx2.create_ssl_context()), most)
    # WHY not packed: a few bytes can be unpacked into more than there is room for.
    return httpx2.AsyncClient(
        transport=transport,
        timeout=_PATIENCE,
        follow_redirects=False,
        trust_env=False,
        headers={"Accept-Encoding": "identity"},
    )


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, wrapped: httpx2.AsyncBaseTransport, most: int) -> None:
        self._wrapped, self._most = wrapped, most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._wrapped.handle_async_request(request)
        if response.headers.get("content-encoding", "").strip().lower() not in _PLAIN:
            await response.aclose()
            raise TooMuch("the answer is packed, which nobody asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._most)
        return response

    async def aclose(self) -> None:
        await self._wrapped.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, wrapped: httpx2.AsyncByteStream, most: int) -> None:
        self._wrapped, self._left = wrapped, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._wrapped:
            self._left -= len(piece)
            if self._left < 0:
                raise TooMuch("the answer is longer than any may be")
            yield piece

    async def aclose(self) -> None:
        await self._wrapped.aclose()
