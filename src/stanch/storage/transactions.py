"""One reading or one change of the store at a time.

Settles what a change is: one transaction that holds the change, its audit row and the new revision, or nothing. Does
not settle which changes there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Engine, RowMapping, delete, func, insert, select, update

from stanch.storage.causes import translated
from stanch.storage.chain import digest_of
from stanch.storage.engine import WRITES
from stanch.storage.rows import LARGEST_ID, LONGEST_KEY, Noun, is_storable, written_json, written_moment
from stanch.storage.schema import AUDIT, SESSIONS, STATE
from stanch.values.fault import BadInput, Conflict, NotFound, StoreUnreadable, quoted
from stanch.values.records import Actor

CHANNEL = "stanch_revision"
Item = TypeVar("Item")
Condition = ColumnElement[bool]


class Change:
    """A change under way. Nothing of it is seen by others before it is whole.

    `subject` names what is changed, `detail` what else its audit row says; both may be set until the change is done.
    Then `written` is that row.
    """

    def __init__(self, connection: Connection, at: datetime, subject: str) -> None:
        self.connection, self.at, self.subject = connection, at, subject
        self.detail: dict[str, Any] = {}
        self.written: Mapping[str, Any] = {}
        self._read: dict[tuple[str, str | int], RowMapping] = {}

    def find(self, noun: Noun[Any], key: str | int, *also: Condition) -> RowMapping:
        """The row, whether or not it can be read. Raises `NotFound`."""
        row = self._read[noun.table.name, key] = find(self.connection, noun, key, *also)
        return row

    def expect(self, noun: Noun[Item], key: str | int, expected: Item | None, *also: Condition) -> RowMapping:
        """The row, which is as `expected` unless that is None. Raises `NotFound` and `Conflict`."""
        row = self.find(noun, key, *also)
        if expected is not None and noun.read(row) != expected:
            raise Conflict(f"the {noun.kind} {quoted(str(key))} was changed meanwhile")
        return row

    def vacant(self, noun: Noun[Any], key: str) -> None:
        """Raises `Conflict` where the key is taken."""
        if self.connection.execute(select(noun.key).where(noun.key == key)).first() is not None:
            raise Conflict(f"there already is a {noun.kind} {quoted(key)}")

    def add(self, noun: Noun[Item], row: Mapping[str, Any]) -> None:
        """Adds a row that has its key."""
        # WHY the row apart: a statement with the values in it costs twice as much to make.
        self.connection.execute(insert(noun.table), dict(row))

    def replace(self, noun: Noun[Item], key: str | int, columns: Mapping[str, Any]) -> Item:
        """Writes these columns of a row that is there; returns the record it now is.

        Raises `BadInput` for a column nobody could read, and `BrokenRow` where another column cannot be read.
        """
        # INVARIANT: nobody else writes while a change is under way, so what it has read before still stands.
        row = self._read.pop((noun.table.name, key), None)
        record = noun.changed(self.find(noun, key) if row is None else row, columns)
        self._read.pop((noun.table.name, key), None)
        self.connection.execute(update(noun.table).where(noun.key == key).values(**columns))
        return record

    def unused(self, noun: Noun[Any], key: str, column: Column[Any]) -> None:
        """Raises `Conflict` where a session that has not ended names the key in this column."""
        wanted = select(SESSIONS.c.id).where(column == key, SESSIONS.c.ended_at.is_(None)).limit(1)
        found = self.connection.execute(wanted).first()
        if found is not None:
            raise Conflict(f"the {noun.kind} {quoted(key)} is in use by the session {quoted(str(found[0]))}")

    def remove(self, noun: Noun[Any], *where: Condition) -> int:
        """Removes the rows that fit; returns how many."""
        return self.connection.execute(delete(noun.table).where(*where)).rowcount


class Transactions:
    """What every part of the store stands on."""

    _engine: Engine
    _clock: Callable[[], datetime]
    _closed: threading.Event
    _noted: Callable[[Any], Any] | None = None

    def notes_as(self, noted: Callable[[Any], Any]) -> None:
        """Has what an audit row says of a change put through `noted` first, which asks no store and raises nothing."""
        self._noted = noted

    def _changed(self) -> None:
        """Called after each change that was made through this object."""

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """A connection that sees the store as it is at one moment."""
        self._stay_open()
        with translated(), self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def _changing(self, by: Actor, action: str, subject: str = "", *, policy: bool = False) -> Iterator[Change]:
        """A change, made when the block ends and undone when it raises. `policy` marks changes of groups and rules."""
        self._stay_open()
        # WHY already here: what is changed may name who changed it, and a database refuses what no audit row can hold.
        storable(by.principal, "by.principal")
        storable(by.surface, "by.surface")
        with translated(), self._engine.connect() as connection:
            connection.execution_options(**{WRITES: True})
            with connection.begin():
                # INVARIANT: this row's lock comes first in every change, so that changes follow one another on
                # PostgreSQL as they do on SQLite, and the audit chain cannot fork.
                state = state_of(connection, lock=True)
                change = Change(connection, self._clock().astimezone(UTC), subject)
                yield change
                if self._noted is not None:
                    note_as(change, self._noted)
                record(change, state, by, action, policy=policy)
        self._changed()

    def _noting(self, by: Actor, action: str, subject: str, details: Sequence[Mapping[str, Any]]) -> None:
        """Adds an audit row for each of the details, all of them or none. Nothing else is changed by it.

        WHY no new revision: they come with every request to a model, and nobody who waits for changes waits for them.
        """
        self._stay_open()
        storable(by.principal, "by.principal")
        storable(by.surface, "by.surface")
        noted = self._noted if self._noted is not None else _as_it_is
        # WHY before the lock is taken: there may be many, and everybody else who writes waits for it.
        changes = [(str(noted(subject))[:LONGEST_KEY], noted(dict(one))) for one in details]
        with translated(), self._engine.connect() as connection:
            connection.execution_options(**{WRITES: True})
            with connection.begin():
                for told, detail in changes:
                    state = state_of(connection, lock=True)
                    change = Change(connection, self._clock().astimezone(UTC), told)
                    change.detail = detail
                    record(change, state, by, action, policy=False, moves=False)

    @contextmanager
    def _touching(self) -> Iterator[Connection]:
        """A connection for a write that changes nothing anybody asks for: no audit row, no new revision."""
        self._stay_open()
        with translated(), self._engine.connect() as connection:
            connection.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    def _stay_open(self) -> None:
        if self._closed.is_set():
            raise StoreUnreadable("the store cannot be used: it was closed")


def find(connection: Connection, noun: Noun[Any], key: str | int, *also: Condition, held: bool = False) -> RowMapping:
    """The row with this key, whether or not it can be read. `held`: nobody changes it until the transaction ends.

    Raises `NotFound`.
    """
    possible = is_storable(key) if isinstance(key, str) else abs(key) <= LARGEST_ID
    row = None
    if possible:
        wanted = select(noun.table).where(noun.key == key, *also)
        row = connection.execute(wanted.with_for_update(read=True) if held else wanted).mappings().first()
    if row is None:
        raise NotFound(noun.kind, str(key))
    return row


def state_of(connection: Connection, *, lock: bool = False) -> RowMapping:
    """The store's one row about itself. Raises `StoreUnreadable` where it is gone or holds no numbers."""
    wanted = select(STATE).where(STATE.c.id == 1)
    row = connection.execute(wanted.with_for_update() if lock else wanted).mappings().first()
    if row is None:
        raise StoreUnreadable("the store cannot be used: the row about its state is missing")
    if any(type(row[name]) is not int for name in ("revision", "policy_revision", "audit_seq")):
        raise StoreUnreadable("the store cannot be used: the row about its state cannot be read")
    return row


def storable(text: str, name: str) -> str:
    """The text, where an audit row can hold it. Raises `BadInput`."""
    if not 0 < len(text) <= LONGEST_KEY or not is_storable(text):
        raise BadInput(f"'{name}' must be text of 1 to {LONGEST_KEY} characters, without NUL")
    return text


def note_as(change: Change, noted: Callable[[Any], Any]) -> None:
    """Has the change's audit row say what `noted` makes of it. A subject that grew too long ends where it has to."""
    said = str(noted(change.subject))
    change.subject = said if said == change.subject else said[:LONGEST_KEY]
    change.detail = noted(change.detail)


def _as_it_is(value: Any) -> Any:
    return value


def record(change: Change, state: RowMapping, by: Actor, action: str, *, policy: bool, moves: bool = True) -> None:
    """Adds the change's audit row, and moves the store to its next revision; not where `moves` is False."""
    revision, previous = state["revision"] + moves, state["audit_digest"]
    row = {
        "seq": state["audit_seq"] + 1,
        "at": written_moment(change.at),
        "actor": storable(by.principal, "by.principal"),
        "surface": storable(by.surface, "by.surface"),
        "action": storable(action, "action"),
        "subject": storable(change.subject, "subject"),
        "detail": written_json(change.detail, "detail"),
    }
    digest = digest_of(row, previous)
    change.written = {**row, "previous": previous, "digest": digest}
    change.connection.execute(insert(AUDIT), dict(change.written))
    moved = {"revision": revision, "audit_seq": row["seq"], "audit_digest": digest}
    if policy:
        moved["policy_revision"] = revision
    change.connection.execute(update(STATE).where(STATE.c.id == 1).values(**moved))
    if moves and change.connection.dialect.name == "postgresql":
        change.connection.execute(select(func.pg_notify(CHANNEL, str(revision))))
