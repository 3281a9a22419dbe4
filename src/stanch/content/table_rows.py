"""Operations on rows: a page, one, a selection, insert, update.

Settles which rows a caller is given, and what is known of those that are written. Does not settle what a cell may hold
(`content.table_cells`), nor filters (`content.table_queries`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from stanch.content.access import Access
from stanch.content.left_out import Cursor, Left, Limit
from stanch.content.table_cells import BadCell, given, texts_in
from stanch.content.table_known import Rows, kept_of_row, known_of_cells, known_of_row
from stanch.content.tables_shown import (
    ColumnShown,
    RowId,
    RowShown,
    RowsShown,
    TableName,
    broken_rows,
    found_table,
    given_rows,
    place_of,
    shown_columns,
)
from stanch.delivery.admit import require_admitted_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.provenance.states import Provenance
from stanch.storage.content_table_nouns import canonical
from stanch.storage.content_table_rows import RowChange
from stanch.values.fault import BadFields, BrokenRow, NotFound
from stanch.values.tables import RowDraft, RowRecord, RowsPage, TableRecord, Wanted

MOST_ROWS = 500
Cells = dict[str, Any]


class PageOfRows(Asked):
    """Which page of a table's rows."""

    table: TableName
    limit: Limit = 50
    cursor: Cursor = None


class OneRow(Asked):
    """Which row."""

    table: TableName
    row: RowId


class RowIds(Asked):
    """Which rows, by their ids."""

    rows: Annotated[tuple[RowId, ...], Field(min_length=1, max_length=MOST_ROWS)]


class Selection(RowIds):
    """Which rows of which table."""

    table: TableName


class NewRows(Asked):
    """Rows to be added, each with its cells by the names of their columns. A column that is left out holds nothing."""

    rows: Annotated[tuple[Cells, ...], Field(min_length=1, max_length=MOST_ROWS)]


class InsertRows(NewRows):
    """Rows to be added, and the table that they are added to."""

    table: TableName


class ChangedCells(Asked):
    """The cells of one row that change. `version`: only where the row is of this version still."""

    row: RowId
    values: Annotated[Cells, Field(min_length=1)]
    version: Annotated[int | None, Field(ge=1)] = None


class ChangedRows(Asked):
    """Rows to be changed: all of them, or none."""

    rows: Annotated[tuple[ChangedCells, ...], Field(min_length=1, max_length=MOST_ROWS)]


class UpdateRows(ChangedRows):
    """Rows to be changed, and their table."""

    table: TableName


class Written(Given):
    """A row that was written: its id and version, and nothing that it holds."""

    id: int
    version: int


class RowsWritten(Given):
    """Rows that were written, in the order in which they were given."""

    table: str
    items: tuple[Written, ...]


@operation("tables_rows", PageOfRows, tool="tables_rows", content_delivery=ContentDelivery.SOURCED)
def rows_of_table(access: Access, asked: PageOfRows) -> RowsShown:
    """Read a page of a table's rows, in the order in which they were added."""
    table = found_table(access, asked.table)
    return page_shown(access, table, access.stores.rows(table, Wanted(), limit=asked.limit, cursor=asked.cursor))


@operation("tables_row", OneRow, tool="tables_row", content_delivery=ContentDelivery.SOURCED)
def one_row(access: Access, asked: OneRow) -> RowShown:
    """Read one row by its id."""
    table = found_table(access, asked.table)
    page = access.stores.rows_by_id(table, [asked.row])
    for broken in page.broken:
        raise BrokenRow("content_rows", f"{table.id}/{broken.id}", broken.problem)
    if not page.items:
        raise NotFound("row", str(asked.row))
    (row,) = page.items
    known = Rows(access, table, page.items)
    require_admitted_content(access.delivery, known.source(row))
    columns = shown_columns(access, table)
    values = {shown.name: cell for shown, cell in zip(columns, known.cells(row), strict=True)}
    return RowShown(id=row.id, version=row.version, values=values)


@operation("tables_selection", Selection, tool="tables_selection", content_delivery=ContentDelivery.SOURCED)
def selection(access: Access, asked: Selection) -> RowsShown:
    """Read several rows by their ids. Those that are not there are left out."""
    table = found_table(access, asked.table)
    return page_shown(access, table, access.stores.rows_by_id(table, asked.rows))


@operation("tables_insert", InsertRows, tool="tables_insert", content_delivery=ContentDelivery.NONE)
def insert_rows(access: Access, asked: InsertRows) -> RowsWritten:
    """Add rows to a table, at its end. All of them are added, or none; their ids are returned."""
    table = found_table(access, asked.table)
    columns = shown_columns(access, table)
    known = access.writing.over()
    drafts: list[tuple[str, Provenance]] = []
    for at, row in enumerate(asked.rows):
        cells: list[Any] = [None] * len(columns)
        raw = _placed(access, table, columns, row, cells=cells, field=f"rows[{at}]")
        drafts.append((canonical(cells), known_of_cells(known, cells, raw)))

    def made(first: int) -> Sequence[RowDraft]:
        return [
            RowDraft(written, kept_of_row(access, provenance, table.id, first + place, written))
            for place, (written, provenance) in enumerate(drafts)
        ]

    ids = access.stores.insert_rows(table.id, len(drafts), made, by=access.by)
    return RowsWritten(table=table.id, items=tuple(Written(id=one, version=1) for one in ids))


@operation("tables_update", UpdateRows, tool="tables_update", content_delivery=ContentDelivery.NONE)
def update_rows(access: Access, asked: UpdateRows) -> RowsWritten:
    """Change cells of rows by their ids; cells that are not named stay as they are. All rows are changed, or none."""
    table = found_table(access, asked.table)
    columns = shown_columns(access, table)
    changes = []
    for at, one in enumerate(asked.rows):
        new: list[Any] = [None] * len(columns)
        raw = _placed(access, table, columns, one.values, cells=new, field=f"rows[{at}].values")
        named = {place_of(access, table, columns, name, "values") for name in one.values}
        changes.append(RowChange(one.row, one.version, _Changing(access, table, named, new, raw)))
    done = access.stores.update_rows(table, changes, by=access.by)
    return RowsWritten(table=table.id, items=tuple(Written(id=row_id, version=version) for row_id, version in done))


class _Changing:
    """Makes of a row the row that it becomes."""

    def __init__(
        self, access: Access, table: TableRecord, named: set[int], new: Sequence[Any], raw: Sequence[str]
    ) -> None:
        self._access, self._table, self._named, self._new, self._raw = access, table, named, new, raw

    def __call__(self, old: RowRecord, kept: str | None) -> RowDraft:
        cells = [self._new[at] if at in self._named else cell for at, cell in enumerate(old.cells)]
        written = canonical(cells)
        sources: list[Provenance] = []
        if len(self._named) < len(cells):
            # WHY: what stays of the row stays known, whoever changes the rest of it.
            sources.append(known_of_row(self._access, self._table, old.id, old.written, kept))
        known = self._access.writing.over(sources)
        provenance = known_of_cells(known, cells, self._raw)
        return RowDraft(written, kept_of_row(self._access, provenance, self._table.id, old.id, written))


def page_shown(access: Access, table: TableRecord, page: RowsPage, places: Sequence[int] | None = None) -> RowsShown:
    """A page of rows as the caller may have it, with the cells at these places; None for all of them."""
    columns, left = shown_columns(access, table), Left()
    items = given_rows(access, table, page.items, columns, left=left, places=places)
    return RowsShown(
        table=table.id,
        columns=columns if places is None else tuple(columns[place] for place in places),
        items=items,
        broken=broken_rows(page.broken),
        total=page.total,
        next=page.next,
        **left.told,
    )


def _placed(
    access: Access,
    table: TableRecord,
    columns: Sequence[ColumnShown],
    values: Mapping[str, Any],
    *,
    cells: list[Any],
    field: str,
) -> list[str]:
    """Puts cells in their places; returns the texts that they were given as. Raises `BadFields`."""
    for name, value in values.items():
        place = place_of(access, table, columns, name, field)
        try:
            cells[place] = given(value, columns[place].type)
        except BadCell as why:
            said = f"column {place + 1} must hold {why.expected}"
            raise BadFields((f"{field}.{columns[place].name}", f"'{field}': {said}")) from None
    return list(texts_in(dict(values)))
