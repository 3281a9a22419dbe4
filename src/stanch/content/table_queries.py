"""Operations that ask of rows: a query with filters, an order and figures, and a search.

Settles how a filter is read, and that a figure over rows which a model may not read is withheld. Does not settle how
either database compares (`storage.content_table_cells`).
SPEC: totals and counts are the database's, whatever is withheld; no row is looked through to hide one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Annotated, Any

from pydantic import Field

from stanch.content.access import Access
from stanch.content.left_out import Cursor, LeavesOut, Left, Limit
from stanch.content.table_cells import BadCell, given, text_of
from stanch.content.table_known import Rows, carried_in, known_of_row
from stanch.content.table_rows import page_shown
from stanch.content.tables_shown import (
    ColumnName,
    ColumnShown,
    RowsShown,
    TableName,
    found_table,
    place_of,
    shown_columns,
)
from stanch.delivery.admit import Window, admit_content, redact_before_cutting
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.delivery.source import EXCERPT, Derived, Kind, Known, Source
from stanch.provenance.states import UNRECORDED, Entry, Exact, Provenance, Unknown, merged
from stanch.values.fault import BadFields, BadInput
from stanch.values.tables import ColumnType, Comparison, Figure, Filter, Sort, TableRecord, Wanted

MOST_FILTERS, MOST_VALUES, MOST_FIGURES = 50, 500, 20
AROUND = 80
"""How many characters are shown on either side of what was found."""
_ORDERED = (ColumnType.TEXT, ColumnType.INTEGER, ColumnType.NUMBER, ColumnType.DATE, ColumnType.DATETIME)
_SUMMED = (ColumnType.INTEGER, ColumnType.NUMBER)
_MADE = (Figure.SUM, Figure.AVG)
"""Figures that are made of several cells, and are none of them."""
_WORDY = (ColumnType.TEXT, ColumnType.JSON)


class FilterGiven(Asked):
    """A comparison: a column, how it compares, and with what. `in` takes a list, `is null` true or false."""

    column: ColumnName
    how: Comparison = Comparison.EQUAL
    value: Any = None


class SortGiven(Asked):
    """An order by a column. Cells that hold nothing come last."""

    column: ColumnName
    descending: bool = False


class FigureGiven(Asked):
    """A figure over all rows that fit. A count needs no column."""

    figure: Figure
    column: ColumnName | None = None


class Query(Asked):
    """Which rows, in which order, with which columns; and figures over all that fit."""

    filters: Annotated[tuple[FilterGiven, ...], Field(max_length=MOST_FILTERS)] = ()
    sort: Annotated[tuple[SortGiven, ...], Field(max_length=10)] = ()
    columns: Annotated[tuple[ColumnName, ...] | None, Field(min_length=1, max_length=1_000)] = None
    figures: Annotated[tuple[FigureGiven, ...], Field(max_length=MOST_FIGURES)] = ()
    limit: Limit = 50
    cursor: Cursor = None


class QueryTable(Query):
    """A query, and the table that is asked."""

    table: TableName


class SearchTable(Asked):
    """What to look for in the cells of a table, whichever way ASCII letters are written."""

    table: TableName
    query: Annotated[str, Field(min_length=1, max_length=1_000)]
    limit: Limit = 50
    cursor: Cursor = None


class FigureShown(Given):
    """A figure. Where it is `withheld`, `reason` says why by its code, and `value` is null."""

    figure: Figure
    column: str | None
    value: Any
    withheld: bool = False
    reason: str | None = None


class QueryShown(RowsShown):
    """A page of the rows that fit, and figures over all of them."""

    figures: tuple[FigureShown, ...] = ()


class FoundCell(Given):
    """Where something was found. `value` is the text around it, null where it may not be shown."""

    row: int
    column: str
    value: str | None


class FoundShown(LeavesOut):
    """A page of places. `total` counts rows; a row may have several places. `withheld` counts rows without values."""

    table: str
    items: tuple[FoundCell, ...]
    total: int
    next: str | None


@operation("tables_query", QueryTable, tool="tables_query", content_delivery=ContentDelivery.SOURCED)
def query_table(access: Access, asked: QueryTable) -> QueryShown:
    """Ask for rows of a table by filters, in an order, with figures (count, sum, min, max, avg) over all that fit.

    Comparisons: =, !=, <, <=, >, >=, contains, in, is null.
    """
    table = found_table(access, asked.table)
    columns = shown_columns(access, table)

    def place(name: str, field: str) -> int:
        return place_of(access, table, columns, name, field)

    filters = tuple(
        _filter(columns, place(one.column, f"filters[{at}].column"), one, f"filters[{at}]")
        for at, one in enumerate(asked.filters)
    )
    sort = tuple(Sort(place(one.column, f"sort[{at}].column"), one.descending) for at, one in enumerate(asked.sort))
    if any(columns[one.column].type not in (*_ORDERED, ColumnType.BOOLEAN) for one in sort):
        raise BadFields(("sort", "'sort' must name columns that have an order, and JSON has none"))
    figures = [_figure(columns, one, place, f"figures[{at}]") for at, one in enumerate(asked.figures)]
    places = None if asked.columns is None else list(dict.fromkeys(place(one, "columns") for one in asked.columns))
    wanted = Wanted(filters, sort)
    page = access.stores.rows(table, wanted, limit=asked.limit, cursor=asked.cursor)
    shown = page_shown(access, table, page, places)
    given_figures = _figures(access, table, columns, wanted, figures)
    return QueryShown(**dict(shown), figures=given_figures)


@operation("tables_search", SearchTable, tool="tables_search", content_delivery=ContentDelivery.SOURCED)
def search_table(access: Access, asked: SearchTable) -> FoundShown:
    """Find where in a table some words stand: rows, columns, and the text around where it may be shown."""
    table = found_table(access, asked.table)
    columns = shown_columns(access, table)
    page = access.stores.rows(table, Wanted(search=asked.query), limit=asked.limit, cursor=asked.cursor)
    known, left, items = Rows(access, table, page.items), Left(), []
    # WHY an excerpt: the text around a place is cut, and rows with secrets are told by their places alone.
    passing = left.admitted(admit_content(access.delivery, [known.source(row, EXCERPT) for row in page.items]))
    wanted = _small(asked.query)
    for row, passes in zip(page.items, passing, strict=True):
        for at, cell in enumerate(row.cells):
            text = "" if cell is None else text_of(cell)
            begin = _small(text).find(wanted)
            if begin >= 0:
                window = Window(max(0, begin - AROUND), begin + len(asked.query) + AROUND)
                value = redact_before_cutting(access.delivery, text, window) if passes else None
                items.append(FoundCell(row=row.id, column=columns[at].name, value=value))
    return FoundShown(table=table.id, items=tuple(items), total=page.total, next=page.next, **left.told)


def _filter(columns: Sequence[ColumnShown], place: int, asked: FilterGiven, field: str) -> Filter:
    """The filter, its value of the column's type. Raises `BadFields`."""
    kind, how, value = columns[place].type, asked.how, asked.value
    ordered = (Comparison.LESS, Comparison.AT_MOST, Comparison.MORE, Comparison.AT_LEAST)
    if (how in ordered and kind not in _ORDERED) or (how is Comparison.CONTAINS and kind not in _WORDY):
        raise BadFields((f"{field}.how", f"'{field}.how': a column of the type {kind.value} has no '{how.value}'"))
    if how is Comparison.IS_NULL:
        if value is not None and not isinstance(value, bool):
            raise BadFields((f"{field}.value", f"'{field}.value' must be true or false"))
        return Filter(place, how, value is not False)
    try:
        if how is Comparison.CONTAINS:
            if not isinstance(value, str) or not value:
                raise BadFields((f"{field}.value", f"'{field}.value' must be text"))
            return Filter(place, how, given(value, ColumnType.TEXT))
        if how is Comparison.IN:
            if not isinstance(value, list) or not 1 <= len(value) <= MOST_VALUES or None in value:
                raise BadFields((f"{field}.value", f"'{field}.value' must be a list of 1 to {MOST_VALUES} values"))
            return Filter(place, how, [given(one, kind) for one in value])
        if value is None:
            raise BadFields((f"{field}.value", f"'{field}.value' is missing; 'is null' asks for cells without one"))
        return Filter(place, how, given(value, kind))
    except BadCell as why:
        raise BadFields((f"{field}.value", f"'{field}.value' must be {why.expected}")) from None


def _figure(columns: Sequence[ColumnShown], asked: FigureGiven, place: Any, field: str) -> tuple[Figure, int | None]:
    if asked.column is None:
        if asked.figure is not Figure.COUNT:
            raise BadFields((f"{field}.column", f"'{field}.column' is missing"))
        return asked.figure, None
    at: int = place(asked.column, f"{field}.column")
    kind = columns[at].type
    able = {Figure.MIN: _ORDERED, Figure.MAX: _ORDERED, Figure.SUM: _SUMMED, Figure.AVG: _SUMMED}
    if kind not in able.get(asked.figure, tuple(ColumnType)):
        said = f"'{field}.figure': a column of the type {kind.value} has no '{asked.figure.value}'"
        raise BadFields((f"{field}.figure", said))
    return asked.figure, at


def _figures(
    access: Access,
    table: TableRecord,
    columns: Sequence[ColumnShown],
    wanted: Wanted,
    asked: Sequence[tuple[Figure, int | None]],
) -> tuple[FigureShown, ...]:
    """The figures. A count is told to everybody; anything else is made of the cells of all rows that fit."""
    if not asked:
        return ()
    found = access.stores.figures(table, wanted, asked)
    known = _Together(
        access, table, wanted, {place for figure, place in asked if place is not None and figure in _MADE}
    )
    shown: list[FigureShown] = []
    for (figure, place), value in zip(asked, found, strict=True):
        name = None if place is None else columns[place].name
        reason = None
        if figure is not Figure.COUNT:
            named = f"{figure.value} over {table.id}"
            source = Source(Kind.RESULT, named, known, Derived(value))
            if place is not None and figure in _MADE:
                # WHY an excerpt: whoever knows the other cells takes them away again, and has the secret.
                source = Source(Kind.RESULT, named, known.of(place), EXCERPT)
            (admission,) = admit_content(access.delivery, [source])
            reason = None if admission.refusal is None else admission.refusal.code.value
        withheld = reason is not None
        given_value = None if withheld else value
        shown.append(FigureShown(figure=figure, column=name, value=given_value, withheld=withheld, reason=reason))
    return tuple(shown)


class _Together:
    """What is known of all rows that fit, together. It is gone through once, and only where somebody asks."""

    def __init__(self, access: Access, table: TableRecord, wanted: Wanted, places: Collection[int]) -> None:
        """`places`: the columns of which it is asked what their cells alone carry."""
        self._access, self._table, self._wanted = access, table, wanted
        self._found: Provenance | None = None
        self._carried: dict[int, set[Entry]] = {place: set() for place in places}

    def of(self, place: int) -> Known:
        """What the cells of one column carry."""

        def known() -> Provenance:
            found = self()
            return Exact(frozenset(self._carried[place])) if isinstance(found, Exact) else found

        return known

    def __call__(self) -> Provenance:
        if self._found is None:
            self._found = self._merged()
        return self._found

    def _merged(self) -> Provenance:
        found: Provenance = UNRECORDED
        for part in self._access.stores.recorded_rows(self._table, self._wanted):
            if self._access.cancelled.is_set():
                raise BadInput("the query was stopped")
            each = [known_of_row(self._access, self._table, *row) for row in part]
            found = merged((found, *each))
            if isinstance(found, Unknown):
                return found
            for (_, written, _), known in zip(part, each, strict=True):
                if self._carried and isinstance(known, Exact) and known.entries:
                    cells = json.loads(written)
                    for place, carried in self._carried.items():
                        carried.update(carried_in(cells[place], known.entries))
        return found


def _small(words: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in words)
