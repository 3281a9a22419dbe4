"""Migration 0006: what is kept of files.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.content_files_schema`).
"""

from __future__ import annotations

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
