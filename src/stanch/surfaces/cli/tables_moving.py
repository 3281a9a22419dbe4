"""Commands of `stanch tables` that move many rows: import and export.

Settles how an import is followed while it runs. Does not settle how bytes go up and come down (`content_client`).
"""

from __future__ import annotations

import hashlib
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption, Refusal, TokenOption, UrlOption
from stanch.surfaces.cli.content_client import ContentClient, SessionOption, content_client
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.cli.tables_asked import TableArgument, column, place, said
from stanch.values.fault import BadInput, Fault

PAUSE = 0.5
BLOCK = 1 << 20


def import_rows(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV, JSON, XLSX or Parquet.")],
    stored: Annotated[bool, typer.Option("--stored", help="FILE is a file of the workspace, on the server.")] = False,
    create: Annotated[bool, typer.Option("--create", help="Make the table where there is none.")] = False,
    kind: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="COLUMN:TYPE", help="The type of a column that is made; repeatable."),
    ] = None,
    personal: Annotated[bool, typer.Option("--personal", help="A table that is made is yours alone.")] = False,
    form: Annotated[
        str | None, typer.Option("--form", metavar="FORM", help="csv, tsv, json, xlsx or parquet; else by the name.")
    ] = None,
    on_error: Annotated[
        str, typer.Option("--on-error", metavar="fail|null", help="Cells that do not fit: import nothing, or null.")
    ] = "fail",
    delimiter: Annotated[str | None, typer.Option("--delimiter", metavar="CHARACTER", help="Of CSV.")] = None,
    sheet: Annotated[str | None, typer.Option("--sheet", metavar="NAME", help="Of a workbook; else the first.")] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import the rows of a file: all of them, or none. Its header names the columns."""
    types = [column(one) for one in kind or ()]
    if not all("type" in one for one in types):
        raise BadInput("--type is written COLUMN:TYPE")
    named = {one["name"]: one["type"] for one in types}
    client = content_client(url, token, data, session)
    asked = said(
        form=form,
        on_error=None if on_error == "fail" else on_error,
        delimiter=delimiter,
        sheet=sheet,
        create=create,
        personal=personal,
        types=named,
        # A model's import is not followed: it would have to be asked for in its session.
        import_id=None if client.session_id else secrets.token_hex(12),
    )
    with _followed(client, table, asked.get("import_id")):
        done = _stored(client, table, file, asked) if stored else _uploaded(client, table, file, asked)
    if as_json:
        terminal.out_json(done)
        return
    nulled = done["nulled"]
    emptied = f"; {nulled:,} cell{'' if nulled == 1 else 's'} did not fit, and now hold nothing" if nulled else ""
    terminal.out(f"{done['rows']:,} row{'' if done['rows'] == 1 else 's'} imported{emptied}")


def export(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    output: Annotated[
        Path | None, typer.Option("--out", "--output", "-o", metavar="FILE", help="Without it: standard output.")
    ] = None,
    form: Annotated[
        str, typer.Option("--form", metavar="csv|jsonl", help="CSV, or a JSON object in each line.")
    ] = "csv",
    formulas: Annotated[
        bool, typer.Option("--formulas", help="Leave texts as they are that a spreadsheet would run.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Write over a file that is there.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
) -> None:
    """Download a table with all of its rows. No model is offered it."""
    client = content_client(url, token, data, session)
    size = client.download(
        place(table, "export"),
        output,
        tool="tables_export",
        arguments={"table": table},
        query={"form": form, **({"formulas": True} if formulas else {})},
        force=force,
    )
    if output is not None:
        terminal.note(f"{size:,} bytes")


def _stored(client: ContentClient, table: str, file: str, asked: dict[str, Any]) -> Any:
    body = {"path": file, **asked}
    path = place(table, "import", "file")
    return client.json("POST", path, tool="tables_import", arguments={"table": table, **body}, body=body)


def _uploaded(client: ContentClient, table: str, file: str, asked: dict[str, Any]) -> Any:
    name = Path(file).name
    try:
        with Path(file).open("rb") as body:
            digest, size = _measured(body)
            query = {**asked, "name": name}
            query["type"] = [f"{one}:{kind}" for one, kind in query.pop("types", {}).items()]
            arguments = {"table": table, "digest": digest, "size": size, "name": name, **asked}
            path = place(table, "import")
            return client.upload("POST", path, body, tool="tables_import", arguments=arguments, query=query)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {(error.strerror or 'unknown').lower()}") from None


def _measured(body: BinaryIO) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while block := body.read(BLOCK):
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


@contextmanager
def _followed(client: ContentClient, table: str, import_id: str | None) -> Iterator[None]:
    """Shows within the block how far the import has come, where a person looks."""
    if import_id is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    over = threading.Event()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("importing", total=None)

        def look() -> None:
            while not over.wait(PAUSE):
                try:
                    found = client.client.get(place(table, "imports", import_id))
                    rows = f"importing, {found['rows']:,} rows"
                    progress.update(task, completed=found["done"], total=found["of"], description=rows)
                except (Fault, Refusal, KeyError, TypeError):
                    continue

        looking = threading.Thread(target=look, name="stanch-import", daemon=True)
        looking.start()
        try:
            yield
        finally:
            over.set()
            looking.join(PAUSE * 4)
