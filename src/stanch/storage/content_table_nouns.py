"""From a row of the tables of tables to a record, strictly.

Settles what each column may hold. Does not settle which columns there are (`content_tables_schema`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stanch.storage.content_tables_schema import IMPORTS, TABLES
from stanch.storage.rows import LARGEST_ID, Fields, Noun, Unread
from stanch.values.tables import BrokenCells, Column, ColumnType, ImportRecord, ImportState, RowRecord, TableRecord

COLUMNS = ("id", "name", "owner", "columns", "created_at", "changed_at")
"""What a table's record is made of. WHY its provenance is none of it: it is read where somebody has to know."""

# WHY once: a million rows would each make an encoder.
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def _columns(row: Fields) -> tuple[Column, ...]:
    said = row.json("columns")
    try:
        return tuple(Column(str(name), ColumnType(kind)) for name, kind in said)
    except (TypeError, ValueError):
        raise Unread("columns", "is no list of columns") from None


def _table(row: Fields) -> TableRecord:
    name, columns = row.key("name"), _columns(row)
    return TableRecord(
        id=row.key("id"),
        name=name,
        owner=row.maybe_key("owner"),
        columns=columns,
        created_at=row.moment("created_at"),
        changed_at=row.moment("changed_at"),
        words=table_words(name, columns),
    )


def _import(row: Fields) -> ImportRecord:
    size = row._values["bytes_in_all"]
    return ImportRecord(
        id=row.key("id"),
        table_id=row.key("table_id"),
        table_name=row.key("table_name"),
        owner=row.maybe_key("owner"),
        state=row.word("state", ImportState),
        rows=row.whole("row_count", 0, LARGEST_ID),
        done=row.whole("bytes_done", 0, LARGEST_ID),
        of=None if size is None else row.whole("bytes_in_all", 0, LARGEST_ID),
        created_at=row.moment("created_at"),
    )


TABLE = Noun("table", TABLES, _table)
IMPORT = Noun("import", IMPORTS, _import)


def columns_column(columns: tuple[Column, ...]) -> str:
    """Columns as the column that keeps them."""
    return canonical([[one.name, one.type.value] for one in columns])


def table_words(name: str, columns: tuple[Column, ...]) -> str:
    """A table's name and columns as canonical JSON."""
    return canonical([name, [[one.name, one.type.value] for one in columns]])


def canonical(value: Any) -> str:
    """A value as canonical JSON: the same text for equal values."""
    return _CANONICAL(value)


def row_of(row: Mapping[Any, Any], width: int) -> RowRecord | BrokenCells:
    """The record of a row of cells, or what is wrong with it. `width` counts the columns of its table."""
    fields = Fields(row)
    row_id = row["id"]
    if type(row_id) is not int:
        return BrokenCells(0, "'id' must be a whole number")
    try:
        written = fields.text("cells")
        cells = fields.json("cells")
        version = fields.whole("version", 1)
    except Unread as why:
        return BrokenCells(row_id, str(why))
    if not isinstance(cells, list) or len(cells) != width:
        return BrokenCells(row_id, "'cells' is no list with a cell for each column")
    return RowRecord(row_id, version, written, tuple(cells))
