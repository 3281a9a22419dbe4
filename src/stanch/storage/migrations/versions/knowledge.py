"""Migration 0008: what is kept of knowledge.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.content_knowledge_schema`).
"""

from __future__ import annotations

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
