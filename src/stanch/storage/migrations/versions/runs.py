"""Migration 0007: what is kept of runs.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.content_runs_schema`).
"""

from __future__ import annotations

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
