"""How the columns of a file meet those of a table.

Settles which column of the file becomes which of the table, and that each cell gets the type of its column. Does not
settle what a cell may hold (`table_cells`), nor what becomes of one that does not fit (`imports`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stanch.content.import_checks import Parsed
from stanch.content.import_files import RawRow, RowsOfFile, bad_file
from stanch.content.table_cells import BadCell, Convert, read, taken
from stanch.storage.content_table_nouns import canonical
from stanch.values.tables import ColumnType, TableRecord

Bad = Callable[[int, int, BadCell], None]
"""Is told of a cell that does not fit: the row's number, the place in the file, what would fit."""


def row_maker(table: TableRecord, file: RowsOfFile) -> Callable[[RawRow, Bad], Parsed]:
    """What makes a row of the table of a row of the file. Raises `BadFields` where their columns do not meet."""
    places = {one.name: place for place, one in enumerate(table.columns)}
    wanted: list[tuple[int, int, Convert]] = []
    for at, name in enumerate(file.header):
        if name not in places:
            raise bad_file(f"its column {at + 1} is none of the table")
        kind = table.columns[places[name]].type
        wanted.append((at, places[name], _typed(kind) if file.typed else read(kind)))
    if len({place for _, place, _ in wanted}) != len(wanted):
        raise bad_file("its header has a name twice")
    width = len(table.columns)

    def convert(row: RawRow, bad: Bad) -> Parsed:
        cells: list[Any] = [None] * width
        gave = row.cells
        for at, place, made in wanted:
            try:
                cells[place] = made(gave[at])
            except BadCell as why:
                bad(row.number, at, why)
        return Parsed(gave, cells, canonical(cells), row.raw)

    return convert


def _typed(kind: ColumnType) -> Convert:
    return lambda value: taken(value, kind)
