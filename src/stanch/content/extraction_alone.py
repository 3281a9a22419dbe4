"""The program that takes one document apart: the bytes on standard input, a line of JSON for each part on the output.

Settles what of a PDF, XLSX or DOCX is its text, and the limits that the process sets itself. Does not settle who starts
it (`extraction`). WHY a process: the documents are anybody's, and what reads them was not written for enemies.
INVARIANT: it says nothing but the parts; why there are none is told by its exit code alone.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import zipfile
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, BinaryIO

MOST_CHARACTERS = 16_000_000
MOST_UNPACKED = 512 << 20
MOST_MEMBERS = 10_000
_MEMORY, _CPU, _OUTPUT = 2 << 30, 25, 256 << 20
Named = Iterator[tuple[str, str, str]]


class Cause(StrEnum):
    """Why there is no text."""

    DAMAGED = "damaged"
    ENCRYPTED = "encrypted"
    TOO_MUCH = "too_much"
    TOO_LONG = "too_long"
    NO_TEXT = "no_text"
    CANCELLED = "cancelled"


EXIT_WORDS = {
    20: Cause.DAMAGED,
    21: Cause.ENCRYPTED,
    22: Cause.TOO_MUCH,
    23: Cause.TOO_LONG,
    24: Cause.NO_TEXT,
}
_EXITS = {cause: code for code, cause in EXIT_WORDS.items()}


class Stopped(Exception):
    """There is no text."""

    def __init__(self, cause: Cause) -> None:
        self.cause = cause
        super().__init__(cause.value)


def parts_of(file: BinaryIO) -> Named:
    """The kind, name and text of each part. Raises `Stopped`, and whatever the libraries raise."""
    # WHY first: whoever had the file before may have read ahead, and the place in it is shared.
    file.seek(0)
    head = file.read(5)
    file.seek(0)
    if head.startswith(b"%PDF-"):
        return _pdf(file)
    with zipfile.ZipFile(file) as packed:
        _bounded(packed)
        names = set(packed.namelist())
    file.seek(0)
    if "word/document.xml" in names:
        return _docx(file)
    if "xl/workbook.xml" in names:
        return _xlsx(file)
    raise Stopped(Cause.NO_TEXT)


def _bounded(packed: zipfile.ZipFile) -> None:
    """Refuses what unpacks to too much. WHY by what it says of itself: no more than that is ever unpacked."""
    members = packed.infolist()
    if len(members) > MOST_MEMBERS or sum(member.file_size for member in members) > MOST_UNPACKED:
        raise Stopped(Cause.TOO_MUCH)
    if any(member.flag_bits & 1 for member in members):
        raise Stopped(Cause.ENCRYPTED)


def _pdf(file: BinaryIO) -> Named:
    from pypdf import PdfReader

    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Stopped(Cause.ENCRYPTED)
    for number, page in enumerate(reader.pages, 1):
        yield "page", str(number), page.extract_text()


def _xlsx(file: BinaryIO) -> Named:
    import openpyxl

    if not openpyxl.DEFUSEDXML:
        raise Stopped(Cause.DAMAGED)
    book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        # WHY: what a sheet says of its own size may be a lie, and is then filled with empty cells.
        sheet.reset_dimensions()
        yield "sheet", sheet.title, _lines(_row(row) for row in sheet.iter_rows(values_only=True))


def _row(cells: Iterable[Any]) -> str:
    return "\t".join("" if cell is None else str(cell) for cell in cells).rstrip("\t")


def _lines(lines: Iterable[str]) -> str:
    found: list[str] = []
    left = MOST_CHARACTERS
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            raise Stopped(Cause.TOO_MUCH)
        found.append(line)
    return "\n".join(found)


def _docx(file: BinaryIO) -> Named:
    from docx import Document
    from docx.table import Table

    document = Document(file)

    def lines() -> Iterator[str]:
        edges = [edge for section in document.sections for edge in (section.header, section.footer)]
        for holder in (document, *edges):
            for block in holder.iter_inner_content():
                if isinstance(block, Table):
                    yield from (_row(cell.text for cell in row.cells) for row in block.rows)
                else:
                    yield block.text

    yield "document", "1", _lines(lines())


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU, _CPU))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_OUTPUT, _OUTPUT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    """Reads the one document; returns the exit code."""
    _limited()
    left = MOST_CHARACTERS
    try:
        with os.fdopen(0, "rb", closefd=False) as file:
            for part in parts_of(file):
                left -= len(part[2])
                if left < 0:
                    return _EXITS[Cause.TOO_MUCH]
                print(json.dumps(part))
    except Stopped as why:
        return _EXITS[why.cause]
    except (MemoryError, RecursionError):
        return _EXITS[Cause.TOO_LONG]
    except Exception:  # whatever a library makes of what it cannot read
        return _EXITS[Cause.DAMAGED]
    return 0


if __name__ == "__main__":
    sys.exit(main())
