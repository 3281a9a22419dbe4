"""Imports into tables: rows that come in parts, and are there all at once or not at all.

Settles that nobody sees a row before its import is done, that an import whose process is gone is taken back, and that
no part holds the database for long. Does not settle what is imported (`content.imports`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import RowMapping, and_, delete, func, insert, or_, select, update

from stanch.storage.content_table_nouns import IMPORT, TABLE
from stanch.storage.content_table_queries import QueriesOfTables
from stanch.storage.content_table_rows import reserved, row_values
from stanch.storage.content_tables_schema import IMPORTS, ROWS, TABLES
from stanch.storage.rows import written_moment
from stanch.storage.transactions import find
from stanch.values.fault import Conflict, quoted
from stanch.values.records import Actor
from stanch.values.tables import ImportRecord, ImportState, RowDraft, TableRecord

GONE = timedelta(seconds=60)
"""An import that says nothing for so long has lost its process."""
AT_ONCE = 10_000
"""How many rows are removed in one transaction."""


class ImportsOfTables(QueriesOfTables):
    """The part of the content store that keeps imports."""

    def _begin_import(
        self, import_id: str, table: TableRecord, size: int | None, pending: Mapping[str, Any] | None
    ) -> ImportRecord:
        at = written_moment(self._clock())
        row: dict[str, Any] = {
            "id": import_id,
            "table_id": table.id,
            "table_name": table.name,
            "owner": table.owner,
            "state": ImportState.RUNNING.value,
            "row_count": 0,
            "bytes_done": 0,
            "bytes_in_all": size,
            "first_row": None,
            "last_row": None,
            "beat_at": at,
            "created_at": at,
        }
        record = IMPORT.written(row)
        with self._touching() as connection:
            if connection.execute(select(IMPORTS.c.id).where(IMPORTS.c.id == import_id)).first() is not None:
                raise Conflict(f"there already is an import {quoted(import_id)}")
            if pending is not None:
                self._free(connection, table.name, table.owner)
                connection.execute(insert(TABLES), dict(pending))
            connection.execute(insert(IMPORTS), row)
        return record

    def reserve_rows(self, import_id: str, table_id: str, count: int) -> int:
        """The first of so many ids for the import's rows. Raises `NotFound`, and `Conflict` where it is over."""
        with self._touching() as connection:
            first = reserved(connection, table_id, count)
            last = first + count - 1
            beat = {
                "beat_at": written_moment(self._clock()),
                "first_row": func.coalesce(IMPORTS.c.first_row, first),
                "last_row": last,
            }
            self._still(connection.execute(update(IMPORTS).where(_running(import_id)).values(**beat)).rowcount)
        return first

    def add_rows(self, import_id: str, table_id: str, first: int, drafts: Sequence[RowDraft], done: int) -> None:
        """Puts rows in under ids that were reserved. `done` is how much of the file is read.

        Raises `Conflict` where the import is over: another process has taken it for gone.
        """
        with self._touching() as connection:
            moved = {
                "beat_at": written_moment(self._clock()),
                "row_count": IMPORTS.c.row_count + len(drafts),
                "bytes_done": done,
            }
            self._still(connection.execute(update(IMPORTS).where(_running(import_id)).values(**moved)).rowcount)
            if drafts:
                connection.execute(insert(ROWS), row_values(table_id, first, drafts, import_id))

    def finish_import(self, import_id: str, table: TableRecord, *, by: Actor) -> ImportRecord:
        """Has everybody see the rows, and the table where the import makes it: one change.

        Raises `Conflict` where the import is over, or where the table's name was taken meanwhile, and `NotFound` where
        the table is gone.
        """
        with self._changing(by, "tables.import", table.id) as change:
            row = find(change.connection, TABLE, table.id, TABLES.c.deleted_at.is_(None))
            if row["pending"] == import_id:
                self._free(change.connection, table.name, table.owner)
            done = {"state": ImportState.DONE.value, "bytes_done": func.coalesce(IMPORTS.c.bytes_in_all, 0)}
            self._still(change.connection.execute(update(IMPORTS).where(_running(import_id)).values(**done)).rowcount)
            now = {"pending": None, "changed_at": written_moment(change.at)}
            change.connection.execute(update(TABLES).where(TABLES.c.id == table.id).values(**now))
            record = IMPORT.readable(find(change.connection, IMPORT, import_id))
            change.detail.update({"import": import_id, "rows": record.rows, "new": row["pending"] is not None})
        return record

    def fail_import(self, import_id: str) -> None:
        """Takes an import back. Does nothing to one that is done."""
        with self._touching() as connection:
            connection.execute(update(IMPORTS).where(_running(import_id)).values(state=ImportState.FAILING.value))
        self.clear_tables()

    def import_record(self, import_id: str) -> ImportRecord:
        """How far an import has come. Raises `NotFound`."""
        with self._reading() as connection:
            return IMPORT.readable(find(connection, IMPORT, import_id))

    def clear_tables(self, *, alone: bool = False) -> None:
        """Removes what imports that failed have left, and the rows of tables that are gone, some at a time.

        An import that has said nothing for a minute has failed; `alone`: each that is under way has, since no other
        process has the store open. Whoever is stopped in the middle leaves the rest to the next.
        """
        failing, dead = self._left_behind(alone)
        for row in failing:
            with self._touching() as connection:
                lost = update(IMPORTS).where(IMPORTS.c.id == row["id"], self._lost(alone))
                connection.execute(lost.values(state=ImportState.FAILING.value))
                wanted = select(IMPORTS).where(IMPORTS.c.id == row["id"], IMPORTS.c.state == ImportState.FAILING.value)
                now = connection.execute(wanted).mappings().first()
            if now is None:
                continue
            if now["first_row"] is not None:
                within = ROWS.c.id.between(now["first_row"], now["last_row"])
                self._clear(and_(ROWS.c.table_id == now["table_id"], within, ROWS.c.import_id == now["id"]))
            with self._touching() as connection:
                # With it goes the table that it would have made.
                connection.execute(delete(TABLES).where(TABLES.c.id == now["table_id"], TABLES.c.pending == now["id"]))
                ended = update(IMPORTS).where(IMPORTS.c.id == now["id"]).values(state=ImportState.FAILED.value)
                connection.execute(ended)
        for table_id in dead:
            self._clear(ROWS.c.table_id == table_id)
            with self._touching() as connection:
                connection.execute(delete(IMPORTS).where(IMPORTS.c.table_id == table_id))
                connection.execute(delete(TABLES).where(TABLES.c.id == table_id))

    def must_clear_tables(self, *, alone: bool = False) -> bool:
        """True where there is something to be removed. A cheap question."""
        return any(self._left_behind(alone))

    def _left_behind(self, alone: bool) -> tuple[Sequence[RowMapping], Sequence[str]]:
        """The imports that failed or are lost, and the tables that are gone."""
        wanted = select(IMPORTS).where(or_(IMPORTS.c.state == ImportState.FAILING.value, self._lost(alone)))
        gone = select(TABLES.c.id).where(TABLES.c.deleted_at.is_not(None))
        with self._reading() as connection:
            failing = connection.execute(wanted).mappings().all()
            return failing, connection.execute(gone).scalars().all()

    def _lost(self, alone: bool) -> Any:
        running = IMPORTS.c.state == ImportState.RUNNING.value
        return running if alone else and_(running, IMPORTS.c.beat_at < written_moment(self._clock() - GONE))

    def _clear(self, which: Any) -> None:
        while True:
            some = select(ROWS.c.id).where(which).order_by(ROWS.c.id).limit(AT_ONCE)
            with self._touching() as connection:
                ids = connection.execute(some).scalars().all()
                if ids:
                    connection.execute(delete(ROWS).where(which, ROWS.c.id <= ids[-1]))
            if len(ids) < AT_ONCE:
                return

    @staticmethod
    def _free(connection: Any, name: str, owner: str | None) -> None:
        """Raises `Conflict` where the name is taken."""
        whose = TABLES.c.owner.is_(None) if owner is None else TABLES.c.owner == owner
        there = TABLES.c.deleted_at.is_(None), TABLES.c.pending.is_(None)
        wanted = select(TABLES.c.id).where(TABLES.c.name == name, whose, *there)
        if connection.execute(wanted).first() is not None:
            raise Conflict(f"there already is a table {quoted(name)}")

    @staticmethod
    def _still(count: int) -> None:
        if count != 1:
            raise Conflict("the import is over: it was taken for lost, or taken back")


def _running(import_id: str) -> Any:
    return and_(IMPORTS.c.id == import_id, IMPORTS.c.state == ImportState.RUNNING.value)
