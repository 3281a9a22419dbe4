"""Rows of tables: added, changed, removed.

Settles that rows of an import which is not done are not there, and that no id is given twice. Does not settle what is
asked of rows (`content_table_queries`), nor what a row may hold (`content.table_cells`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, or_, select, true, update

from stanch.storage.content_table_nouns import TABLE, row_of
from stanch.storage.content_tables_schema import IMPORTS, ROWS, TABLES
from stanch.storage.rows import LARGEST_ID, written_moment
from stanch.storage.transactions import Change, Transactions, find
from stanch.values.fault import BrokenRow, Conflict, NotFound
from stanch.values.records import Actor
from stanch.values.tables import (
    BrokenCells,
    ImportState,
    RowDraft,
    RowRecord,
    TableRecord,
)

UNSEEN = (ImportState.RUNNING.value, ImportState.FAILING.value)
READ = (ROWS.c.id, ROWS.c.version, ROWS.c.cells)
Condition = ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class RowChange:
    """What becomes of one row. `made` is given the row and what is kept of its provenance, and returns the new one."""

    id: int
    version: int | None
    made: Callable[[RowRecord, str | None], RowDraft]


class RowsOfTables(Transactions):
    """The part of the content store that keeps rows."""

    def insert_rows(
        self, table_id: str, count: int, made: Callable[[int], Sequence[RowDraft]], *, by: Actor
    ) -> tuple[int, ...]:
        """The ids of new rows. `made` is given the first of their ids, which follow one another. Raises `NotFound`."""
        with self._changing(by, "tables.insert", table_id) as change:
            first = reserved(change.connection, table_id, count)
            drafts = made(first)
            change.connection.execute(insert(ROWS), row_values(table_id, first, drafts))
            _touched(change, table_id)
            change.detail.update(rows=count)
        return tuple(range(first, first + count))

    def update_rows(
        self, table: TableRecord, changes: Sequence[RowChange], *, by: Actor
    ) -> tuple[tuple[int, int], ...]:
        """The id and new version of each row that is changed; all of them are, or none.

        Raises `NotFound`, `BrokenRow`, and `Conflict` where a row is not of the version that is expected.
        """
        done: list[tuple[int, int]] = []
        with self._changing(by, "tables.update", table.id) as change:
            _alive(change.connection, table.id)
            seen = and_(of_table(table.id), visible(change.connection, table.id))
            for one in changes:
                wanted = select(*READ, ROWS.c.provenance).where(seen, ROWS.c.id == one.id)
                row = change.connection.execute(wanted).mappings().first()
                if row is None:
                    raise NotFound("row", str(one.id))
                old = row_of(row, len(table.columns))
                if isinstance(old, BrokenCells):
                    raise BrokenRow(ROWS.name, f"{table.id}/{one.id}", old.problem)
                if one.version is not None and one.version != old.version:
                    raise Conflict(f"the row {one.id} was changed meanwhile; it is of version {old.version}")
                new = one.made(old, row["provenance"])
                written = {"cells": new.written, "provenance": new.kept, "version": old.version + 1}
                change.connection.execute(update(ROWS).where(of_table(table.id), ROWS.c.id == one.id).values(**written))
                done.append((one.id, old.version + 1))
            _touched(change, table.id)
            change.detail.update(rows=len(done))
        return tuple(done)

    def delete_rows(self, table_id: str, ids: Sequence[int], *, by: Actor) -> int:
        """Removes rows; returns how many there were. Raises `NotFound` for the table."""
        with self._changing(by, "tables.delete", table_id) as change:
            _alive(change.connection, table_id)
            seen = and_(of_table(table_id), visible(change.connection, table_id), ROWS.c.id.in_(possible(ids)))
            count = change.connection.execute(delete(ROWS).where(seen)).rowcount
            _touched(change, table_id)
            change.detail.update(rows=count)
        return count


def visible(connection: Connection, table_id: str) -> Condition:
    """True for rows of a table that no import which is under way, or failed, has put there."""
    wanted = select(IMPORTS.c.id).where(IMPORTS.c.table_id == table_id, IMPORTS.c.state.in_(UNSEEN))
    hidden = list(connection.execute(wanted).scalars())
    return true() if not hidden else or_(ROWS.c.import_id.is_(None), ROWS.c.import_id.not_in(hidden))


def reserved(connection: Connection, table_id: str, count: int) -> int:
    """The first of so many ids that no row of the table has, or ever had. Raises `NotFound`."""
    mine = TABLES.c.id == table_id, TABLES.c.deleted_at.is_(None)
    moved = update(TABLES).where(*mine).values(next_row=TABLES.c.next_row + count).returning(TABLES.c.next_row)
    found = connection.execute(moved).scalar()
    if found is None:
        raise NotFound(TABLE.kind, table_id)
    return int(found) - count


def row_values(
    table_id: str, first: int, drafts: Sequence[RowDraft], import_id: str | None = None
) -> list[dict[str, Any]]:
    """New rows as they are written, under ids that follow one another."""
    return [
        {
            "table_id": table_id,
            "id": first + place,
            "import_id": import_id,
            "version": 1,
            "cells": draft.written,
            "provenance": draft.kept,
        }
        for place, draft in enumerate(drafts)
    ]


def of_table(table_id: str) -> Condition:
    """True for rows of this table."""
    return ROWS.c.table_id == table_id


def _alive(connection: Connection, table_id: str) -> None:
    find(connection, TABLE, table_id, TABLES.c.deleted_at.is_(None))


def _touched(change: Change, table_id: str) -> None:
    change.connection.execute(
        update(TABLES).where(TABLES.c.id == table_id).values(changed_at=written_moment(change.at))
    )


def possible(ids: Sequence[int]) -> list[int]:
    """Those of the ids that a row can have."""
    return [one for one in ids if 0 < one <= LARGEST_ID]
