"""The part of the content store that keeps tables.

Settles tables themselves: made, found, listed, removed. Does not settle rows (`content_table_rows`) nor imports
(`content_table_imports`).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import or_, select, update

from stanch.storage.content_table_imports import ImportsOfTables
from stanch.storage.content_table_nouns import TABLE, columns_column
from stanch.storage.content_tables_schema import TABLES
from stanch.storage.pages import page_of
from stanch.storage.rows import is_storable, written_moment
from stanch.storage.transactions import find
from stanch.values.fault import NotFound
from stanch.values.records import Actor, Broken, Page
from stanch.values.tables import Column, ImportRecord, TableRecord

_THERE = TABLES.c.deleted_at.is_(None), TABLES.c.pending.is_(None)


class TablesRows(ImportsOfTables):
    """What is kept of tables."""

    def create_table(
        self, table_id: str, name: str, columns: tuple[Column, ...], *, owner: str | None, kept: str | None, by: Actor
    ) -> TableRecord:
        """The new table. `kept` is what is kept of its provenance. Raises `Conflict` where its name is taken."""
        row = self._new_table(table_id, name, columns, owner, kept)
        record = TABLE.written(row)
        with self._changing(by, "tables.create", table_id) as change:
            self._free(change.connection, name, owner)
            change.add(TABLE, row)
            change.detail.update(columns=len(columns), owner=owner)
        return record

    def begin_table_import(
        self,
        import_id: str,
        table: TableRecord,
        size: int | None,
        *,
        kept: str | None = None,
        new: bool = False,
    ) -> ImportRecord:
        """The import, under way. `new`: it makes the table, which is there once the import is done.

        Raises `Conflict` where its id is taken, or the name of a new table is.
        """
        pending = None
        if new:
            row = self._new_table(table.id, table.name, table.columns, table.owner, kept)
            pending = {**row, "pending": import_id}
        return self._begin_import(import_id, table, size, pending)

    def new_table(self, table_id: str, name: str, columns: tuple[Column, ...], owner: str | None) -> TableRecord:
        """The record of a table that is still to be made. Raises `BadInput` for one that could not be read."""
        return TABLE.written(self._new_table(table_id, name, columns, owner, None))

    def find_table(self, named: str, person: str | None) -> TableRecord:
        """The table with this id or name, of the workspace or of this person, theirs first. Raises `NotFound`."""
        if is_storable(named):
            wanted = select(TABLES).where(or_(TABLES.c.id == named, TABLES.c.name == named), *_THERE, _seen_by(person))
            with self._reading() as connection:
                rows = connection.execute(wanted).mappings().all()
            ranked = sorted(rows, key=lambda row: (row["id"] != named, row["owner"] is None))
            if ranked:
                return TABLE.readable(ranked[0])
        raise NotFound(TABLE.kind, named)

    def list_tables(
        self, person: str | None, *, limit: int = 50, cursor: str | None = None
    ) -> Page[TableRecord | Broken]:
        """A page of the tables that this person sees, oldest first. Raises `BadInput` as `list_groups` does."""
        with self._reading() as connection:
            # WHY not by name: a cursor holds what the order is made of, and a name is content.
            order = (TABLES.c.created_at, TABLES.c.id)
            return page_of(connection, TABLE, order, limit=limit, cursor=cursor, conditions=(*_THERE, _seen_by(person)))

    def table_provenance(self, table_id: str) -> str | None:
        """What is kept of the provenance of a table's name and columns. Raises `NotFound`."""
        with self._reading() as connection:
            kept: str | None = find(connection, TABLE, table_id)["provenance"]
        return kept

    def delete_table(self, table_id: str, *, by: Actor) -> None:
        """Removes a table; its rows are gone with it, and are then cleared away. Raises `NotFound`."""
        with self._changing(by, "tables.delete", table_id) as change:
            find(change.connection, TABLE, table_id, *_THERE)
            gone = update(TABLES).where(TABLES.c.id == table_id).values(deleted_at=written_moment(change.at))
            change.connection.execute(gone)
            change.detail.update(table=True)
        self.clear_tables()

    def _new_table(
        self, table_id: str, name: str, columns: tuple[Column, ...], owner: str | None, kept: str | None
    ) -> dict[str, Any]:
        at = written_moment(self._clock())
        return {
            "id": table_id,
            "name": name,
            "owner": owner,
            "columns": columns_column(columns),
            "provenance": kept,
            "next_row": 1,
            "pending": None,
            "created_at": at,
            "changed_at": at,
            "deleted_at": None,
        }


def _seen_by(person: str | None) -> Any:
    return TABLES.c.owner.is_(None) if person is None else or_(TABLES.c.owner.is_(None), TABLES.c.owner == person)
