"""Cells in SQL: what is compared, ordered and counted of them, on either database.

Settles how a filter, an order and a figure become an expression. Does not settle which rows are asked for
(`content_table_rows`).
INVARIANT: a column is named by its place, a number of ours, and every value is bound: nothing that anybody wrote
becomes SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Double,
    Integer,
    Text,
    and_,
    cast,
    false,
    func,
    literal,
    null,
    or_,
)
from sqlalchemy.types import BigInteger

from stanch.storage.content_table_nouns import canonical
from stanch.storage.content_tables_schema import ROWS
from stanch.values.tables import Column, ColumnType, Comparison, Figure, Filter, Sort

Expression = ColumnElement[Any]
_HALF = 1 << 32
_POSTGRESQL_TYPES: dict[ColumnType, Any] = {
    ColumnType.INTEGER: BigInteger(),
    ColumnType.NUMBER: Double(),
    ColumnType.BOOLEAN: Boolean(),
}
_PLAIN = {
    Comparison.LESS: "__lt__",
    Comparison.AT_MOST: "__le__",
    Comparison.MORE: "__gt__",
    Comparison.AT_LEAST: "__ge__",
}


class Cells:
    """Expressions over the cells of a table's rows."""

    def __init__(self, connection: Connection, columns: Sequence[Column]) -> None:
        self._postgresql, self._columns = connection.dialect.name == "postgresql", columns

    def fits(self, one: Filter) -> Expression:
        """True for rows that a filter lets through."""
        kind, how = self._columns[one.column].type, one.how
        cell = self._typed(one.column)
        match how:
            case Comparison.IS_NULL:
                absent = self._text(one.column).is_(None)
                return absent if one.value else ~absent
            case Comparison.EQUAL:
                return cell == self._bound(kind, one.value)
            case Comparison.DIFFERENT:
                return cell.is_distinct_from(self._bound(kind, one.value))
            case Comparison.IN:
                return or_(false(), *(cell == self._bound(kind, value) for value in one.value))
            case Comparison.CONTAINS:
                return self._holds(self._shown(one.column), one.value)
            case _:
                compared: Expression = getattr(cell, _PLAIN[how])(self._bound(kind, one.value))
                return compared

    def found(self, words: str) -> Expression:
        """True for rows in any of whose cells these words stand, whichever way ASCII letters are written."""
        wanted = _small(words)
        each = (self._holds(func.lower(self._shown(place)), wanted) for place in range(len(self._columns)))
        return or_(false(), *each)

    def order(self, sort: Sequence[Sort]) -> list[Expression]:
        """The order, which ends with the row's id."""
        keys = [self._typed(one.column) for one in sort]
        ways = [(key.desc() if one.descending else key.asc()).nulls_last() for key, one in zip(keys, sort, strict=True)]
        return [*ways, ROWS.c.id.asc()]

    def behind(self, sort: Sequence[Sort], cells: Sequence[Any], row_id: int) -> Expression:
        """True for rows that come later in this order than the one with these cells and this id."""
        ways: list[Expression] = []
        equal: list[Expression] = []
        for one in sort:
            key, value = self._typed(one.column), cells[one.column]
            if value is None:
                equal.append(key.is_(None))
                continue
            bound = self._bound(self._columns[one.column].type, value)
            later = key < bound if one.descending else key > bound
            ways.append(and_(*equal, or_(later, key.is_(None))))
            equal.append(key == bound)
        ways.append(and_(*equal, ROWS.c.id > row_id))
        return or_(*ways)

    def figures(self, figure: Figure, place: int | None) -> list[Expression]:
        """The expressions that a figure is made of; `figure_of` makes it."""
        if place is None:
            return [func.count()]
        cell = self._typed(place)
        if figure is Figure.COUNT:
            return [func.count(self._text(place))]
        whole = self._columns[place].type is ColumnType.INTEGER
        match figure:
            case Figure.MIN:
                return [func.min(cell)]
            case Figure.MAX:
                return [func.max(cell)]
            case _ if whole:
                # WHY in halves: a sum of whole numbers may have more bits than SQLite has.
                half = literal(_HALF, BigInteger())
                return [func.sum(cell.op("/")(half)), func.sum(cell.op("%")(half)), func.count(cell)]
            case _:
                return [func.sum(cell), func.count(cell)]

    def _text(self, place: int) -> Expression:
        """The cell's own text, or number; null where it holds nothing. Of what is nested, the JSON."""
        if self._postgresql:
            return cast(ROWS.c.cells, _json()).op("->>", return_type=Text())(literal(place, Integer()))
        return func.json_extract(ROWS.c.cells, f"$[{place}]")

    def _raw(self, place: int) -> Expression:
        """The cell as JSON text, null where it holds nothing."""
        raw: Expression
        if self._postgresql:
            raw = cast(cast(ROWS.c.cells, _json()).op("->")(literal(place, Integer())), Text())
        else:
            raw = ROWS.c.cells.op("->", return_type=Text())(f"$[{place}]")
        return func.nullif(raw, "null", type_=Text())

    def _typed(self, place: int) -> Expression:
        """The cell as something that compares like its column's type."""
        kind = self._columns[place].type
        if kind is ColumnType.JSON:
            return self._bytewise(self._raw(place))
        text = self._text(place)
        if not self._postgresql:
            return text
        return cast(text, _POSTGRESQL_TYPES[kind]) if kind in _POSTGRESQL_TYPES else self._bytewise(text)

    def _shown(self, place: int) -> Expression:
        """The cell as text, in which something may be looked for."""
        kind = self._columns[place].type
        if kind in (ColumnType.TEXT, ColumnType.DATE, ColumnType.DATETIME):
            return self._bytewise(self._text(place))
        return self._bytewise(self._raw(place))

    def _bytewise(self, text: Expression) -> Expression:
        return text.collate("C") if self._postgresql else text

    def _holds(self, text: Expression, words: str) -> Expression:
        found = func.strpos(text, words) if self._postgresql else func.instr(text, words)
        return found > 0

    def _bound(self, kind: ColumnType, value: Any) -> Expression:
        if value is None:
            return null()
        match kind:
            case ColumnType.JSON:
                return literal(canonical(value), Text())
            case ColumnType.INTEGER:
                return literal(value, BigInteger())
            case ColumnType.NUMBER:
                return literal(float(value) if self._postgresql else value, Double())
            case ColumnType.BOOLEAN:
                return literal(value, Boolean()) if self._postgresql else literal(int(value), Integer())
            case _:
                return literal(value, Text())


def figure_of(figure: Figure, kind: ColumnType | None, found: Sequence[Any]) -> Any:
    """What a figure is, of what its expressions gave; None over no cell at all."""
    if figure in (Figure.COUNT, Figure.MIN, Figure.MAX) or kind is None:
        return found[0]
    *parts, count = found
    if not count:
        return None
    total = int(parts[0]) * _HALF + int(parts[1]) if kind is ColumnType.INTEGER else parts[0]
    return total if figure is Figure.SUM else total / count


def _small(words: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in words)


def _json() -> Any:
    from sqlalchemy.dialects.postgresql import JSON

    return JSON()
