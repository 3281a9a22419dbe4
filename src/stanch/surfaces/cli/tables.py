"""`stanch tables`: tables of content, and what is asked of their rows.

Settles the commands that read. Does not settle those that change something (`tables_changing`), nor import and export
(`tables_moving`), nor which server is asked (`content_client`).
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces.cli import tables_changing, tables_moving, terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_asked import PAGE, CursorOption, LimitOption
from stanch.surfaces.cli.content_client import SessionOption, content_client
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.cli.tables_asked import (
    TABLES,
    RowsArgument,
    TableArgument,
    beside,
    cell_text,
    comparison,
    figure,
    order,
    place,
    said,
    show_rows,
)


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(
        name="tables",
        help="Tables of typed columns: list, read, query, change, import and export them. A running server is asked. "
        "Exit codes: 0 done, 1 refused, not there, or changed meanwhile, 2 it could not be asked.",
        no_args_is_help=True,
    )
    for name, command in (
        ("list", list_tables),
        ("read", read),
        ("rows", rows),
        ("query", query),
        ("search", search),
        ("create", tables_changing.create),
        ("insert", tables_changing.insert),
        ("update", tables_changing.update),
        ("rm", tables_changing.remove),
        ("import", tables_moving.import_rows),
        ("export", tables_moving.export),
    ):
        commands.command(name)(command)
    app.add_typer(commands)


def list_tables(  # noqa: PLR0917 - typer calls it by name
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tables, oldest first."""
    page = content_client(url, token, data, session).json(
        "GET",
        TABLES,
        tool="tables_list",
        arguments=said(limit=None if limit == PAGE else limit, cursor=cursor),
        query={"limit": limit, "cursor": cursor},
    )
    if as_json:
        terminal.out_json(page)
        return
    for one in page["items"]:
        terminal.out(_line(one))
    if not page["items"] and not page["withheld"]:
        terminal.note("there is no table; `stanch tables create` makes one, `stanch tables import --create` another")
        return
    beside(page)


def read(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a table's columns, and how many rows it has."""
    found = content_client(url, token, data, session).json(
        "GET", place(table), tool="tables_read", arguments={"table": table}
    )
    if as_json:
        terminal.out_json(found)
        return
    terminal.out(_line(found))
    for one in found["columns"]:
        terminal.out(f"  {visible(one['name'])}: {one['type']}")


def rows(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    row: RowsArgument = None,
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show rows: those with these ids, else a page of all, in the order in which they were added."""
    client = content_client(url, token, data, session)
    if row:
        asked: dict[str, Any] = {"rows": row}
        page = client.json(
            "POST",
            place(table, "selection"),
            tool="tables_selection",
            arguments={"table": table, **asked},
            body=asked,
        )
    else:
        page = client.json(
            "GET",
            place(table, "rows"),
            tool="tables_rows",
            arguments=said(table=table, limit=None if limit == PAGE else limit, cursor=cursor),
            query={"limit": limit, "cursor": cursor},
        )
    if as_json:
        terminal.out_json(page)
        return
    show_rows(page)
    there = {one["id"] for one in (*page["items"], *page["broken"])}
    lacking = [one for one in row or () if one not in there]
    if lacking and page["items"] and not page["withheld"]:
        terminal.note(f"there is no row {', '.join(map(str, lacking))}")


def query(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COMPARISON",
            help="Such as 'amount >= 10', 'name contains x', 'day is null'; repeatable, and all have to hold. "
            "A value is JSON where it can be read so, else text: write 'code = \"12\"' for a text of digits.",
        ),
    ] = None,
    sort: Annotated[
        list[str] | None, typer.Option("--sort", metavar="[-]COLUMN", help="With '-', largest first; repeatable.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", metavar="COLUMN", help="Only these columns; repeatable.")
    ] = None,
    figures: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="FIGURE", help="count, or sum:, min:, max:, avg: with a column; repeatable."),
    ] = None,
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the rows that fit, in an order, and figures over all of them."""
    asked = said(
        filters=[comparison(one) for one in where or ()],
        sort=[order(one) for one in sort or ()],
        columns=column,
        figures=[figure(one) for one in figures or ()],
        limit=None if limit == PAGE else limit,
        cursor=cursor,
    )
    page = content_client(url, token, data, session).json(
        "POST", place(table, "query"), tool="tables_query", arguments={"table": table, **asked}, body=asked
    )
    if as_json:
        terminal.out_json(page)
        return
    show_rows(page)
    for one in page["figures"]:
        name = one["figure"] if one["column"] is None else f"{one['figure']} of {visible(one['column'])}"
        value = f"withheld ({one['reason']})" if one["withheld"] else cell_text(one["value"])
        terminal.out(f"{name}: {value}")


def search(  # noqa: PLR0917 - typer calls it by name
    table: TableArgument,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="They have to stand in a cell as they are.")],
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find where in a table some words stand."""
    wanted = " ".join(words)
    page = content_client(url, token, data, session).json(
        "GET",
        place(table, "search"),
        tool="tables_search",
        arguments=said(table=table, query=wanted, limit=None if limit == PAGE else limit, cursor=cursor),
        query={"query": wanted, "limit": limit, "cursor": cursor},
    )
    if as_json:
        terminal.out_json(page)
        return
    for one in page["items"]:
        shown = "" if one["value"] is None else f": {cell_text(one['value'])}"
        terminal.out(f"row {one['row']}, {visible(one['column'])}{shown}")
    beside(page)


def _line(one: dict[str, Any]) -> str:
    count = one["rows"]
    whose = "" if one["owner"] is None else f", of {visible(one['owner'])}"
    columns = f"{len(one['columns'])} column{'' if len(one['columns']) == 1 else 's'}"
    return f"{one['id']}  {visible(one['name'])}  {count:,} row{'' if count == 1 else 's'}, {columns}{whose}"
