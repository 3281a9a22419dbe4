"""Bringing a store to this version's schema, and giving a new one its first group.

Settles when migrations run and what a new store holds. Does not settle the steps (`migrations`).
"""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, insert, select, update

from stanch.policy.rule import DEFAULT_GROUP
from stanch.policy.seeds import DESCRIPTION, NAME, ROWS, Seed
from stanch.storage.schema import GROUPS, RULES, STATE
from stanch.storage.transactions import Change, record, state_of
from stanch.values.fault import StoreUnreadable
from stanch.values.records import Actor

VERSIONS = "schema_version"
_STEPS = Path(__file__).parent / "migrations"
_LOCK_NUMBER = 0x5374616E6368
_MIGRATOR = Actor("stanch", "migrate")
# WHY: alembic's `op` is one per process.
_ONE_AT_A_TIME = threading.Lock()


def missing(connection: Connection) -> str | None:
    """What a store lacks before it can be used, in a few words; None where it lacks nothing."""
    steps = ScriptDirectory(str(_STEPS))
    version, head = _version(connection), steps.get_current_head()
    if version is None:
        return "the store has no tables yet; migrate it"
    if version != head:
        known = any(step.revision == version for step in steps.walk_revisions())
        if known:
            return f"the store is of the older version {version}, not {head}; migrate it"
        return f"the store was made by a newer Stanch, which left it at a version that this one does not know ({head})"
    return None if state_of(connection)["seeded_at"] is not None else "the store has no first group yet; migrate it"


def bring_up_to_date(connection: Connection, now: datetime) -> None:
    """Runs what is missing in the transaction that is open on this connection, which has the lock for writing."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK_NUMBER)))
    steps = ScriptDirectory(str(_STEPS))
    version, head = _version(connection), steps.get_current_head()
    if version is not None and version not in {step.revision for step in steps.walk_revisions()}:
        raise StoreUnreadable("the store was made by a newer Stanch, and stays as it is")
    if version != head:
        _upgrade(connection, steps)
        _add_row(connection, now, "store.migrate", str(head), {"from": version})
    if state_of(connection)["seeded_at"] is None:
        _seed(connection, now)


def _version(connection: Connection) -> str | None:
    return MigrationContext.configure(connection, opts={"version_table": VERSIONS}).get_current_revision()


def _upgrade(connection: Connection, steps: ScriptDirectory) -> None:
    def wanted(revision: Any, _: MigrationContext) -> Any:
        return steps._upgrade_revs("head", revision)

    with _ONE_AT_A_TIME, EnvironmentContext(Config(), steps, fn=wanted) as environment:
        environment.configure(connection=connection, version_table=VERSIONS)
        environment.run_migrations()


def _seed(connection: Connection, now: datetime) -> None:
    connection.execute(insert(GROUPS).values(id=DEFAULT_GROUP, name=NAME, description=DESCRIPTION))
    for seed in ROWS:
        connection.execute(insert(RULES).values(**_columns(seed)))
    connection.execute(update(STATE).where(STATE.c.id == 1).values(seeded_at=now.isoformat(timespec="microseconds")))
    _add_row(connection, now, "store.seed", DEFAULT_GROUP, {"rules": len(ROWS)})


def _columns(seed: Seed) -> dict[str, Any]:
    return {
        "group_id": DEFAULT_GROUP,
        "priority": seed.priority,
        "tool_pattern": seed.tool,
        "path_pattern": seed.path,
        "action": seed.action.value,
        "mandatory": int(seed.mandatory),
        "note": seed.note,
    }


def _add_row(connection: Connection, now: datetime, action: str, subject: str, detail: dict[str, Any]) -> None:
    change = Change(connection, now, subject)
    change.detail.update(detail)
    record(change, state_of(connection, lock=True), _MIGRATOR, action, policy=True)
