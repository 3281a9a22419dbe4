"""Which headers of a request go on to a provider, and which of an answer come back.

Settles both by lists of what may: whatever stands in neither is dropped, a caller's token and cookies in the first
place. INVARIANT: the key that a provider gets is the provider's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stanch.policy.providers import Dialect, Provider
from stanch.surfaces.proxy.refusals import Refused

Raw = tuple[bytes, bytes]
# WHY no `idempotency-key`: a provider that gives an answer again by it would do so across tiers.
_ON = frozenset({b"accept", b"user-agent", b"anthropic-version", b"anthropic-beta", b"openai-beta"})
_BACK = frozenset(
    {
        *(b"content-type", b"content-length", b"content-encoding", b"cache-control"),
        *(b"request-id", b"x-request-id", b"retry-after", b"retry-after-ms", b"x-should-retry"),
        *(b"openai-processing-ms", b"openai-version", b"openai-model"),
    }
)
_BACK_BEGINS = (b"anthropic-ratelimit-", b"x-ratelimit-")
SINGLE = frozenset(
    {
        *("authorization", "x-api-key", "content-type", "content-encoding", "content-length", "host"),
        *("x-stanch-session", "x-stanch-cwd", "x-claude-code-session-id", "session-id", "session_id", "thread-id"),
        "x-session-id",
    }
)


def single(raw: Iterable[Raw]) -> dict[str, str]:
    """The headers by name. Raises `Refused` for one that stands twice and may not: nobody knows which one is meant."""
    found: dict[str, str] = {}
    for name, value in raw:
        key = name.decode("latin-1").lower()
        if key in found and key in SINGLE:
            raise Refused(400, f"the header {key} stands twice")
        found[key] = value.decode("latin-1")
    return found


def secret_of(headers: Mapping[str, str]) -> str:
    """The token that a request shows, by either of the two headers that clients have for it. Raises `Refused` 401."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    shown = {one for one in (bearer.strip() if scheme.lower() == "bearer" else "", headers.get("x-api-key", "")) if one}
    if len(shown) != 1:
        raise Refused(401, "one token of Stanch is needed, as the client's API key")
    return shown.pop()


def onward(raw: Iterable[Raw], provider: Provider, key: str | None, *, host: str, body: bytes) -> list[Raw]:
    """The headers of the request to the provider."""
    made = [(b"host", host.encode()), *((name, value) for name, value in raw if name in _ON)]
    # WHY: what is answered is looked at, and a caller can do without compression on the way from here.
    made.append((b"accept-encoding", b"identity"))
    if body:
        made += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if key is not None and provider.dialect is Dialect.ANTHROPIC:
        made.append((b"x-api-key", key.encode()))
    elif key is not None:
        made.append((b"authorization", b"Bearer " + key.encode()))
    return made


def back(raw: Iterable[Raw]) -> list[Raw]:
    """The headers of the answer to the caller."""
    return [
        (name.lower(), value) for name, value in raw if name.lower() in _BACK or name.lower().startswith(_BACK_BEGINS)
    ]
