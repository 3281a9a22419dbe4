"""A person's leave to skip ordinary asks of one session: what may be asked for, and what is made of it.

Settles the scope of a bypass and how long it may last. Does not settle which calls it answers for (`gate.relax`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, BypassRecord, BypassScope
from stanch.values.call import Category
from stanch.values.fault import BadFields
from stanch.values.records import Actor, Broken

LONGEST_BYPASS = 7 * 24 * 3600


class BypassWish(NamedTuple):
    """A bypass that a person wants. `seconds` 0 lasts until the session ends; without a scope, the narrowest known."""

    seconds: int
    scope: BypassScope | None = None
    include_subagents: bool = False


class Bypasses:
    """What is done with bypasses. `node` is this process, with which those end that are given through it."""

    def __init__(self, store: Store, node: str, clock: Callable[[], datetime] | None = None) -> None:
        self._store, self._node = store, node
        self._now = clock or (lambda: datetime.now(UTC))

    def list(self, session_id: str) -> tuple[BypassRecord | Broken, ...]:
        """The bypasses of a session that hold now. Raises `NotFound` for the session."""
        self._store.get_session(session_id)
        return self._store.list_bypasses(session_id, now=self._now())

    def given(self, session_id: str) -> tuple[BypassRecord | Broken, ...]:
        """The newest bypasses that were ever given for a session, whether they hold or not, oldest first."""
        return self._store.given_bypasses(session_id)

    def give(
        self, session_id: str, wish: BypassWish, *, category: Category | None, server: str | None, by: Actor
    ) -> BypassRecord:
        """A bypass for a session, apart from any request. Raises `BadFields`, `NotFound` and `Conflict`."""
        check(wish)
        found = self._made(session_id, wish, category, server, by)
        for name, value, wanted in (
            ("category", category, BypassScope.CATEGORY),
            ("mcp_server", server, BypassScope.MCP_SERVER),
        ):
            if found.scope is wanted and value is None:
                raise BadFields((name, f"'{name}' is needed: it says for which calls the bypass holds"))
            if found.scope is not wanted and value is not None:
                raise BadFields((name, f"'{name}' does not go with the scope '{found.scope.value}'; leave it out"))
        return self._store.add_bypass(found, by=by)

    def with_approval(self, approval: ApprovalRecord, wish: BypassWish, by: Actor) -> BypassRecord:
        """The bypass that comes with an approval: of its category if that is known, else its server, else all.

        It is not stored yet. Raises `BadFields` for a scope that the call is not of.
        """
        check(wish)
        if wish.scope is BypassScope.CATEGORY and approval.tool_category is None:
            raise BadFields(("bypass_scope", "'bypass_scope' cannot be 'category': the tool has none"))
        if wish.scope is BypassScope.MCP_SERVER and approval.mcp_server is None:
            raise BadFields(("bypass_scope", "'bypass_scope' cannot be 'mcp_server': the tool is of none"))
        return self._made(approval.session_id, wish, approval.tool_category, approval.mcp_server, by)

    def get(self, bypass_id: str) -> BypassRecord:
        """The bypass, ended or not. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_bypass(bypass_id)

    def end(self, session_id: str, bypass_id: str, *, by: Actor) -> BypassRecord:
        """The bypass, ended. Raises `NotFound`, and `Conflict` where it has ended before."""
        return self._store.end_bypass(session_id, bypass_id, by=by)

    def _made(
        self, session_id: str, wish: BypassWish, category: Category | None, server: str | None, by: Actor
    ) -> BypassRecord:
        scope = wish.scope
        if scope is None:
            scope = BypassScope.ALL
            if category is not None:
                scope = BypassScope.CATEGORY
            elif server is not None:
                scope = BypassScope.MCP_SERVER
        now = self._now()
        return BypassRecord(
            id=f"byp_{secrets.token_hex(12)}",
            session_id=session_id,
            scope=scope,
            category=category if scope is BypassScope.CATEGORY else None,
            mcp_server=server if scope is BypassScope.MCP_SERVER else None,
            include_subagents=wish.include_subagents,
            until=None if wish.seconds == 0 else now + timedelta(seconds=wish.seconds),
            node=self._node,
            created_by=by.principal,
            created_at=now,
        )


def check(wish: BypassWish) -> None:
    """Raises `BadFields` for a bypass that would last too long."""
    if not 0 <= wish.seconds <= LONGEST_BYPASS:
        days = LONGEST_BYPASS // 86400
        raise BadFields(("bypass_secs", f"'bypass_secs' must be 0, for the session, or at most {days} days"))
