"""Files that rows are read from: CSV and JSON, one row after another, in bounded memory.

Settles how a text file becomes rows, each with the text that it stood in. Does not settle files with types of their own
(`content.import_books`), nor what a cell may hold (`content.table_cells`).
INVARIANT: what is said of a file that cannot be read names a row, and nothing that stands in it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, BinaryIO, NamedTuple, Protocol

from stanch.content.table_cells import no_number, once
from stanch.values.fault import BadFields
from stanch.values.tables import ColumnType

LONGEST_ROW = 16 << 20
"""How many characters a row has at most."""
_BLOCK = 1 << 20
csv.field_size_limit(LONGEST_ROW)


class ImportForm(StrEnum):
    """The form of a file."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "json"  # one array of objects, or an object in each line
    XLSX = "xlsx"
    PARQUET = "parquet"


class RawRow(NamedTuple):
    """A row of a file: its number, its cells in the order of the header, and the text that it stood in.

    `raw` is None where nobody can say how the file has it.
    """

    number: int
    cells: Sequence[Any]
    raw: str | None


class RowsOfFile(Protocol):
    """The rows of a file. `types` are those that the file itself knows, None for one that knows none.

    `typed`: cells have types; else all are texts.
    """

    header: Sequence[str]
    types: Sequence[ColumnType] | None
    typed: bool

    def rows(self) -> Iterator[RawRow]:
        """Every row, once. Raises `BadFields`."""

    def done(self) -> int:
        """How many bytes of the file are read by now."""


def bad_file(said: str) -> BadFields:
    """The error for a file that cannot be used."""
    return BadFields(("file", f"the file cannot be imported: {said}"))


class _TextOf(io.TextIOWrapper):
    """The text of a file, which stays its opener's to close."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, encoding="utf-8-sig", newline="")

    def close(self) -> None:
        """Leaves the file open."""


class CsvRows:
    """The rows of a CSV file in UTF-8, whose first row is the header."""

    types: Sequence[ColumnType] | None = None
    typed = False

    def __init__(self, file: BinaryIO, delimiter: str = ",") -> None:
        """Raises `BadFields` where there is no header."""
        self._file = file
        self._text = _TextOf(file)
        self._seen: list[str] = []
        self._reader = csv.reader(self._lines(), delimiter=delimiter, strict=True)
        self.header: Sequence[str] = next(self._parsed(0), ())
        if not self.header:
            raise bad_file("it has no header")
        self._seen.clear()

    def rows(self) -> Iterator[RawRow]:
        """Every row but the header; lines without anything are none."""
        width, number, seen = len(self.header), 0, self._seen
        for cells in self._parsed(1):
            raw = seen[0] if len(seen) == 1 else "".join(seen)
            seen.clear()
            if not cells:
                continue
            number += 1
            if len(cells) != width:
                raise bad_file(f"row {number:,} has {len(cells):,} cells, and the header has {width:,}")
            yield RawRow(number, cells, raw)

    def done(self) -> int:
        """How many bytes are read."""
        return self._file.tell()

    def _parsed(self, first: int) -> Iterator[list[str]]:
        number = first
        while True:
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except UnicodeDecodeError:
                raise bad_file(f"it is no text in UTF-8, at or behind row {number:,}") from None
            except csv.Error:
                raise bad_file(f"row {number:,} is no CSV: a quote is not closed, or stands in the middle") from None
            number += 1 if cells else 0
            yield cells

    def _lines(self) -> Iterator[str]:
        size, seen, read = 0, self._seen, self._text.readline
        while line := read(LONGEST_ROW + 1):
            size = len(line) if not seen else size + len(line)
            if size > LONGEST_ROW:
                raise bad_file(f"a row has more than {LONGEST_ROW:,} characters")
            seen.append(line)
            yield line


class JsonRows:
    """The rows of a JSON file: an array of objects, or an object in each line. A key names a column."""

    typed = True
    types: Sequence[ColumnType] | None = None

    def __init__(self, file: BinaryIO, columns: Sequence[str] | None = None) -> None:
        """`columns` are those that a row may have; None: those of the first row. Raises `BadFields`."""
        self._file = file
        self._text = _TextOf(file)
        self._decoder = json.JSONDecoder(object_pairs_hook=once, parse_constant=no_number)
        self._objects = self._read()
        self._held: tuple[dict[str, Any], str] | None = None
        if columns is None:
            self._held = next(self._objects, None)
            if self._held is None:
                raise bad_file("it has no row")
            columns = list(self._held[0])
        self.header: Sequence[str] = columns

    def rows(self) -> Iterator[RawRow]:
        """Every row. A column that one does not have holds nothing in it."""
        known = set(self.header)
        for number, (found, raw) in enumerate(self._all(), 1):
            if not known.issuperset(found):
                raise bad_file(f"row {number:,} has a key that is no column of the table")
            yield RawRow(number, [found.get(name) for name in self.header], raw)

    def done(self) -> int:
        """How many bytes are read."""
        return self._file.tell()

    def _all(self) -> Iterator[tuple[dict[str, Any], str]]:
        if self._held is not None:
            yield self._held
            self._held = None
        yield from self._objects

    def _read(self) -> Iterator[tuple[dict[str, Any], str]]:
        try:
            begin = self._text.read(_BLOCK)
            while begin and not begin.strip():
                begin = self._text.read(_BLOCK)
            yield from self._array(begin) if begin.lstrip().startswith("[") else self._lines(begin)
        except UnicodeDecodeError:
            raise bad_file("it is no text in UTF-8") from None

    def _lines(self, begin: str) -> Iterator[tuple[dict[str, Any], str]]:
        number, rest = 0, begin
        while True:
            lines = rest.split("\n")
            rest = lines.pop()
            for line in lines:
                if line.strip():
                    number += 1
                    yield self._object(line, number), line
            more = self._text.read(_BLOCK)
            if not more:
                break
            rest += more
            self._bounded(rest)
        if rest.strip():
            yield self._object(rest, number + 1), rest

    def _object(self, text: str, number: int) -> dict[str, Any]:
        try:
            found = self._decoder.decode(text)
        except (ValueError, RecursionError):
            raise bad_file(f"row {number:,} is no JSON, or has a key twice") from None
        if not isinstance(found, dict):
            raise bad_file(f"row {number:,} is no object")
        return found

    def _array(self, buffer: str) -> Iterator[tuple[dict[str, Any], str]]:
        """The objects of an array, decoded one by one. `begin` of each text: what stood between it and the last."""
        at, number, ended, between = buffer.index("[") + 1, 0, False, False
        while True:
            start = _skipped(buffer, at)
            if start == len(buffer) and not ended:
                more = self._text.read(_BLOCK)
                buffer, at, ended = buffer[at:] + more, 0, not more
                continue
            letter = buffer[start : start + 1]
            if letter == "]" and (not between or number == 0):
                if buffer[start + 1 :].strip() or self._text.read(_BLOCK).strip():
                    raise bad_file("something stands behind its array")
                return
            if letter == "," and not between and number:
                at, between = start + 1, True
                continue
            if letter != "{" or not (between or not number):
                raise bad_file(f"it is no array of objects, behind row {number:,}")
            try:
                found, stop = self._decoder.raw_decode(buffer, start)
            except (ValueError, RecursionError):
                more = "" if ended else self._text.read(max(_BLOCK, len(buffer) - start))
                if not more:
                    raise bad_file(f"row {number + 1:,} is no JSON, or has a key twice") from None
                buffer, at = buffer[start:] + more, 0
                self._bounded(buffer)
                continue
            number += 1
            yield found, buffer[start:stop]
            at, between = stop, False
            if at > _BLOCK:
                buffer, at = buffer[at:], 0

    @staticmethod
    def _bounded(waiting: str) -> None:
        if len(waiting) > 2 * LONGEST_ROW:
            raise bad_file(f"a row has more than {LONGEST_ROW:,} characters")


def _skipped(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
