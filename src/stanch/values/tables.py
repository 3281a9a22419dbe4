"""What is kept of tables of content: columns with types, rows of cells, imports under way.

Settles the records. Does not settle which text may stand in which cell (`content.table_cells`), nor how they are kept
(`storage.content_tables`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

MOST_COLUMNS = 1_000
LONGEST_NAME = 200


class ColumnType(StrEnum):
    """What the cells of a column hold, where they hold anything."""

    TEXT = "text"
    INTEGER = "integer"  # of 64 bits
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"  # in UTC
    JSON = "json"


class Comparison(StrEnum):
    """How a filter compares a cell with its value. Text is compared letter by letter, in the order of its bytes."""

    EQUAL = "="
    DIFFERENT = "!="  # true also of a cell that holds nothing
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"
    IN = "in"
    IS_NULL = "is null"


class Figure(StrEnum):
    """What can be made of a column over many rows."""

    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    AVG = "avg"


class ImportState(StrEnum):
    """How far an import has come. Its rows are seen once it is done, and never before."""

    RUNNING = "running"
    DONE = "done"
    FAILING = "failing"  # nobody goes on with it; some of its rows are still to be removed
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Its place among the others never changes, so that cells are found by it."""

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRecord:
    """A table. `words` is its name and columns as canonical JSON: what is known of it is bound to that."""

    id: str
    name: str
    owner: str | None
    columns: tuple[Column, ...]
    created_at: datetime
    changed_at: datetime
    words: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RowRecord:
    """A row. `written` is the canonical JSON of its cells, in the order of the columns; `cells` what it says."""

    id: int
    version: int
    written: str = field(repr=False)
    cells: tuple[Any, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BrokenCells:
    """A row whose cells cannot be read."""

    id: int
    problem: str


@dataclass(frozen=True, slots=True)
class RowsPage:
    """A page of rows: those that can be read, those that cannot, how many there are, and where the next page starts."""

    items: tuple[RowRecord, ...]
    broken: tuple[BrokenCells, ...]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """A comparison with the cells of one column, by its place. `value` has the column's type already."""

    column: int
    how: Comparison
    value: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Sort:
    """An order by one column, by its place. Cells that hold nothing come last either way."""

    column: int
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a table, in which order. Without an order they come as they were added."""

    filters: tuple[Filter, ...] = ()
    sort: tuple[Sort, ...] = ()
    search: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RowDraft:
    """A row to be written: the canonical JSON of its cells, and what is kept of its provenance."""

    written: str = field(repr=False)
    kept: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord:
    """An import. `rows` counts those that are in, `done` how much of the file is read, of `of` bytes."""

    id: str
    table_id: str
    table_name: str
    owner: str | None
    state: ImportState
    rows: int
    done: int
    of: int | None
    created_at: datetime


Figures = Mapping[str, Any]
