"""Tables of content over REST: `/api/tables`.

Settles the routes. Does not settle what an operation does (`content.tables`, `content.imports`, ...).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from stanch.content import table_queries
from stanch.content.file_writing import measured
from stanch.content.import_files import ImportForm
from stanch.content.imports import (
    ImportAsked,
    ImportFile,
    ImportShown,
    ImportUpload,
    OnError,
    StoredFile,
    import_file,
    import_state,
    import_upload,
)
from stanch.content.table_export import ExportForm, ExportTable, export_table
from stanch.content.table_queries import FoundShown, QueryShown, QueryTable, SearchTable, query_table, search_table
from stanch.content.table_rows import (
    ChangedRows,
    InsertRows,
    NewRows,
    OneRow,
    PageOfRows,
    RowIds,
    RowsWritten,
    Selection,
    UpdateRows,
    insert_rows,
    one_row,
    rows_of_table,
    selection,
    update_rows,
)
from stanch.content.tables import (
    CreateTable,
    Deleted,
    DeleteFrom,
    ListTables,
    ReadTable,
    create_table,
    delete_from,
    list_tables,
    read_table,
)
from stanch.content.tables_shown import RowShown, RowsShown, TableShown, TablesPage
from stanch.surfaces.http.content_route import Asks, ContentRoute, as_json, serves, streamed
from stanch.surfaces.http.content_uploads import UploadRoute, received
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit
from stanch.surfaces.http.problems import unprocessable
from stanch.surfaces.http.routers import BODY, guarded
from stanch.values.tables import LONGEST_NAME, ColumnType

ROUTER = guarded("/api/tables", "tables", ContentRoute)
UPLOADING = guarded("/api/tables", "tables", UploadRoute)
TableNamed = Annotated[
    str, Path(min_length=1, max_length=LONGEST_NAME, description="The table, by its name or its id.")
]
RowNumber = Annotated[int, Path(ge=1, lt=1 << 63, description="The row, by its id.")]
ImportIdGiven = Annotated[
    str | None,
    Query(pattern=r"^[0-9a-f]{16,64}$", description="An id of one's own choice, in hexadecimal, to follow the import."),
]
TAKES_BYTES: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}
}


@ROUTER.get("", response_model=TablesPage)
@serves(list_tables)
def list_all(asks: Asks, limit: Limit = 50, cursor: Cursor = None) -> Any:
    """List the tables of the workspace and of the caller, oldest first."""
    return as_json(asks(list_tables, ListTables(limit=limit, cursor=_cursor(cursor))))


@ROUTER.post("", response_model=TableShown, responses=problems(409, *BODY))
@serves(create_table)
def create(body: CreateTable, asks: Asks) -> Any:
    """Make a table of typed columns."""
    return as_json(asks(create_table, body))


@ROUTER.get("/{table}", response_model=TableShown, responses=problems(404))
@serves(read_table)
def read(table: TableNamed, asks: Asks) -> Any:
    """Read a table's columns, and how many rows it has."""
    return as_json(asks(read_table, ReadTable(table=table)))


@ROUTER.delete("/{table}", response_model=Deleted, responses=problems(404))
@serves(delete_from)
def delete(table: TableNamed, asks: Asks) -> Any:
    """Delete a table with all of its rows."""
    return as_json(asks(delete_from, DeleteFrom(table=table)))


@ROUTER.get("/{table}/rows", response_model=RowsShown, responses=problems(404))
@serves(rows_of_table)
def rows(table: TableNamed, asks: Asks, limit: Limit = 50, cursor: Cursor = None) -> Any:
    """Read a page of rows, in the order in which they were added."""
    return as_json(asks(rows_of_table, PageOfRows(table=table, limit=limit, cursor=_cursor(cursor))))


@ROUTER.get("/{table}/rows/{row}", response_model=RowShown, responses=problems(404))
@serves(one_row)
def row(table: TableNamed, row: RowNumber, asks: Asks) -> Any:
    """Read one row."""
    return as_json(asks(one_row, OneRow(table=table, row=row)))


@ROUTER.post("/{table}/rows", response_model=RowsWritten, responses=problems(404, *BODY))
@serves(insert_rows)
def insert(table: TableNamed, body: NewRows, asks: Asks) -> Any:
    """Add rows: all of them, or none."""
    return as_json(asks(insert_rows, InsertRows(table=table, rows=body.rows)))


@ROUTER.patch("/{table}/rows", response_model=RowsWritten, responses=problems(404, 409, *BODY))
@serves(update_rows)
def update(table: TableNamed, body: ChangedRows, asks: Asks) -> Any:
    """Change cells of rows: all of the rows, or none."""
    return as_json(asks(update_rows, UpdateRows(table=table, rows=body.rows)))


@ROUTER.post("/{table}/rows/delete", response_model=Deleted, responses=problems(404, *BODY))
@serves(delete_from)
def delete_rows(table: TableNamed, body: RowIds, asks: Asks) -> Any:
    """Delete rows by their ids; those that are not there are not counted."""
    return as_json(asks(delete_from, DeleteFrom(table=table, rows=body.rows)))


@ROUTER.post("/{table}/selection", response_model=RowsShown, responses=problems(404, *BODY))
@serves(selection)
def select(table: TableNamed, body: RowIds, asks: Asks) -> Any:
    """Read rows by their ids; those that are not there are left out."""
    return as_json(asks(selection, Selection(table=table, rows=body.rows)))


@ROUTER.post("/{table}/query", response_model=QueryShown, responses=problems(404, *BODY))
@serves(query_table)
def query(table: TableNamed, body: table_queries.Query, asks: Asks) -> Any:
    """Ask for rows by filters, in an order, with figures over all that fit."""
    return as_json(asks(query_table, QueryTable(table=table, **dict(body))))


@ROUTER.get("/{table}/search", response_model=FoundShown, responses=problems(404))
@serves(search_table)
def search(
    table: TableNamed,
    asks: Asks,
    query: Annotated[str, Query(min_length=1, max_length=1_000)],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Any:
    """Find where in the rows some words stand."""
    return as_json(asks(search_table, SearchTable(table=table, query=query, limit=limit, cursor=_cursor(cursor))))


@ROUTER.get(
    "/{table}/export",
    response_class=StreamingResponse,
    responses={**problems(404), 200: {"content": {"text/csv": {}, "application/x-ndjson": {}}}},
)
@serves(export_table)
def export(
    table: TableNamed,
    asks: Asks,
    form: ExportForm = ExportForm.CSV,
    formulas: Annotated[bool, Query(description="Leave texts as they are that a spreadsheet would run.")] = False,
) -> Any:
    """Download a table with all of its rows. No model is offered it."""
    return streamed(asks(export_table, ExportTable(table=table, form=form, formulas=formulas)))


@UPLOADING.post(
    "/{table}/import",
    response_model=ImportShown,
    responses=problems(404, 409, *BODY),
    openapi_extra=TAKES_BYTES,
)
@serves(import_upload)
async def upload(  # noqa: PLR0917 - FastAPI calls it by name
    table: TableNamed,
    request: Request,
    asks: Asks,
    name: Annotated[str, Query(max_length=1_024, description="The file's name, whose ending says its form.")] = "",
    form: Annotated[ImportForm | None, Query(description="Its form, where the name does not say it.")] = None,
    on_error: Annotated[OnError, Query(description="What becomes of a cell that does not fit.")] = OnError.FAIL,
    delimiter: Annotated[str | None, Query(min_length=1, max_length=1)] = None,
    sheet: Annotated[str | None, Query(max_length=200, description="Of a workbook; else the first.")] = None,
    create: Annotated[bool, Query(description="Make the table where there is none.")] = False,
    personal: Annotated[bool, Query(description="A table that is made is the caller's alone.")] = False,
    column_type: Annotated[
        list[str] | None, Query(alias="type", max_length=1_000, description="NAME:TYPE of a column that is made.")
    ] = None,
    import_id: ImportIdGiven = None,
) -> Any:
    """Import the rows of a file, which is the body: CSV, JSON, XLSX or Parquet. It answers when they are in."""
    types = dict(map(_typed, column_type or ()))
    with await received(request) as file:
        blob = await run_in_threadpool(measured, file)
        asked = ImportUpload(
            table=table,
            digest=blob.digest,
            size=blob.size,
            name=name,
            form=form,
            on_error=on_error,
            delimiter=delimiter,
            sheet=sheet,
            create=create,
            personal=personal,
            types=types,
            import_id=import_id,
            body=file,
        )
        return as_json(await run_in_threadpool(asks, import_upload, asked))


@ROUTER.post("/{table}/import/file", response_model=ImportShown, responses=problems(404, 409, *BODY))
@serves(import_file)
def import_stored(table: TableNamed, body: StoredFile, asks: Asks) -> Any:
    """Import the rows of a file of the workspace. It answers when they are in."""
    return as_json(asks(import_file, ImportFile(table=table, **dict(body))))


@ROUTER.get("/{table}/imports/{import_id}", response_model=ImportShown, responses=problems(404))
@serves(import_state)
def followed(table: TableNamed, import_id: Annotated[str, Path(pattern=r"^[0-9a-f]{16,64}$")], asks: Asks) -> Any:
    """Read how far an import has come. Of a table that it makes, the name is what stands before."""
    return as_json(asks(import_state, ImportAsked(table=table, import_id=import_id)))


def _typed(said: str) -> tuple[str, ColumnType]:
    name, _, kind = said.rpartition(":")
    if not name or kind not in set(ColumnType):
        known = ", ".join(ColumnType)
        raise unprocessable([("type", f"'type' must be the name of a column, ':' and one of {known}")])
    return name, ColumnType(kind)


def _cursor(cursor: str | None) -> str | None:
    if cursor is not None and len(cursor) > 4_096:
        raise unprocessable([("cursor", "'cursor' is none that this list has given")])
    return cursor
