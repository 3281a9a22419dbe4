"""Bearer tokens in the store.

Settles how a token is made, found and revoked. Does not settle what its principal may do.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from sqlalchemy import ColumnElement, select

from stanch.storage.nouns import TOKEN
from stanch.storage.pages import page_of
from stanch.storage.rows import principal_columns, written_moment
from stanch.storage.schema import TOKENS
from stanch.storage.transactions import Transactions, find
from stanch.values.fault import Conflict, quoted
from stanch.values.identity import Principal
from stanch.values.records import Actor, Broken, NewToken, Page, TokenRecord

# WHY: a fixed beginning lets scanners of repositories and logs know a token when they see one.
PREFIX = "stanch_"
SECRET_BYTES = 32


class Tokens(Transactions):
    """The part of a store that keeps tokens."""

    def create_token(self, *, name: str, principal: Principal, by: Actor) -> NewToken:
        """The new token with its secret, which is stored as a digest only and cannot be had again."""
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        row: dict[str, Any] = {
            "id": secrets.token_hex(12),
            "name": name,
            **principal_columns(principal),
            "created_at": written_moment(self._clock()),
            "revoked_at": None,
        }
        record = TOKEN.written(row)
        with self._changing(by, "token.create", record.id) as change:
            change.add(TOKEN, {**row, "digest": _digest(secret)})
            change.detail.update(kind=principal.kind.value, principal=principal.id, service=principal.service_id)
        return NewToken(record, secret)

    def find_token(self, secret: str) -> TokenRecord | None:
        """The token with this secret; None where there is none, or it is revoked. Raises `BrokenRow`."""
        wanted = select(TOKENS).where(TOKENS.c.digest == _digest(secret), TOKENS.c.revoked_at.is_(None))
        with self._reading() as connection:
            row = connection.execute(wanted).mappings().first()
        return None if row is None else TOKEN.readable(row)

    def get_token(self, token_id: str) -> TokenRecord:
        """The token, revoked or not. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            return TOKEN.readable(find(connection, TOKEN, token_id))

    def list_tokens(
        self, *, revoked: bool | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[TokenRecord | Broken]:
        """A page of tokens, oldest first. Raises `BadInput` as `list_groups` does."""
        order, conditions = (TOKENS.c.created_at, TOKENS.c.id), list[ColumnElement[bool]]()
        if revoked is not None:
            conditions.append(TOKENS.c.revoked_at.is_not(None) if revoked else TOKENS.c.revoked_at.is_(None))
        with self._reading() as connection:
            return page_of(connection, TOKEN, order, limit=limit, cursor=cursor, conditions=conditions)

    def revoke_token(self, token_id: str, *, by: Actor) -> TokenRecord:
        """The token, revoked: from now on nobody finds it. Raises `NotFound`, and `Conflict` where it was before."""
        with self._changing(by, "token.revoke", token_id) as change:
            if change.find(TOKEN, token_id)["revoked_at"] is not None:
                raise Conflict(f"the token {quoted(token_id)} was revoked before")
            return change.replace(TOKEN, token_id, {"revoked_at": written_moment(change.at)})


def _digest(secret: str) -> str:
    # WHY: no slow hash: a secret of 256 random bits cannot be guessed, however fast each guess is. Looking for the
    # digest tells by its timing nothing about the secret.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
