"""Migration 0003: the messages of sessions, turns, and runs of scheduled jobs.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.conversation_schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Text, text

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    count = BigInteger().with_variant(Integer, "sqlite")
    running = text("state = 'running'")
    op.create_table(
        "turns",
        Column("id", key, primary_key=True),
        Column("session_id", key, ForeignKey("sessions.id"), nullable=False),
        Column("node", key, nullable=False),
        Column("state", key, nullable=False),
        Column("model", Text),
        Column("asked_by", Text, nullable=False),
        Column("surface", Text, nullable=False),
        Column("started_at", key, nullable=False),
        Column("changed_at", key, nullable=False),
        Column("ended_at", Text),
        Column("problem", Text),
        Column("counts", Text),
    )
    op.create_index("turns_of_session", "turns", ["session_id", "started_at", "id"])
    op.create_index("turns_by_state", "turns", ["state", "node"])
    op.create_index(
        "turns_running", "turns", ["session_id"], unique=True, sqlite_where=running, postgresql_where=running
    )
    op.create_table(
        "messages",
        Column("id", count, primary_key=True, autoincrement=False),
        Column("session_id", key, ForeignKey("sessions.id"), nullable=False),
        Column("seq", Integer, nullable=False),
        Column("turn_id", key, ForeignKey("turns.id")),
        Column("role", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("created_at", key, nullable=False),
    )
    op.create_index("messages_of_session", "messages", ["session_id", "seq"], unique=True)
    op.create_table(
        "call_results",
        Column("session_id", key, ForeignKey("sessions.id"), primary_key=True),
        Column("call_id", key, primary_key=True),
        Column("message_id", count, ForeignKey("messages.id"), nullable=False),
    )
    op.create_table(
        "job_runs",
        Column("id", key, primary_key=True),
        Column("job_id", key, nullable=False),
        Column("due_at", key, nullable=False),
        Column("node", key, nullable=False),
        Column("state", key, nullable=False),
        Column("session_id", key),
        Column("outcome", Text),
        Column("claimed_at", key, nullable=False),
        Column("ended_at", Text),
    )
    op.create_index("job_runs_of_job", "job_runs", ["job_id", "due_at"], unique=True)
    op.create_index("job_runs_of_session", "job_runs", ["session_id"])
    op.create_index("job_runs_by_state", "job_runs", ["state", "node"])
