"""The tables of the vault, as the newest migration leaves them.

Settles columns, keys and indexes, as `schema` does for all other tables.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table, Text

from stanch.storage.schema import KEY, METADATA

VAULT_SECRETS = Table(
    "vault_secrets",
    METADATA,
    Column("name", KEY, primary_key=True),
    Column("scope", KEY, nullable=False),
    Column("owner", Text),
    Column("note", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("changed_at", KEY, nullable=False),
    Column("revoked_at", Text),
)

# INVARIANT: a row is never removed: whoever was told a value once may say it again.
VAULT_VALUES = Table(
    "vault_values",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("name", KEY, ForeignKey("vault_secrets.name"), nullable=False),
    Column("sealed", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("ended_at", Text),
    Index("vault_values_of_secret", "name", "created_at"),
)
