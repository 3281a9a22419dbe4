"""The shape of `[approvals]` in the policy file: how long a request waits, and where new ones are told.

Settles keys and types, and which addresses can be told anything. Does not settle how anybody is told (`app.notifying`).
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

_STRICT = ConfigDict(extra="forbid", strict=True)
Text = Annotated[str, Field(min_length=1)]


@with_config(_STRICT)
class WebhookShape(TypedDict):
    """`[approvals.webhook]`."""

    url: Text
    secret_env: Text


@with_config(_STRICT)
class ApprovalsShape(TypedDict):
    """`[approvals]`: how long a request waits, by source in seconds, and where new ones are told."""

    expires_after: NotRequired[
        dict[Literal["web", "cli", "mobile", "telegram", "cron", "mcp", "api"], Annotated[int, Field(ge=1)]]
    ]
    webhook: NotRequired[WebhookShape]


def is_address(url: str) -> bool:
    """True for an address that a webhook may have."""
    address = urlsplit(url)
    return address.scheme in ("http", "https") and bool(address.hostname)
