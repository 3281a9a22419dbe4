"""Migration 0001: the first tables.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.schema`), nor what a new store
holds (`storage.migrating`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, SmallInteger, Text, column, insert, table

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes every table and index."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    count = BigInteger().with_variant(Integer, "sqlite")
    op.create_table(
        "store_state",
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("revision", count, nullable=False),
        Column("policy_revision", count, nullable=False),
        Column("audit_seq", count, nullable=False),
        Column("audit_digest", Text, nullable=False),
        Column("seeded_at", Text),
    )
    names = ("id", "revision", "policy_revision", "audit_seq", "audit_digest")
    op.execute(
        insert(table("store_state", *map(column, names))).values(dict(zip(names, (1, 0, 0, 0, "0" * 64), strict=True)))
    )
    op.create_table(
        "permission_groups",
        Column("id", key, primary_key=True),
        Column("name", Text, nullable=False),
        Column("description", Text, nullable=False),
    )
    op.create_table(
        "rules",
        Column("id", count, primary_key=True),
        Column("group_id", key, ForeignKey("permission_groups.id"), nullable=False),
        Column("priority", Integer, nullable=False),
        Column("agent_id", Text),
        Column("source", Text),
        Column("tool_pattern", Text, nullable=False),
        Column("path_pattern", Text),
        Column("command_pattern", Text),
        Column("action", Text, nullable=False),
        Column("mandatory", SmallInteger, nullable=False),
        Column("note", Text),
        sqlite_autoincrement=True,
    )
    op.create_index("rules_in_order", "rules", ["group_id", "priority", "id"])
    op.create_table(
        "sessions",
        Column("id", key, primary_key=True),
        Column("agent_id", key, nullable=False),
        Column("source", Text, nullable=False),
        Column("principal_kind", Text, nullable=False),
        Column("principal_id", Text, nullable=False),
        Column("principal_service", Text),
        Column("parent_id", key, ForeignKey("sessions.id")),
        Column("project_id", key),
        Column("ticket_id", key),
        Column("job_id", key),
        Column("model", Text),
        Column("run_context", Text),
        Column("context_given", SmallInteger, nullable=False),
        Column("created_at", key, nullable=False),
        Column("ended_at", Text),
    )
    op.create_index("sessions_by_age", "sessions", ["created_at", "id"])
    op.create_index("sessions_of_agent", "sessions", ["agent_id"])
    op.create_index("sessions_of_parent", "sessions", ["parent_id"])
    op.create_index("sessions_of_project", "sessions", ["project_id"])
    op.create_index("sessions_of_job", "sessions", ["job_id"])
    op.create_table(
        "projects",
        Column("id", key, primary_key=True),
        Column("name", Text, nullable=False),
        Column("description", Text, nullable=False),
        Column("directory", Text),
        Column("grant_tree", SmallInteger, nullable=False),
        Column("run_context", Text),
        Column("created_at", key, nullable=False),
    )
    op.create_index("projects_by_age", "projects", ["created_at", "id"])
    op.create_table(
        "tickets",
        Column("id", key, primary_key=True),
        Column("project_id", key, ForeignKey("projects.id"), nullable=False),
        Column("title", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("run_context", Text),
        Column("created_at", key, nullable=False),
    )
    op.create_index("tickets_by_age", "tickets", ["project_id", "created_at", "id"])
    op.create_table(
        "scheduled_jobs",
        Column("id", key, primary_key=True),
        Column("name", Text, nullable=False),
        Column("cron", Text, nullable=False),
        Column("prompt", Text, nullable=False),
        Column("agent_id", Text, nullable=False),
        Column("enabled", SmallInteger, nullable=False),
        Column("run_context", Text),
        Column("created_at", key, nullable=False),
    )
    op.create_index("scheduled_jobs_by_age", "scheduled_jobs", ["created_at", "id"])
    op.create_table(
        "tokens",
        Column("id", key, primary_key=True),
        Column("name", Text, nullable=False),
        Column("principal_kind", Text, nullable=False),
        Column("principal_id", Text, nullable=False),
        Column("principal_service", Text),
        Column("digest", Text, nullable=False),
        Column("created_at", key, nullable=False),
        Column("revoked_at", Text),
    )
    op.create_index("tokens_by_age", "tokens", ["created_at", "id"])
    op.create_index("tokens_by_digest", "tokens", ["digest"], unique=True)
    op.create_table(
        "audit",
        Column("seq", count, primary_key=True, autoincrement=False),
        Column("at", Text, nullable=False),
        Column("actor", Text, nullable=False),
        Column("surface", Text, nullable=False),
        Column("action", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("detail", Text, nullable=False),
        Column("previous", Text, nullable=False),
        Column("digest", Text, nullable=False),
    )
    op.create_index("audit_of_actor", "audit", ["actor", "seq"])
    op.create_index("audit_of_subject", "audit", ["subject", "seq"])
