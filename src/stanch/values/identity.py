"""Who asks, and how the session they ask from is reached.

Settles the closed sets of principals and sources. Does not settle what any of them may do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

COPILOT_SERVICE = "copilot"


class Source(StrEnum):
    """How a session is reached."""

    WEB = "web"
    CLI = "cli"
    MOBILE = "mobile"
    TELEGRAM = "telegram"
    CRON = "cron"
    MCP = "mcp"
    API = "api"


class PrincipalKind(StrEnum):
    """What kind of party asks."""

    USER = "user"
    API_KEY = "api_key"
    MCP = "mcp"
    EXECUTOR = "executor"
    DELEGATED = "delegated"
    ORGANIZATION_DELEGATED = "organization_delegated"


@dataclass(frozen=True, slots=True)
class Principal:
    """A party that asks: a person, a key, a client, a workflow, or a service that acts for one of them."""

    kind: PrincipalKind
    id: str
    service_id: str | None = None

    @property
    def is_copilot(self) -> bool:
        """True for the chat model's own hands: a delegated principal whose service is `copilot`."""
        delegated = self.kind in (PrincipalKind.DELEGATED, PrincipalKind.ORGANIZATION_DELEGATED)
        return delegated and self.service_id == COPILOT_SERVICE
