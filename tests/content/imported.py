"""Files to import, and how they are imported: what the tests of imports share."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

import openpyxl

from stanch.content.access import Access
from stanch.content.imports import ImportShown, ImportUpload, import_upload
from stanch.content.table_rows import PageOfRows, rows_of_table


def upload(access: Access, table: str, name: str, data: bytes | str, **more: Any) -> ImportShown:
    """What comes of importing these bytes."""
    raw = data.encode() if isinstance(data, str) else data
    return sent(access, table, name, io.BytesIO(raw), **more)


def sent(access: Access, table: str, name: str, body: BinaryIO, **more: Any) -> ImportShown:
    """What comes of importing a file that is open. Its digest is for a person who is asked, and nobody is."""
    asked = ImportUpload(table=table, name=name, digest="0" * 64, size=0, body=body, **more)
    return import_upload(access, asked)


def rows(access: Access, table: str) -> list[dict[str, Any]]:
    """The cells of all rows of a small table."""
    page = rows_of_table(access, PageOfRows(table=table, limit=500))
    assert page.next is None
    return [row.values for row in page.items]


def workbook(*sheets: Iterable[Sequence[Any]]) -> bytes:
    """A workbook with these sheets."""
    book = openpyxl.Workbook()
    for at, sheet in enumerate(sheets):
        made = book.worksheets[0] if at == 0 else book.create_sheet(f"S{at}")
        for row in sheet:
            made.append(list(row))
    kept = io.BytesIO()
    book.save(kept)
    return kept.getvalue()
