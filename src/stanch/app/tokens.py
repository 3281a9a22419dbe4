"""Bearer tokens: who a request comes from, and who may have one.

Settles that a token names a principal that makes sense. Does not settle what the principal may do (`app.permissions`)
nor how tokens are kept (`storage.tokens`).
"""

from __future__ import annotations

from dataclasses import dataclass

from stanch.app.permissions import Right, problem_with, rights_of
from stanch.storage.store import Store
from stanch.values.fault import BadFields
from stanch.values.identity import Principal
from stanch.values.records import Actor, Broken, NewToken, Page, TokenRecord

LONGEST_NAME = 512
"""Characters that an audit row has room for."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a request comes from, and what they may do."""

    principal: Principal
    rights: frozenset[Right]

    def through(self, surface: str) -> Actor:
        """Whom an audit row names, for a change that comes through this door. An agent is not whom it acts for."""
        who = self.principal
        return Actor(who.id if who.service_id is None else f"{who.service_id} for {who.id}"[:LONGEST_NAME], surface)


class Tokens:
    """What is done with tokens."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def caller(self, secret: str) -> Caller | None:
        """Who holds the token; None where there is none, or it is revoked. Raises `StoreUnreadable`."""
        found = self._store.find_token(secret)
        return None if found is None else Caller(found.principal, rights_of(found.principal))

    def opened(self, secret: str) -> TokenRecord | None:
        """The token with this secret; None where there is none, or it is revoked. Raises `StoreUnreadable`."""
        return self._store.find_token(secret)

    def create(self, *, name: str, principal: Principal, by: Actor) -> NewToken:
        """The new token with its secret, which is told this once. Raises `BadFields`."""
        problem = problem_with(principal)
        if problem is not None:
            field, message = problem
            raise BadFields((f"principal.{field}", f"'{field}' {message}"))
        return self._store.create_token(name=name, principal=principal, by=by)

    def list(
        self, *, revoked: bool | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[TokenRecord | Broken]:
        """A page of tokens, oldest first."""
        return self._store.list_tokens(revoked=revoked, limit=limit, cursor=cursor)

    def get(self, token_id: str) -> TokenRecord:
        """The token, revoked or not. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_token(token_id)

    def revoke(self, token_id: str, *, by: Actor) -> TokenRecord:
        """The token, revoked: it opens nothing from now on. Raises `NotFound`, and `Conflict` if it was before."""
        return self._store.revoke_token(token_id, by=by)
