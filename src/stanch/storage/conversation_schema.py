"""The tables of conversations, turns and runs of jobs, as the newest migration leaves them.

Settles columns, keys and indexes, as `schema` does for all other tables.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, SmallInteger, Table, Text, text

from stanch.storage.schema import COUNT, KEY, METADATA

# INVARIANT: one running turn for a session, on all nodes together.
_RUNNING = text("state = 'running'")
TURNS = Table(
    "turns",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("session_id", KEY, ForeignKey("sessions.id"), nullable=False),
    Column("node", KEY, nullable=False),
    Column("state", KEY, nullable=False),
    Column("model", Text),
    Column("asked_by", Text, nullable=False),
    Column("surface", Text, nullable=False),
    Column("started_at", KEY, nullable=False),
    Column("changed_at", KEY, nullable=False),
    Column("ended_at", Text),
    Column("problem", Text),
    Column("counts", Text),
    Index("turns_of_session", "session_id", "started_at", "id"),
    Index("turns_by_state", "state", "node"),
    Index("turns_running", "session_id", unique=True, sqlite_where=_RUNNING, postgresql_where=_RUNNING),
)

# INVARIANT: a row is never changed or removed; ids go up in the order in which rows are committed.
MESSAGES = Table(
    "messages",
    METADATA,
    Column("id", COUNT, primary_key=True, autoincrement=False),
    Column("session_id", KEY, ForeignKey("sessions.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("turn_id", KEY, ForeignKey("turns.id")),
    Column("role", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Index("messages_of_session", "session_id", "seq", unique=True),
)

# INVARIANT: a call of a session has one result at most, whoever ran it.
CALL_RESULTS = Table(
    "call_results",
    METADATA,
    Column("session_id", KEY, ForeignKey("sessions.id"), primary_key=True),
    Column("call_id", KEY, primary_key=True),
    Column("message_id", COUNT, ForeignKey("messages.id"), nullable=False),
)

# WHY no foreign keys: as sessions do, a run remembers a job that is gone.
JOB_RUNS = Table(
    "job_runs",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("job_id", KEY, nullable=False),
    Column("due_at", KEY, nullable=False),
    Column("node", KEY, nullable=False),
    Column("state", KEY, nullable=False),
    Column("session_id", KEY),
    Column("outcome", Text),
    Column("claimed_at", KEY, nullable=False),
    Column("ended_at", Text),
    Index("job_runs_of_job", "job_id", "due_at", unique=True),
    Index("job_runs_of_session", "session_id"),
    Index("job_runs_by_state", "state", "node"),
)

TIER_ANSWERS = Table(
    "tier_answers",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("session_id", KEY, ForeignKey("sessions.id"), nullable=False),
    Column("tier", KEY, nullable=False),
    Column("cls", KEY, nullable=False),
    Column("path", Text, nullable=False),
    Column("send", SmallInteger, nullable=False),
    Column("below", SmallInteger, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Index("tier_answers_of_session", "session_id"),
)
