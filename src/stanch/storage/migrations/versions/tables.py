"""Migration 0009: what is kept of tables.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.content_tables_schema`).
"""

from __future__ import annotations

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
