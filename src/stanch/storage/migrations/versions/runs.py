"""Migration 0007: what is kept of runs.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.content_runs_schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, SmallInteger, Text

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    count = BigInteger().with_variant(Integer, "sqlite")
    op.create_table(
        "runs",
        Column("id", key, primary_key=True),
        Column("name", Text, nullable=False),
        Column("owner", key),
        Column("session_id", key),
        Column("of_run", key),
        Column("state", key, nullable=False),
        Column("synchronous", SmallInteger, nullable=False),
        Column("steps", Integer, nullable=False),
        Column("failed_at", Integer, nullable=False),
        Column("holder", Text),
        Column("node", key),
        Column("created_by", Text, nullable=False),
        Column("created_at", key, nullable=False),
        Column("changed_at", key, nullable=False),
        Column("ended_at", Text),
    )
    op.create_index("runs_by_age", "runs", ["created_at", "id"])
    op.create_index("runs_by_state", "runs", ["state", "node"])
    op.create_table(
        "run_steps",
        Column("id", key, primary_key=True),
        Column("run_id", key, ForeignKey("runs.id"), nullable=False),
        Column("place", Integer, nullable=False),
        Column("tool", Text, nullable=False),
        Column("state", key, nullable=False),
        Column("call_id", key),
        Column("reason", Text),
    )
    op.create_index("run_steps_in_order", "run_steps", ["run_id", "place"])
    op.create_table(
        "run_values",
        Column("id", key, primary_key=True),
        Column("run_id", key, ForeignKey("runs.id"), nullable=False),
        Column("place", Integer, nullable=False),
        Column("part", key, nullable=False),
        Column("value", Text, nullable=False),
        Column("came_from", Text, nullable=False),
        Column("provenance", Text),
    )
    op.create_index("run_values_in_order", "run_values", ["run_id", "place", "part"])
    op.create_table(
        "run_files",
        Column("id", key, primary_key=True),
        Column("run_id", key, ForeignKey("runs.id"), nullable=False),
        Column("name", key, nullable=False),
        Column("media_type", Text, nullable=False),
        Column("size", count, nullable=False),
        Column("digest", key, nullable=False),
        Column("is_text", SmallInteger, nullable=False),
        Column("provenance", Text),
        Column("created_at", key, nullable=False),
    )
    op.create_index("run_files_by_name", "run_files", ["run_id", "name"], unique=True)
