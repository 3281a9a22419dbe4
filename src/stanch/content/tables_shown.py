"""What operations on tables give and are asked, in the words that several of them share.

Settles shapes, and under which names columns are shown. Does not settle what is withheld (`delivery.admit`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from stanch.content.access import Access
from stanch.content.left_out import LeavesOut, Left
from stanch.content.table_known import Rows, table_source
from stanch.delivery.admit import Window, admit_content, redact_before_cutting
from stanch.delivery.operation import Given
from stanch.secrets.budget import Withheld
from stanch.values.fault import BadFields
from stanch.values.reason import Code
from stanch.values.tables import LONGEST_NAME, BrokenCells, ColumnType, RowRecord, TableRecord

TableName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, description="A table, by its name or its id.")]
RowId = Annotated[int, Field(ge=1, lt=1 << 63, description="A row, by its id.")]
ColumnName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class ColumnShown(Given):
    """A column."""

    name: str
    type: ColumnType


class TableShown(Given):
    """A table without its rows. `columns` are named by their numbers, `column_1`, where the names are withheld."""

    id: str
    name: str
    owner: str | None
    columns: tuple[ColumnShown, ...]
    rows: int
    created_at: datetime
    changed_at: datetime


class RowShown(Given):
    """A row: its cells by the names of their columns."""

    id: int
    version: int
    values: dict[str, Any]


class BrokenShown(Given):
    """A row that is there and cannot be read."""

    id: int
    problem: str


class TablesPage(LeavesOut):
    """A page of tables."""

    items: tuple[TableShown, ...]
    total: int
    next: str | None


class RowsShown(LeavesOut):
    """A page of rows."""

    table: str
    columns: tuple[ColumnShown, ...]
    items: tuple[RowShown, ...]
    broken: tuple[BrokenShown, ...] = ()
    total: int
    next: str | None


def found_table(access: Access, named: str) -> TableRecord:
    """The table that is meant, where the caller sees it. Raises `NotFound`."""
    return access.stores.find_table(named, access.person)


def shown_columns(access: Access, table: TableRecord) -> tuple[ColumnShown, ...]:
    """The columns under the names that the caller may have: `column_1` and so on where theirs are withheld."""
    (admission,) = admit_content(access.delivery, [table_source(access, table)])
    if not admission.admitted:
        return tuple(ColumnShown(name=numbered(place), type=one.type) for place, one in enumerate(table.columns))
    return tuple(
        ColumnShown(name=name, type=one.type) for name, one in zip(_names(access, table), table.columns, strict=True)
    )


def numbered(place: int) -> str:
    """What a column is called whose name is withheld."""
    return f"column_{place + 1}"


def place_of(access: Access, table: TableRecord, columns: Sequence[ColumnShown], name: str, field: str) -> int:
    """The place of the column that is meant: by its name, or by the one that it is shown under. Raises `BadFields`."""
    for place, shown in enumerate(columns):
        if shown.name == name:
            return place
    # WHY not the real name where another is shown: an answer would tell whether a guess is right.
    if not access.delivery.classified:
        for place, column in enumerate(table.columns):
            if column.name == name:
                return place
    raise BadFields((field, f"'{field}' must name a column of the table"))


def given_rows(
    access: Access,
    table: TableRecord,
    rows: Sequence[RowRecord],
    columns: Sequence[ColumnShown],
    *,
    left: Left,
    places: Sequence[int] | None = None,
) -> tuple[RowShown, ...]:
    """The rows that the caller may have, with the cells at these places; the others are counted in `left`."""
    known = Rows(access, table, rows)
    admissions = admit_content(access.delivery, [known.part(row, places) for row in rows])
    wanted = range(len(columns)) if places is None else places
    items: list[RowShown] = []
    for row, passes in zip(rows, left.admitted(admissions), strict=True):
        if not passes:
            continue
        cells = known.cells(row)
        shown = RowShown(id=row.id, version=row.version, values={columns[at].name: cells[at] for at in wanted})
        if can_leave(access, shown.values):
            items.append(shown)
        else:
            left.out(Code.CONTENT_UNSCANNED)
    return tuple(items)


def can_leave(access: Access, value: Any) -> bool:
    """False for a value that nothing can be taken out of, so that it would take the whole page with it."""
    if not access.delivery.classified or access.delivery.gate is None:
        return True
    try:
        access.delivery.gate.projector().structure(value)
    except Withheld:
        return False
    return True


def broken_rows(rows: Iterable[BrokenCells]) -> tuple[BrokenShown, ...]:
    """Rows that cannot be read, named."""
    return tuple(BrokenShown(id=one.id, problem=one.problem) for one in rows)


def table_shown(table: TableRecord, columns: Sequence[ColumnShown], rows: int) -> TableShown:
    """A table as it is told."""
    return TableShown(
        id=table.id,
        name=table.name,
        owner=table.owner,
        columns=tuple(columns),
        rows=rows,
        created_at=table.created_at,
        changed_at=table.changed_at,
    )


def _names(access: Access, table: TableRecord) -> list[str]:
    """The columns' names, without secrets; two that read the same then are told apart by a number."""
    names = [redact_before_cutting(access.delivery, one.name, Window()) for one in table.columns]
    seen: set[str] = set()
    for place, name in enumerate(names):
        names[place] = name if name not in seen else f"{name} #{place + 1}"
        seen.add(names[place])
    return names
