"""Operations that import rows into a table, from a workspace file or from an upload, and say how far one has come.

Settles that an import is whole or leaves nothing. Does not settle how a file is read (`import_files`, `import_books`),
how its columns meet those of the table (`import_columns`), nor what is known of its rows (`import_checks`).
"""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Annotated, Any, BinaryIO

from pydantic import Field

from stanch.content.access import Access, Knowing
from stanch.content.file_items import PathText, file_at, known_of
from stanch.content.import_books import ParquetRows, XlsxRows, raw_is_clean
from stanch.content.import_checks import Checking, Parsed
from stanch.content.import_columns import row_maker
from stanch.content.import_files import CsvRows, ImportForm, JsonRows, RowsOfFile, bad_file
from stanch.content.table_cells import BadCell
from stanch.content.table_known import kept_of_row
from stanch.content.tables import checked_columns, checked_name, kept_of_table, owner_of
from stanch.content.tables_shown import TableName, found_table
from stanch.delivery.admit import observe_content_outside_model
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.provenance.states import Provenance
from stanch.values.fault import BadFields, BadInput, Fault, NotFound
from stanch.values.tables import Column, ColumnType, ImportRecord, ImportState, RowDraft, TableRecord

ROWS_AT_ONCE, CHARACTERS_AT_ONCE = 5_000, 4 << 20
WHY_OUTSIDE = "the rows of an import carry what is known of its file; none of them is returned"
ImportId = Annotated[str, Field(pattern=r"^[0-9a-f]{16,64}$", description="An id of one's own choice, in hexadecimal.")]
_FORMS = {
    ".csv": ImportForm.CSV,
    ".txt": ImportForm.CSV,
    ".tsv": ImportForm.TSV,
    ".tab": ImportForm.TSV,
    ".json": ImportForm.JSON,
    ".jsonl": ImportForm.JSON,
    ".ndjson": ImportForm.JSON,
    ".xlsx": ImportForm.XLSX,
    ".xlsm": ImportForm.XLSX,
    ".parquet": ImportForm.PARQUET,
}


class OnError(StrEnum):
    """What becomes of a cell that does not fit its column."""

    FAIL = "fail"  # nothing is imported
    NULL = "null"  # it holds nothing


class Options(Asked):
    """How a file is imported. `create`: the table is made where there is none, its columns being those of the file.

    `types` are those of columns that are made, by name; others are text, or what the file says they are.
    """

    form: ImportForm | None = None
    on_error: OnError = OnError.FAIL
    delimiter: Annotated[str | None, Field(min_length=1, max_length=1)] = None
    sheet: Annotated[str | None, Field(max_length=200)] = None
    create: bool = False
    personal: bool = False
    types: dict[str, ColumnType] = Field(default_factory=dict)
    import_id: ImportId | None = None


class StoredFile(Options):
    """Which file of the workspace is imported."""

    path: PathText


class ImportFile(StoredFile):
    """Which file of the workspace is imported, into which table."""

    table: TableName


class ImportUpload(Options):
    """A file that is sent along, and the table that it is imported into. `name` says its form by its ending.

    `digest` and `size` are those of its bytes: a person who is asked says yes to these bytes.
    """

    table: TableName
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]
    name: Annotated[str, Field(max_length=1_024)] = ""
    body: Any = Field(default=None, exclude=True, repr=False)


class ImportAsked(Asked):
    """Which import, into which table."""

    table: TableName
    import_id: ImportId


class ImportShown(Given):
    """An import. `rows` counts those that are in, `done` the bytes that are read, of `of`; `nulled` cells that did not
    fit, and hold nothing.
    """

    id: str
    table: str
    state: ImportState
    rows: int
    done: int
    of: int | None
    nulled: int = 0


@operation("tables_import", ImportFile, tool="tables_import", content_delivery=ContentDelivery.SOURCED)
def import_file(access: Access, asked: ImportFile) -> ImportShown:
    """Import rows into a table from a file of the workspace: CSV, JSON, XLSX or Parquet. All of them, or none."""
    # Before anything is read: no byte of the file is returned, and what is known of it goes into the rows.
    observe_content_outside_model(access.delivery, WHY_OUTSIDE)
    file = file_at(access, asked.path)
    version = access.stores.file_version(file.id, file.version)
    sources = (known_of(access, file, file.version)(),)
    with access.blobs.open(version.digest) as body:
        return _Importing(access, asked, posixpath.basename(file.path), sources).of(body)


@operation("tables_upload", ImportUpload, tool="tables_import", content_delivery=ContentDelivery.SOURCED, in_chat=False)
def import_upload(access: Access, asked: ImportUpload) -> ImportShown:
    """Import rows into a table from a file that is sent along: CSV, JSON, XLSX or Parquet. All of them, or none."""
    observe_content_outside_model(access.delivery, WHY_OUTSIDE)
    return _Importing(access, asked, asked.name, ()).of(asked.body)


@operation("tables_import_state", ImportAsked, tool="tables_list", content_delivery=ContentDelivery.NONE, in_chat=False)
def import_state(access: Access, asked: ImportAsked) -> ImportShown:
    """Say how far an import has come."""
    record = access.stores.import_record(asked.import_id)
    if not access.sees(record.owner) or asked.table not in (record.table_id, record.table_name):
        raise NotFound("import", asked.import_id)
    return _shown(record)


class _Importing:
    """One import."""

    def __init__(
        self, access: Access, asked: ImportFile | ImportUpload, name: str, sources: Sequence[Provenance]
    ) -> None:
        self._access, self._asked, self._name = access, asked, name
        self._known: Knowing = access.writing.over(sources)
        self._id = asked.import_id or secrets.token_hex(12)
        self._nulled = 0

    def of(self, body: BinaryIO) -> ImportShown:
        """Imports all rows of a file. Raises `BadFields`, `NotFound`, `Conflict` and `NotInstalled`."""
        stores = self._access.stores
        stores.clear_tables()
        size = body.seek(0, 2)
        body.seek(0)
        table, file, new = self._table(body, size)
        checking = Checking(self._known, unsaid_is_clean=self._unsaid_is_clean(body, file))
        kept = self._kept(table) if new else None
        stores.begin_table_import(self._id, table, size, kept=kept, new=new)
        with self._taken_back():
            for batch in self._batches(table, file):
                self._put(table, checking.of(batch), file.done(), size)
            self._put(table, checking.of((), last=True), size, size)
            record = stores.finish_import(self._id, table, by=self._access.by)
        self._access.told(size, size)
        return _shown(record, self._nulled)

    def _table(self, body: BinaryIO, size: int) -> tuple[TableRecord, RowsOfFile, bool]:
        """The table that rows go to, the rows of the file, and whether the table is still to be made."""
        asked, access = self._asked, self._access
        try:
            table = found_table(access, asked.table)
        except NotFound:
            if not asked.create:
                raise
        else:
            return table, self._rows(body, size, [one.name for one in table.columns]), False
        name = checked_name(asked.table)
        owner = owner_of(access, personal=asked.personal)
        file = self._rows(body, size, None)
        kinds = file.types or [ColumnType.TEXT] * len(file.header)
        if not set(asked.types) <= set(file.header):
            raise BadFields(("types", "'types' must name columns of the file"))
        named = zip(file.header, kinds, strict=True)
        columns = checked_columns(tuple(Column(one, asked.types.get(one, kind)) for one, kind in named), "file")
        return access.stores.new_table(secrets.token_hex(12), name, columns, owner), file, True

    def _kept(self, table: TableRecord) -> str | None:
        """What is kept beside a new table: its columns are named by the file."""
        provenance = self._known([table.name, *(one.name for one in table.columns)])
        return kept_of_table(self._access, provenance, table.id, table.words)

    def _rows(self, body: BinaryIO, size: int, columns: Sequence[str] | None) -> RowsOfFile:
        asked = self._asked
        form = asked.form or _FORMS.get(posixpath.splitext(self._name)[1].lower())
        match form:
            case ImportForm.CSV | ImportForm.TSV:
                return CsvRows(body, asked.delimiter or ("\t" if form is ImportForm.TSV else ","))
            case ImportForm.JSON:
                return JsonRows(body, columns)
            case ImportForm.XLSX:
                return XlsxRows(body, size, asked.sheet)
            case ImportForm.PARQUET:
                return ParquetRows(body, size)
            case _:
                said = ", ".join(one.value for one in ImportForm)
                raise BadFields(("form", f"'form' must say what the file is, since its name does not: {said}"))

    def _unsaid_is_clean(self, body: BinaryIO, file: RowsOfFile) -> bool:
        return not isinstance(file, XlsxRows) or raw_is_clean(body, self._known)

    def _batches(self, table: TableRecord, file: RowsOfFile) -> Iterator[list[Parsed]]:
        """The rows as they are to be written, some at a time."""
        convert = row_maker(table, file)
        batch: list[Parsed] = []
        size = 0
        for row in file.rows():
            parsed = convert(row, self._bad)
            batch.append(parsed)
            size += len(parsed.written) + len(row.raw or "")
            if len(batch) >= ROWS_AT_ONCE or size >= CHARACTERS_AT_ONCE:
                if self._access.cancelled.is_set():
                    raise BadInput("the import was stopped; nothing of it is stored")
                yield batch
                batch, size = [], 0
        yield batch

    def _bad(self, row: int, place: int, why: BadCell) -> None:
        if self._asked.on_error is OnError.FAIL:
            raise bad_file(f"row {row:,}, column {place + 1}: {why.expected} is expected")
        self._nulled += 1

    def _put(self, table: TableRecord, rows: Iterator[tuple[Parsed, Provenance]], done: int, size: int) -> None:
        settled = list(rows)
        access = self._access
        if settled:
            first = access.stores.reserve_rows(self._id, table.id, len(settled))
            drafts = [
                RowDraft(row.written, kept_of_row(access, known, table.id, first + place, row.written))
                for place, (row, known) in enumerate(settled)
            ]
            access.stores.add_rows(self._id, table.id, first, drafts, done)
        access.told(done, size)

    @contextmanager
    def _taken_back(self) -> Iterator[None]:
        """Leaves nothing behind where the block fails."""
        try:
            yield
        except BaseException:
            with suppress(Fault):
                self._access.stores.fail_import(self._id)
            raise


def _shown(record: ImportRecord, nulled: int = 0) -> ImportShown:
    return ImportShown(
        id=record.id,
        table=record.table_id,
        state=record.state,
        rows=record.rows,
        done=record.done,
        of=record.of,
        nulled=nulled,
    )
