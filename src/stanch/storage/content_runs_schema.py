"""The tables of runs, as the newest migration leaves them.

Settles columns, keys and indexes, as `schema` does for all other tables.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, SmallInteger, Table, Text

from stanch.storage.schema import COUNT, KEY, METADATA, NAMES_BYTES

# WHY no foreign key to sessions or runs: a run remembers what it was for, whatever becomes of that.
RUNS = Table(
    "runs",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("name", Text, nullable=False),
    Column("owner", KEY),
    Column("session_id", KEY),
    Column("of_run", KEY),
    Column("state", KEY, nullable=False),
    Column("synchronous", SmallInteger, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("failed_at", Integer, nullable=False),
    Column("holder", Text),
    Column("node", KEY),
    Column("created_by", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("changed_at", KEY, nullable=False),
    Column("ended_at", Text),
    Index("runs_by_age", "created_at", "id"),
    Index("runs_by_state", "state", "node"),
)

RUN_STEPS = Table(
    "run_steps",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("run_id", KEY, ForeignKey("runs.id"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("tool", Text, nullable=False),
    Column("state", KEY, nullable=False),
    Column("call_id", KEY),
    Column("reason", Text),
    Index("run_steps_in_order", "run_id", "place"),
)

# Values of the run itself have the place 0. `provenance` is sealed, and bound to `value` and `came_from`.
RUN_VALUES = Table(
    "run_values",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("run_id", KEY, ForeignKey("runs.id"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("part", KEY, nullable=False),
    Column("value", Text, nullable=False),
    Column("came_from", Text, nullable=False),
    Column("provenance", Text),
    Index("run_values_in_order", "run_id", "place", "part"),
)

RUN_FILES = Table(
    "run_files",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("run_id", KEY, ForeignKey("runs.id"), nullable=False),
    Column("name", KEY, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", COUNT, nullable=False),
    Column("digest", KEY, nullable=False, info=NAMES_BYTES),
    Column("is_text", SmallInteger, nullable=False),
    Column("provenance", Text),
    Column("created_at", KEY, nullable=False),
    Index("run_files_by_name", "run_id", "name", unique=True),
)
