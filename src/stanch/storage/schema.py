"""The tables, as the newest migration leaves them.

Settles columns, keys and indexes. Does not settle how older stores get there (`migrations`) nor which values a column
may hold: that is checked when a row is written and again when it is read (`rows`), since a person with a database
client can write anything.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, SmallInteger, Table, Text

# WHY: compared byte by byte in both databases, so that both list in the same order.
KEY = Text().with_variant(Text(collation="C"), "postgresql")
# The mark of a column that names bytes which `blobs` keeps. Bytes that no such column names may be swept away.
NAMES_BYTES: dict[Any, Any] = {"names_bytes": True}
COUNT = BigInteger().with_variant(Integer, "sqlite")

METADATA = MetaData()

STATE = Table(
    "store_state",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", COUNT, nullable=False),
    Column("policy_revision", COUNT, nullable=False),
    Column("audit_seq", COUNT, nullable=False),
    Column("audit_digest", Text, nullable=False),
    Column("seeded_at", Text),
)

GROUPS = Table(
    "permission_groups",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
)

# INVARIANT: a rule's id is never given twice, so that an audit row or a reason always means the same rule.
RULES = Table(
    "rules",
    METADATA,
    Column("id", COUNT, primary_key=True),
    Column("group_id", KEY, ForeignKey("permission_groups.id"), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("agent_id", Text),
    Column("source", Text),
    Column("tool_pattern", Text, nullable=False),
    Column("path_pattern", Text),
    Column("command_pattern", Text),
    Column("action", Text, nullable=False),
    Column("mandatory", SmallInteger, nullable=False),
    Column("note", Text),
    Index("rules_in_order", "group_id", "priority", "id"),
    sqlite_autoincrement=True,
)

# WHY: no foreign keys to projects, tickets and jobs: a session that has ended remembers what it was for.
SESSIONS = Table(
    "sessions",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("agent_id", KEY, nullable=False),
    Column("source", Text, nullable=False),
    Column("principal_kind", Text, nullable=False),
    Column("principal_id", Text, nullable=False),
    Column("principal_service", Text),
    Column("parent_id", KEY, ForeignKey("sessions.id")),
    Column("project_id", KEY),
    Column("ticket_id", KEY),
    Column("job_id", KEY),
    Column("model", Text),
    Column("run_context", Text),
    Column("context_given", SmallInteger, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("ended_at", Text),
    Column("approver", SmallInteger, nullable=False, server_default="1"),
    Column("skills", Text, nullable=False, server_default="[]"),
    Column("narrowing", Text),
    Column("has_policy", SmallInteger, nullable=False, server_default="0"),
    Index("sessions_by_age", "created_at", "id"),
    Index("sessions_of_agent", "agent_id"),
    Index("sessions_of_parent", "parent_id"),
    Index("sessions_of_project", "project_id"),
    Index("sessions_of_job", "job_id"),
)

PROJECTS = Table(
    "projects",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("directory", Text),
    Column("grant_tree", SmallInteger, nullable=False),
    Column("run_context", Text),
    Column("created_at", KEY, nullable=False),
    Index("projects_by_age", "created_at", "id"),
)

TICKETS = Table(
    "tickets",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("project_id", KEY, ForeignKey("projects.id"), nullable=False),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("run_context", Text),
    Column("created_at", KEY, nullable=False),
    Index("tickets_by_age", "project_id", "created_at", "id"),
)

JOBS = Table(
    "scheduled_jobs",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("name", Text, nullable=False),
    Column("cron", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("enabled", SmallInteger, nullable=False),
    Column("run_context", Text),
    Column("created_at", KEY, nullable=False),
    Index("scheduled_jobs_by_age", "created_at", "id"),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("name", Text, nullable=False),
    Column("principal_kind", Text, nullable=False),
    Column("principal_id", Text, nullable=False),
    Column("principal_service", Text),
    Column("digest", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("revoked_at", Text),
    Index("tokens_by_age", "created_at", "id"),
    Index("tokens_by_digest", "digest", unique=True),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("seq", COUNT, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("surface", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Index("audit_of_actor", "actor", "seq"),
    Index("audit_of_subject", "subject", "seq"),
)

NODES = Table(
    "nodes",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("started_at", KEY, nullable=False),
    Column("seen_at", KEY, nullable=False),
    Column("ended_at", Text),
)

CALLS = Table(
    "calls",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("session_id", KEY, ForeignKey("sessions.id"), nullable=False),
    Column("tool_call_id", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("cwd", Text),
    Column("state", KEY, nullable=False),
    Column("reason", Text, nullable=False),
    Column("edited", SmallInteger, nullable=False),
    Column("node", KEY),
    Column("request_id", KEY),
    Column("created_at", KEY, nullable=False),
    Column("changed_at", KEY, nullable=False),
    Index("calls_of_session", "session_id", "created_at", "id"),
    Index("calls_by_state", "state", "node"),
)

APPROVALS = Table(
    "approvals",
    METADATA,
    Column("request_id", KEY, primary_key=True),
    Column("call_id", KEY, ForeignKey("calls.id"), nullable=False),
    Column("session_id", KEY, nullable=False),
    Column("tool_call_id", Text, nullable=False),
    Column("tool_name", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("cwd", Text),
    Column("targets", Text, nullable=False),
    Column("agent_id", KEY, nullable=False),
    Column("source", Text, nullable=False),
    Column("context_label", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("asked", Text, nullable=False),
    Column("tool_category", Text),
    Column("mcp_server", Text),
    Column("diff", Text),
    Column("scripts", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("expires_at", KEY),
    Column("state", KEY, nullable=False),
    Column("resolved_by", Text),
    Column("surface", Text),
    Column("note", Text),
    Column("resolved_at", Text),
    Column("told", Text),
    Column("tell_tries", SmallInteger, nullable=False, server_default="0"),
    Column("tell_at", KEY),
    Index("approvals_by_state", "state", "created_at", "request_id"),
    Index("approvals_of_call", "call_id"),
)

BYPASSES = Table(
    "bypasses",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("session_id", KEY, ForeignKey("sessions.id"), nullable=False),
    Column("scope", Text, nullable=False),
    Column("category", Text),
    Column("mcp_server", Text),
    Column("include_subagents", SmallInteger, nullable=False),
    Column("until", KEY),
    Column("node", KEY, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("ended_at", Text),
    Index("bypasses_of_session", "session_id", "created_at", "id"),
)

CLARIFICATIONS = Table(
    "clarifications",
    METADATA,
    Column("request_id", KEY, primary_key=True),
    Column("session_id", KEY, ForeignKey("sessions.id"), nullable=False),
    Column("agent_id", KEY, nullable=False),
    Column("question", Text, nullable=False),
    Column("choices", Text, nullable=False),
    Column("state", KEY, nullable=False),
    Column("answer", Text),
    Column("resolved_by", Text),
    Column("created_at", KEY, nullable=False),
    Column("expires_at", KEY),
    Column("resolved_at", Text),
    Index("clarifications_by_state", "state", "created_at", "request_id"),
)
