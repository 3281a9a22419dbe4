"""Rows of tables, asked for: pages, figures, and what is kept of their provenance.

Settles what is read of rows, in which order, and how the next page is named. Does not settle how a cell is compared
(`content_table_cells`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from stanch.storage.content_table_cells import Cells, figure_of
from stanch.storage.content_table_nouns import row_of
from stanch.storage.content_table_rows import READ, RowsOfTables, of_table, possible, visible
from stanch.storage.content_tables_schema import ROWS
from stanch.storage.pages import LARGEST_PAGE, LONGEST_CURSOR
from stanch.storage.rows import LARGEST_ID
from stanch.values.fault import BadInput, BrokenRow, Conflict
from stanch.values.tables import BrokenCells, Figure, RowRecord, RowsPage, TableRecord, Wanted

PART = 500
"""How many rows are read at a time where all of them are gone through."""
Condition = ColumnElement[bool]


class QueriesOfTables(RowsOfTables):
    """The part of the content store that reads rows."""

    def rows(self, table: TableRecord, wanted: Wanted, *, limit: int, cursor: str | None = None) -> RowsPage:
        """A page of the rows that fit. Raises `BadInput` for a limit or a cursor that is none.

        INVARIANT: a cursor names a row by its id and holds none of its cells.
        """
        if type(limit) is not int or not 1 <= limit <= LARGEST_PAGE:
            raise BadInput(f"'limit' must be a whole number from 1 to {LARGEST_PAGE}")
        with self._reading() as connection:
            cells, where = self._fitting(connection, table, wanted)
            total = connection.execute(select(func.count()).select_from(ROWS).where(*where)).scalar_one()
            if cursor is not None:
                where = (*where, self._behind(connection, table, wanted, cells, cursor))
            read = select(*READ).where(*where).order_by(*cells.order(wanted.sort)).limit(limit + 1)
            rows = connection.execute(read).mappings().all()
        following = _cursor(table, wanted, rows[limit - 1]["id"]) if len(rows) > limit else None
        return _page(table, rows[:limit], int(total), following)

    def rows_by_id(self, table: TableRecord, ids: Sequence[int]) -> RowsPage:
        """Those of the rows that are there, in the order of `ids`."""
        with self._reading() as connection:
            read = select(*READ).where(of_table(table.id), visible(connection, table.id), ROWS.c.id.in_(possible(ids)))
            found = {row["id"]: row for row in connection.execute(read).mappings()}
        rows = [found[one] for one in dict.fromkeys(ids) if one in found]
        return _page(table, rows, len(rows), None)

    def count_rows(self, table_id: str) -> int:
        """How many rows a table has."""
        with self._reading() as connection:
            where = of_table(table_id), visible(connection, table_id)
            return int(connection.execute(select(func.count()).select_from(ROWS).where(*where)).scalar_one())

    def figures(self, table: TableRecord, wanted: Wanted, asked: Sequence[tuple[Figure, int | None]]) -> list[Any]:
        """Each figure over all rows that fit."""
        with self._reading() as connection:
            cells, where = self._fitting(connection, table, wanted)
            given: list[Any] = []
            for figure, place in asked:
                parts = cells.figures(figure, place)
                row = connection.execute(select(*parts).select_from(ROWS).where(*where)).one()
                given.append(figure_of(figure, None if place is None else table.columns[place].type, row))
        return given

    def row_provenance(self, table_id: str, ids: Sequence[int]) -> Mapping[int, tuple[int, str | None]]:
        """What is kept of the provenance of rows, by their ids, each behind the version that the row now has."""
        with self._reading() as connection:
            read = select(ROWS.c.id, ROWS.c.version, ROWS.c.provenance)
            read = read.where(of_table(table_id), ROWS.c.id.in_(possible(ids)))
            return {row["id"]: (row["version"], row["provenance"]) for row in connection.execute(read).mappings()}

    def recorded_rows(self, table: TableRecord, wanted: Wanted) -> Iterator[Sequence[tuple[int, str, str]]]:
        """Of the rows that fit, those with a provenance, some at a time: the id, the cells, what is kept of it."""
        last = 0
        while True:
            with self._reading() as connection:
                _, where = self._fitting(connection, table, wanted)
                read = select(ROWS.c.id, ROWS.c.cells, ROWS.c.provenance)
                read = read.where(*where, ROWS.c.provenance.is_not(None), ROWS.c.id > last)
                rows = connection.execute(read.order_by(ROWS.c.id).limit(PART)).mappings().all()
            if not rows:
                return
            yield [(row["id"], row["cells"], row["provenance"]) for row in rows]
            last = rows[-1]["id"]

    def every_row(self, table: TableRecord) -> Iterator[RowRecord]:
        """All rows, as they were added, some read at a time. Raises `BrokenRow` for one that cannot be read."""
        last = 0
        while True:
            with self._reading() as connection:
                read = select(*READ).where(of_table(table.id), visible(connection, table.id), ROWS.c.id > last)
                rows = connection.execute(read.order_by(ROWS.c.id).limit(PART)).mappings().all()
            for row in rows:
                record = row_of(row, len(table.columns))
                if isinstance(record, BrokenCells):
                    raise BrokenRow(ROWS.name, f"{table.id}/{record.id}", record.problem)
                yield record
            if len(rows) < PART:
                return
            last = rows[-1]["id"]

    def _fitting(
        self, connection: Connection, table: TableRecord, wanted: Wanted
    ) -> tuple[Cells, tuple[Condition, ...]]:
        cells = Cells(connection, table.columns)
        where = [of_table(table.id), visible(connection, table.id), *map(cells.fits, wanted.filters)]
        if wanted.search is not None:
            where.append(cells.found(wanted.search))
        return cells, tuple(where)

    def _behind(
        self, connection: Connection, table: TableRecord, wanted: Wanted, cells: Cells, cursor: str
    ) -> Condition:
        last = _last(table, wanted, cursor)
        if not wanted.sort:
            return ROWS.c.id > last
        read = select(*READ).where(of_table(table.id), ROWS.c.id == last)
        row = connection.execute(read).mappings().first()
        if row is None:
            raise Conflict("the row behind which this page begins is gone; ask for the first page again")
        record = row_of(row, len(table.columns))
        if isinstance(record, BrokenCells):
            raise BrokenRow(ROWS.name, f"{table.id}/{last}", record.problem)
        return cells.behind(wanted.sort, record.cells, last)


def _page(table: TableRecord, rows: Sequence[Mapping[Any, Any]], total: int, following: str | None) -> RowsPage:
    read = [row_of(row, len(table.columns)) for row in rows]
    return RowsPage(
        tuple(one for one in read if isinstance(one, RowRecord)),
        tuple(one for one in read if isinstance(one, BrokenCells)),
        total,
        following,
    )


def _named(table: TableRecord, wanted: Wanted) -> str:
    """A short name of the list that a cursor belongs to. A digest: what was asked for is not in it."""
    said: list[Any] = [table.id, *((one.column, one.how.value, one.value) for one in wanted.filters), wanted.search]
    said += [(one.column, one.descending) for one in wanted.sort]
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _cursor(table: TableRecord, wanted: Wanted, row_id: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([_named(table, wanted), row_id]).encode()).decode().rstrip("=")


def _last(table: TableRecord, wanted: Wanted, cursor: str) -> int:
    padded = cursor[:LONGEST_CURSOR] + "=" * (-len(cursor[:LONGEST_CURSOR]) % 4)
    try:
        said = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        name, last = said
    except (ValueError, TypeError, RecursionError):
        name = last = None
    if name != _named(table, wanted) or type(last) is not int or not 0 < last <= LARGEST_ID:
        raise BadInput("'cursor' is none that this list has given")
    return last
