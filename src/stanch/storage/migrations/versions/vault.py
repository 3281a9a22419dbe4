"""Migration 0005: named secrets, and the sealed values that they have and had.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.vault_schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKey, Text

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    op.create_table(
        "vault_secrets",
        Column("name", key, primary_key=True),
        Column("scope", key, nullable=False),
        Column("owner", Text),
        Column("note", Text, nullable=False),
        Column("created_at", key, nullable=False),
        Column("changed_at", key, nullable=False),
        Column("revoked_at", Text),
    )
    op.create_table(
        "vault_values",
        Column("id", key, primary_key=True),
        Column("name", key, ForeignKey("vault_secrets.name"), nullable=False),
        Column("sealed", Text, nullable=False),
        Column("created_at", key, nullable=False),
        Column("ended_at", Text),
    )
    op.create_index("vault_values_of_secret", "vault_values", ["name", "created_at"])
