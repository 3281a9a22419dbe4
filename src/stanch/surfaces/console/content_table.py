"""`/console/content/tables`: the tables, and one table with a page of its rows, or what was found in them.

Settles what of a table a page shows. Does not settle which rows a model gets (`content.tables_shown`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from stanch.content.provenance_told import Of
from stanch.content.table_queries import SearchTable, search_table
from stanch.content.table_rows import PageOfRows, rows_of_table
from stanch.content.tables import ListTables, ReadTable, list_tables, read_table
from stanch.content.tables_shown import RowShown, TableShown
from stanch.surfaces.console.content import search_words, shown_query
from stanch.surfaces.console.content_badges import Badge, Known, known_of, later, one_of
from stanch.surfaces.console.content_reach import Reach, made
from stanch.surfaces.console.content_text import cell, marked
from stanch.surfaces.console.guard import Asked

MOST_TABLES = 40
MOST_ROWS = 25
MOST_COLUMNS = 40
LONGEST_CELL = 300
LOOKED_THROUGH = 2_000
AT_ONCE = 200


class Listed(NamedTuple):
    """A table in the list."""

    table: TableShown
    name: str
    columns: str
    address: str
    badge: Badge


class Row(NamedTuple):
    """A row: the cells that a model gets, None with why where it gets none; and the cells as they are."""

    id: int
    badge: Badge
    got: Sequence[Markup] | None
    why: str
    stored: Sequence[str] | None


class Found(NamedTuple):
    """A place in which something was found; the text around it as a model gets it, None where it gets none."""

    row: int
    column: str
    text: Markup | None
    badge: Badge


def listed(asked: Asked) -> Response:
    """The tables, oldest first, or those whose name holds some words."""
    reach = Reach(asked)
    query = search_words(reach)
    items, total, following = _tables(reach, query)
    return asked.page(
        "content_tables.html.j2",
        at="content",
        wide=True,
        tab="tables",
        query=shown_query(reach, query),
        searched=bool(query),
        rows=[_listed(reach, one) for one in items],
        total=total,
        further="" if following is None else reach.address("/tables", cursor=following),
    )


def _tables(reach: Reach, query: str) -> tuple[Sequence[TableShown], int, str | None]:
    if not query:
        page = reach.asks(list_tables, made(ListTables, limit=MOST_TABLES, cursor=reach.get("cursor") or None))
        return page.items, page.total, page.next
    found: list[TableShown] = []
    cursor, looked = None, 0
    while looked < LOOKED_THROUGH:
        page = reach.asks(list_tables, made(ListTables, limit=AT_ONCE, cursor=cursor))
        looked += len(page.items)
        found += [one for one in page.items if query.casefold() in one.name.casefold()]
        cursor = page.next
        if cursor is None:
            break
    return found[:MOST_TABLES], len(found), None


def _listed(reach: Reach, one: TableShown) -> Listed:
    names = ", ".join(column.name for column in one.columns[:8])
    columns = reach.say(f"{names}{', …' if len(one.columns) > 8 else ''}")
    return Listed(one, reach.say(one.name), columns, reach.address("/table", id=one.id), later(reach, Of.TABLE, one.id))


def page(asked: Asked) -> Response:
    """One table: a page of its rows, or of the places in which words were found."""
    reach = Reach(asked)
    table = reach.asks(read_table, made(ReadTable, table=reach.get("id")))
    query, cursor = search_words(reach), reach.get("cursor") or None
    values = _places(reach, table, query, cursor) if query else _rows(reach, table, cursor)
    here = {"id": table.id, "cursor": cursor, "q": query}
    return asked.page(
        "content_table.html.j2",
        at="content",
        wide=True,
        table=table,
        name=reach.say(table.name),
        known=one_of(reach, Of.TABLE, table.id),
        query=shown_query(reach, query),
        searched=bool(query),
        first=reach.address("/table", id=table.id),
        raw=reach.raw,
        here={
            "redacted": reach.address("/table", **here),
            "raw": reach.address("/table", **here, raw=1),
            "download": reach.address("/download", kind="table", id=table.id),
        },
        **values,
    )


def _rows(reach: Reach, table: TableShown, cursor: str | None) -> dict[str, Any]:
    arguments = made(PageOfRows, table=table.id, limit=MOST_ROWS, cursor=cursor)
    whole, shown = reach.asks(rows_of_table, arguments), reach.as_model(rows_of_table, arguments)
    given = {one["id"]: one["values"] for one in shown["items"]}
    known = _known(reach, table.id, [one.id for one in whole.items])
    names = [one["name"] for one in shown["columns"]]
    following = whole.next
    return {
        "columns": [
            {"name": name, "type": one.type.value}
            for name, one in zip(names[:MOST_COLUMNS], table.columns[:MOST_COLUMNS], strict=True)
        ],
        "left_columns": max(0, len(names) - MOST_COLUMNS),
        "rows": [_row(reach, one, known.get(one.id), given.get(one.id)) for one in whole.items],
        "broken": whole.broken,
        "total": whole.total,
        "places": [],
        "further": ""
        if following is None
        else reach.address("/table", id=table.id, cursor=following, raw=reach.asked.get("raw")),
    }


def _row(reach: Reach, row: RowShown, known: Known | None, given: Mapping[str, Any] | None) -> Row:
    cells = None if given is None else [_cut_marked(cell(one)) for one in list(given.values())[:MOST_COLUMNS]]
    as_it_is = [_cut(cell(one)) for one in list(row.values.values())[:MOST_COLUMNS]] if reach.raw else None
    return Row(row.id, _badge(known), cells, "" if given is not None else _why(known), as_it_is)


def _places(reach: Reach, table: TableShown, query: str, cursor: str | None) -> dict[str, Any]:
    arguments = made(SearchTable, table=table.id, query=query, limit=MOST_ROWS, cursor=cursor)
    shown = reach.as_model(search_table, arguments)
    known = _known(reach, table.id, list(dict.fromkeys(one["row"] for one in shown["items"])))
    return {
        "columns": [],
        "left_columns": 0,
        "rows": [],
        "broken": [],
        "total": shown["total"],
        "places": [
            Found(
                one["row"],
                one["column"],
                None if one["value"] is None else _cut_marked(one["value"]),
                _badge(known.get(one["row"])),
            )
            for one in shown["items"]
        ],
        "further": "" if shown["next"] is None else reach.address("/table", id=table.id, q=query, cursor=shown["next"]),
    }


def _known(reach: Reach, table_id: str, rows: Sequence[int]) -> dict[int, Known]:
    if not rows:
        return {}
    found = known_of(reach, Of.ROW, [f"{table_id}/{one}" for one in rows])
    return {int(name.rpartition("/")[2]): known for name, known in found.items()}


def _badge(known: Known | None) -> Badge:
    return Badge("none", "–", "gone") if known is None else known.badge


def _why(known: Known | None) -> str:
    says = "" if known is None else known.text_says
    return says if says.startswith("withheld") else "withheld: it could not be looked through"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_CELL else f"{line[:LONGEST_CELL]}…"


def _cut_marked(text: str) -> Markup:
    return marked(_cut(text))
