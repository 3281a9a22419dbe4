"""The table of workbenches, as the newest migration leaves it.

Settles columns and keys, as `schema` does for all other tables.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Table, Text

from stanch.storage.schema import COUNT, KEY, METADATA

# `history` and `memory` are sealed, bound to the session. INVARIANT: `revision` grows by one with each change.
WORKBENCHES = Table(
    "workbenches",
    METADATA,
    Column("session_id", KEY, ForeignKey("sessions.id"), primary_key=True),
    Column("history", Text),
    Column("memory", Text, nullable=False),
    Column("revision", COUNT, nullable=False),
    Column("changed_at", KEY, nullable=False),
)
