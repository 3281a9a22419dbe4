"""Migration 0004: what persons have answered where a trust tier asks.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.conversation_schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKey, SmallInteger, Text

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the table."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    op.create_table(
        "tier_answers",
        Column("id", key, primary_key=True),
        Column("session_id", key, ForeignKey("sessions.id"), nullable=False),
        Column("tier", key, nullable=False),
        Column("cls", key, nullable=False),
        Column("path", Text, nullable=False),
        Column("send", SmallInteger, nullable=False),
        Column("below", SmallInteger, nullable=False),
        Column("created_by", Text, nullable=False),
        Column("created_at", key, nullable=False),
    )
    op.create_index("tier_answers_of_session", "tier_answers", ["session_id"])
