"""One request for an organization's rules: straight to the address, bounded in time and size, and to no other server.

Settles what of an answer is taken, and where it may lead. Does not settle what it means (`policy.organization_rules`).
"""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import NamedTuple
from urllib.parse import urljoin

import httpx2

from stanch.policy.organization import Trouble, Unfetched
from stanch.policy.organization_rules import MOST_BYTES
from stanch.policy.organization_source import source_problem, spot_of

MOST_LEAPS = 3
_LEADS_ON = (301, 302, 303, 307, 308)
_PLAIN = ("", "identity")
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,256}"')


class Answer(NamedTuple):
    """What a server sent, whole."""

    raw: bytes
    etag: str


def answer_of(
    url: str, etag: str, token: str | None, verify: ssl.SSLContext | None, seconds: float
) -> Answer | None:  # fmt: skip
    """The answer of the address; None where it says that what has this `etag` is what it has still. Raises `Unfetched`.

    WHY a loop of its own: only so is there one limit for all of it. A server can take its time over each byte.
    """
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_within(url, etag, token, verify, seconds))
    except TimeoutError:
        raise Unfetched(Trouble.TIMED_OUT) from None
    except httpx2.HTTPError as error:
        raise Unfetched(_trouble(error)) from None
    except (OSError, ValueError, httpx2.InvalidURL):
        raise Unfetched(Trouble.UNREACHABLE) from None
    finally:
        loop.close()


async def _within(
    url: str, etag: str, token: str | None, verify: ssl.SSLContext | None, seconds: float
) -> Answer | None:  # fmt: skip
    # WHY no proxies of the environment: nobody stands in between whom the policy does not name.
    async with asyncio.timeout(seconds):
        context = httpx2.create_ssl_context() if verify is None else verify
        async with httpx2.AsyncClient(
            verify=context, timeout=httpx2.Timeout(seconds), follow_redirects=False, trust_env=False
        ) as client:
            at = url
            for _ in range(MOST_LEAPS + 1):
                async with client.stream("GET", at, headers=_headers(etag, token)) as response:
                    if response.status_code not in _LEADS_ON:
                        return await _taken(response, etag)
                    at = _led(url, at, response.headers.get("location", ""))
    raise Unfetched(Trouble.REDIRECTED)


def _headers(etag: str, token: str | None) -> dict[str, str]:
    # WHY not packed: a few bytes can be unpacked into more than there is room for.
    said = {"Accept": "application/json, application/toml", "Accept-Encoding": "identity", "User-Agent": "stanch"}
    if etag:
        said["If-None-Match"] = etag
    if token is not None:
        said["Authorization"] = f"Bearer {token}"
    return said


async def _taken(response: httpx2.Response, etag: str) -> Answer | None:
    if response.status_code == 304 and etag:
        return None
    if response.status_code != 200:
        raise Unfetched(Trouble.STATUS, str(response.status_code))
    if response.headers.get("content-encoding", "").strip().lower() not in _PLAIN:
        raise Unfetched(Trouble.PACKED)
    if "content-length" not in response.headers and "transfer-encoding" not in response.headers:
        # WHY: where the end of the connection is the end of the text, half of the rules look like all of them.
        raise Unfetched(Trouble.UNREADABLE, "(its length is not told)")
    raw = bytearray()
    async for piece in response.aiter_raw():
        raw += piece
        if len(raw) > MOST_BYTES:
            raise Unfetched(Trouble.TOO_LARGE)
    name = response.headers.get("etag", "")
    return Answer(bytes(raw), name if _ETAG.fullmatch(name) else "")


def _led(first: str, at: str, location: str) -> str:
    """Where a redirect leads: over TLS, to the server that the policy names, or nowhere.

    WHY the very server: it is sent the token.
    """
    try:
        target = urljoin(at, location)
        old, new = spot_of(first), spot_of(target)
        same = old is not None and new is not None and new.scheme == "https" and new.host == old.host
        port = old is not None and new is not None and (new.port == old.port or (old.scheme, new.port) == ("http", 443))
    except ValueError:
        raise Unfetched(Trouble.REDIRECTED) from None
    if not location or not same or not port or source_problem(target) is not None:
        raise Unfetched(Trouble.REDIRECTED)
    return target


def _trouble(error: httpx2.HTTPError) -> Trouble:
    """The word for what went wrong, by what lies under it."""
    if isinstance(error, httpx2.TimeoutException):
        return Trouble.TIMED_OUT
    seen: set[int] = set()
    below: BaseException | None = error
    while below is not None and id(below) not in seen:
        seen.add(id(below))
        if isinstance(below, ssl.SSLError):
            return Trouble.UNVERIFIED
        if isinstance(below, ConnectionRefusedError):
            return Trouble.REFUSED
        if isinstance(below, BaseExceptionGroup) and below.exceptions:
            below = below.exceptions[0]
        else:
            below = below.__cause__ or below.__context__
    return Trouble.UNREADABLE if isinstance(error, httpx2.ProtocolError) else Trouble.UNREACHABLE
