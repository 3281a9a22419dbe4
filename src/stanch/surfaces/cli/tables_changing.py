"""Commands of `stanch tables` that change something: create, insert, update, rm.

Settles how rows are read from a file or standard input. Does not settle how cells are written (`tables_asked`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_client import SessionOption, content_client
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.cli.tables_asked import TABLES, RowsArgument, TableArgument, cell, column, place, said
from stanch.values.fault import BadInput

MOST_BYTES = 1 << 20


def create(  # noqa: PLR0917 - typer calls it by name
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the table is called.")],
    columns: Annotated[
        list[str],
        typer.Argument(
            metavar="COLUMN[:TYPE]", help="Types: text, integer, number, boolean, date, datetime, json; else text."
        ),
    ],
    personal: Annotated[bool, typer.Option("--personal", help="The table is yours alone.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a table."""
    asked = said(name=name, columns=[column(one) for one in columns], personal=personal)
    # What a person is asked about has no defaults in it, and text is one.
    bare = [{key: one[key] for key in one if (key, one[key]) != ("type", "text")} for one in asked["columns"]]
    made = content_client(url, token, data, session).json(
        "POST", TABLES, tool="tables_create", arguments={**asked, "columns": bare}, body=asked
    )
    terminal.out_json(made) if as_json else terminal.out(made["id"])


def insert(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="JSON; without it, standard input.", show_default=False)
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add up to 500 rows: a JSON object, a list of them, or one in each line. `import` takes more."""
    asked = {"rows": _rows(_read(file))}
    done = content_client(url, token, data, session).json(
        "POST", place(table, "rows"), tool="tables_insert", arguments={"table": table, **asked}, body=asked
    )
    _told(done, "added", as_json)


def update(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    row: Annotated[int, typer.Argument(metavar="ROW", min=1, help="The row, by its id.")],
    cells: Annotated[list[str], typer.Argument(metavar="COLUMN=TEXT", help="COLUMN:=JSON for all but texts.")],
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", min=1, help="Only if it is of this version still.")
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change cells of a row; the others stay as they are."""
    asked = {"rows": [{"row": row, "values": dict(map(cell, cells)), **said(version=version)}]}
    done = content_client(url, token, data, session).json(
        "PATCH", place(table, "rows"), tool="tables_update", arguments={"table": table, **asked}, body=asked
    )
    _told(done, "changed", as_json)


def remove(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    row: RowsArgument = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove rows by their ids, or the table with all of its rows where none are named."""
    client = content_client(url, token, data, session)
    if row:
        asked: dict[str, Any] = {"rows": row}
        path = place(table, "rows", "delete")
        arguments = {"table": table, **asked}
        done = client.json("POST", path, tool="tables_delete", arguments=arguments, body=asked)
    else:
        done = client.json("DELETE", place(table), tool="tables_delete", arguments={"table": table})
    if as_json:
        terminal.out_json(done)
    else:
        count = f"{done['rows']:,} row{'' if done['rows'] == 1 else 's'}"
        terminal.out(f"the table and its {count} removed" if done["whole"] else f"{count} removed")


def _told(done: Any, what: str, as_json: bool) -> None:
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(f"{what}: {', '.join(str(one['id']) for one in done['items'])}")


def _read(file: Path | None) -> str:
    try:
        if file is None:
            if sys.stdin.isatty():
                raise BadInput("standard input is a terminal; name a file")
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with file.open("rb") as opened:
                raw = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"the rows cannot be read: {(error.strerror or 'unknown').lower()}") from None
    if len(raw) > MOST_BYTES:
        raise BadInput("that is too much at once; `stanch tables import` takes more")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("the rows are no text in UTF-8") from None


def _rows(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except ValueError:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise BadInput("the rows must be JSON: an object, a list of objects, or one in each line") from None
    rows = found if isinstance(found, list) else [found]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput("the rows must be JSON: an object, a list of objects, or one in each line")
    return rows
