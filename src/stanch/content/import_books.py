"""Files with types of their own that rows are read from: XLSX and Parquet.

Settles how such a file becomes rows, and of which of its cells nobody can say how the file has them. Does not settle
text files (`content.import_files`).
"""

from __future__ import annotations

import importlib
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO

from stanch.content.access import Knowing
from stanch.content.import_files import RawRow, bad_file
from stanch.content.table_cells import text_of
from stanch.provenance.states import Exact
from stanch.values.fault import NotInstalled
from stanch.values.tables import MOST_COLUMNS, ColumnType

MOST_UNPACKED = 4 << 30
MOST_SHARED = 256 << 20
"""How many bytes the texts of a workbook have, which are all held at once."""
AT_ONCE = 1_000
_BLOCK, _OVERLAP = 4 << 20, 64 << 10
_EXACT_DIGITS = 15


class XlsxRows:
    """The rows of a sheet, whose first row is the header. Of a formula, the value that was last computed counts."""

    types: Sequence[ColumnType] | None = None
    typed = True

    def __init__(self, file: BinaryIO, size: int, sheet: str | None = None) -> None:
        """`sheet` is the first one where it is None. Raises `BadFields`."""
        self._size, self._number, self._file = size, 0, file
        _unpacked(file)
        import openpyxl

        # WHY: what the library warns of holds the values of cells.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"openpyxl\.")
        try:
            self._book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            names = self._book.sheetnames
            found = self._book[names[0] if sheet is None else sheet]
            found.reset_dimensions()
            self._cells = found.iter_rows(values_only=True, max_col=MOST_COLUMNS + 1)
            header = next(self._cells, ())
        except Exception:  # whatever the library meets in a file that is none
            raise bad_file("it is no workbook, or has no such sheet") from None
        while header and header[-1] is None:
            header = header[:-1]
        if not header or any(name is None for name in header):
            raise bad_file("its first row has to name every column")
        self.header: Sequence[str] = [text_of(_shown(name)) for name in header]

    def rows(self) -> Iterator[RawRow]:
        """Every row but the header, and but those in which nothing stands."""
        width = len(self.header)
        while True:
            try:
                cells = next(self._cells)
            except StopIteration:
                return
            except Exception:  # see above
                raise bad_file(f"the sheet cannot be read behind row {self._number:,}") from None
            if all(cell is None for cell in cells):
                continue
            self._number += 1
            if any(cell is not None for cell in cells[width:]):
                raise bad_file(f"row {self._number:,} has more cells than the header")
            row = [*cells[:width], *[None] * (width - len(cells))]
            yield RawRow(self._number, row, _raw(row))

    def done(self) -> int:
        """How many bytes are read: nobody knows, so it is told of as if rows had the same length."""
        return min(self._size, self._number * 64)


class ParquetRows:
    """The rows of a Parquet file."""

    typed = True

    def __init__(self, file: BinaryIO, size: int) -> None:
        """Raises `NotInstalled`, and `BadFields`."""
        try:
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ModuleNotFoundError:
            raise NotInstalled("Parquet files need one more package: pip install 'stanch[parquet]'") from None
        self._size, self._number = size, 0
        try:
            self._parquet = parquet.ParquetFile(file)
            schema = self._parquet.schema_arrow
            self._all = int(self._parquet.metadata.num_rows)
        except Exception:  # whatever the library meets in a file that is none
            raise bad_file("it is no Parquet file") from None
        self.header: Sequence[str] = list(schema.names)
        self.types: Sequence[ColumnType] | None = [_arrow_type(str(field.type)) for field in schema]

    def rows(self) -> Iterator[RawRow]:
        """Every row. Its values are what the file has, with nothing written otherwise."""
        try:
            for batch in self._parquet.iter_batches(batch_size=AT_ONCE):
                columns = [column.to_pylist() for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    self._number += 1
                    yield RawRow(self._number, cells, "\n".join(_text(cell) for cell in cells))
        except (OSError, ValueError, ArithmeticError, NotImplementedError, KeyError):
            raise bad_file(f"it cannot be read behind row {self._number:,}") from None

    def done(self) -> int:
        """How many bytes are read, as far as the rows say."""
        return self._size * self._number // max(1, self._all)


def raw_is_clean(file: BinaryIO, known: Knowing) -> bool:
    """True where no secret occurs in a workbook as it is packed away: then no cell of it had one in another form."""
    try:
        with zipfile.ZipFile(file) as book:
            for name in book.namelist():
                with book.open(name) as part:
                    tail = b""
                    while block := part.read(_BLOCK):
                        found = known(tail + block)
                        if not isinstance(found, Exact) or found.entries:
                            return False
                        tail = block[-_OVERLAP:]
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError):
        return False
    finally:
        file.seek(0)
    return True


def _unpacked(file: BinaryIO) -> None:
    try:
        with zipfile.ZipFile(file) as book:
            sizes = {info.filename: info.file_size for info in book.infolist()}
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        raise bad_file("it is no workbook") from None
    shared = max((size for name, size in sizes.items() if name.lower().endswith("sharedstrings.xml")), default=0)
    if sum(sizes.values()) > MOST_UNPACKED or shared > MOST_SHARED:
        raise bad_file("the workbook is too large to be read; save it as CSV")
    file.seek(0)


def _raw(cells: Sequence[Any]) -> str | None:
    """The cells as the file has them; None where one is kept there in another form than it is read in."""
    for cell in cells:
        if isinstance(cell, datetime | date | time | timedelta):
            return None
        if isinstance(cell, float) and len(f"{cell!r}".strip("-").replace(".", "")) > _EXACT_DIGITS:
            return None
    return "\n".join(_text(cell) for cell in cells)


def _text(cell: Any) -> str:
    if cell is None or isinstance(cell, bool):
        return ""
    return cell if isinstance(cell, str) else str(cell)


def _shown(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | float | bool) else str(cell)


def _arrow_type(name: str) -> ColumnType:
    if name.startswith(("int", "uint")):
        return ColumnType.INTEGER
    if name in ("float", "double", "halffloat"):
        return ColumnType.NUMBER
    if name == "bool":
        return ColumnType.BOOLEAN
    if name.startswith("date"):
        return ColumnType.DATE
    if name.startswith("timestamp"):
        return ColumnType.DATETIME
    nested = name.startswith(("list", "large_list", "fixed_size_list", "struct", "map"))
    return ColumnType.JSON if nested else ColumnType.TEXT
