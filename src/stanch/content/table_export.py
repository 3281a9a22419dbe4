"""The download of a table: CSV, or a JSON object in each line.

Settles the bytes. Does not settle who may have them: no model is offered it.
WHY formulas are disarmed in CSV: a spreadsheet runs a text that begins like one, whoever wrote it into the table.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from stanch.content.access import Access
from stanch.content.streams import Stream
from stanch.content.table_cells import text_of
from stanch.content.tables_shown import TableName, found_table
from stanch.delivery.operation import Asked, operation
from stanch.storage.content_table_nouns import canonical
from stanch.values.tables import TableRecord

BLOCK = 1 << 16
_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


class ExportForm(StrEnum):
    """The form of a download."""

    CSV = "csv"
    JSONL = "jsonl"


class ExportTable(Asked):
    """Which table, in which form. `formulas`: leave texts as they are that a spreadsheet would run."""

    table: TableName
    form: ExportForm = ExportForm.CSV
    formulas: bool = False


@operation("tables_export", ExportTable, tool=None, in_chat=False)
def export_table(access: Access, asked: ExportTable) -> Stream:
    """Download a table with all of its rows."""
    table = found_table(access, asked.table)
    if asked.form is ExportForm.JSONL:
        return Stream(_blocks(_objects(access, table)), f"{table.name}.jsonl", "application/x-ndjson", text=True)
    lines = _lines(access, table, formulas=asked.formulas)
    return Stream(_blocks(lines), f"{table.name}.csv", "text/csv; charset=utf-8", text=True)


def _objects(access: Access, table: TableRecord) -> Iterator[str]:
    for row in access.stores.every_row(table):
        yield canonical({one.name: cell for one, cell in zip(table.columns, row.cells, strict=True)}) + "\n"


def _lines(access: Access, table: TableRecord, *, formulas: bool) -> Iterator[str]:
    def line(cells: list[str]) -> str:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\r\n").writerow(cells)
        return buffer.getvalue()

    shown = str if formulas else _disarmed
    yield line([shown(one.name) for one in table.columns])
    for row in access.stores.every_row(table):
        yield line([_cell(cell, shown) for cell in row.cells])


def _cell(cell: Any, shown: Any) -> str:
    if cell is None:
        return ""
    return str(shown(cell)) if isinstance(cell, str) else text_of(cell)


def _disarmed(text: str) -> str:
    return f"'{text}" if text.startswith(_BEGINNINGS) else text


def _blocks(lines: Iterator[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= BLOCK:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    if waiting:
        yield "".join(waiting).encode()
