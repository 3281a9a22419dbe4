"""Migration 0010: what workbenches remember.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.workbenches_schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Text

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the table."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    count = BigInteger().with_variant(Integer, "sqlite")
    op.create_table(
        "workbenches",
        Column("session_id", key, ForeignKey("sessions.id"), primary_key=True),
        Column("history", Text),
        Column("memory", Text, nullable=False),
        Column("revision", count, nullable=False),
        Column("changed_at", key, nullable=False),
    )
