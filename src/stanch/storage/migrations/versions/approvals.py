"""Migration 0002: calls, approvals, bypasses, clarifications, and the processes that serve the store.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKey, SmallInteger, Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables, and lets a session say whether anybody approves its calls."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    op.add_column("sessions", Column("approver", SmallInteger, nullable=False, server_default="1"))
    op.create_table(
        "nodes",
        Column("id", key, primary_key=True),
        Column("started_at", key, nullable=False),
        Column("seen_at", key, nullable=False),
        Column("ended_at", Text),
    )
    op.create_table(
        "calls",
        Column("id", key, primary_key=True),
        Column("session_id", key, ForeignKey("sessions.id"), nullable=False),
        Column("tool_call_id", Text, nullable=False),
        Column("tool", Text, nullable=False),
        Column("arguments", Text, nullable=False),
        Column("cwd", Text),
        Column("state", key, nullable=False),
        Column("reason", Text, nullable=False),
        Column("edited", SmallInteger, nullable=False),
        Column("node", key),
        Column("request_id", key),
        Column("created_at", key, nullable=False),
        Column("changed_at", key, nullable=False),
    )
    op.create_index("calls_of_session", "calls", ["session_id", "created_at", "id"])
    op.create_index("calls_by_state", "calls", ["state", "node"])
    op.create_table(
        "approvals",
        Column("request_id", key, primary_key=True),
        Column("call_id", key, ForeignKey("calls.id"), nullable=False),
        Column("session_id", key, nullable=False),
        Column("tool_call_id", Text, nullable=False),
        Column("tool_name", Text, nullable=False),
        Column("arguments", Text, nullable=False),
        Column("cwd", Text),
        Column("targets", Text, nullable=False),
        Column("agent_id", key, nullable=False),
        Column("source", Text, nullable=False),
        Column("context_label", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("asked", Text, nullable=False),
        Column("tool_category", Text),
        Column("mcp_server", Text),
        Column("diff", Text),
        Column("scripts", Text, nullable=False),
        Column("fingerprint", Text, nullable=False),
        Column("created_at", key, nullable=False),
        Column("expires_at", key),
        Column("state", key, nullable=False),
        Column("resolved_by", Text),
        Column("surface", Text),
        Column("note", Text),
        Column("resolved_at", Text),
        Column("told", Text),
        Column("tell_tries", SmallInteger, nullable=False, server_default="0"),
        Column("tell_at", key),
    )
    op.create_index("approvals_by_state", "approvals", ["state", "created_at", "request_id"])
    op.create_index("approvals_of_call", "approvals", ["call_id"])
    op.create_table(
        "bypasses",
        Column("id", key, primary_key=True),
        Column("session_id", key, ForeignKey("sessions.id"), nullable=False),
        Column("scope", Text, nullable=False),
        Column("category", Text),
        Column("mcp_server", Text),
        Column("include_subagents", SmallInteger, nullable=False),
        Column("until", key),
        Column("node", key, nullable=False),
        Column("created_by", Text, nullable=False),
        Column("created_at", key, nullable=False),
        Column("ended_at", Text),
    )
    op.create_index("bypasses_of_session", "bypasses", ["session_id", "created_at", "id"])
    op.create_table(
        "clarifications",
        Column("request_id", key, primary_key=True),
        Column("session_id", key, ForeignKey("sessions.id"), nullable=False),
        Column("agent_id", key, nullable=False),
        Column("question", Text, nullable=False),
        Column("choices", Text, nullable=False),
        Column("state", key, nullable=False),
        Column("answer", Text),
        Column("resolved_by", Text),
        Column("created_at", key, nullable=False),
        Column("expires_at", key),
        Column("resolved_at", Text),
    )
    op.create_index("clarifications_by_state", "clarifications", ["state", "created_at", "request_id"])
