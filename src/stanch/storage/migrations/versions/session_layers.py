"""Migration 0011: what a session has of further layers: active skills, rows that narrow, and whether it has a policy.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, SmallInteger, Text

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the columns. Sessions that are there have nothing of the kind."""
    op.add_column("sessions", Column("skills", Text, nullable=False, server_default="[]"))
    op.add_column("sessions", Column("narrowing", Text))
    op.add_column("sessions", Column("has_policy", SmallInteger, nullable=False, server_default="0"))
