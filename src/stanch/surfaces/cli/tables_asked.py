"""Words of the command line that several commands on tables share, and how they become what is asked.

Settles how a comparison, a cell, an order and a figure are written. Does not settle what is done with them (`tables`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.values.fault import BadInput
from stanch.values.tables import ColumnType, Figure

TABLES = "/api/tables"
TableArgument = Annotated[str, typer.Argument(metavar="TABLE", help="The table, by its name or its id.")]
RowsArgument = Annotated[
    list[int] | None, typer.Argument(metavar="ROW", help="Rows, by their ids.", show_default=False)
]
_WORDED = re.compile(r"(?P<column>.+?)\s+(?P<how>contains|in|is null|is not null)(?:\s+(?P<value>.+))?\Z", re.DOTALL)
_SIGNED = re.compile(r"(?P<column>.+?)\s*(?P<how>!=|<=|>=|=|<|>)\s*(?P<value>.*)\Z", re.DOTALL)


def place(table: str, *more: object) -> str:
    """The address of something of a table."""
    return "/".join((TABLES, quote(table, safe=""), *(quote(str(one), safe="") for one in more)))


def said(**arguments: Any) -> dict[str, Any]:
    """The arguments that are no defaults: those are what a person is asked about."""
    return {name: value for name, value in arguments.items() if value not in (None, [], {}, "", False)}


def comparison(written: str) -> dict[str, Any]:
    """A filter of `amount >= 10`, `name contains x`, `state in ["a", "b"]`, `day is null`. Raises `BadInput`."""
    signed, worded = _SIGNED.match(written.strip()), _WORDED.match(written.strip())
    # WHY the first to stand there: a value may hold the sign or word of another comparison.
    found = min((one for one in (signed, worded) if one is not None), key=lambda one: one.start("how"), default=None)
    if found is None:
        raise BadInput("--where must be such as 'amount >= 10', 'name contains x' or 'day is null'")
    column, how, value = found["column"].strip(), found["how"], found["value"]
    if how == "=" and value[:1] in ("=", "<", ">"):
        raise BadInput(f"--where has no '={value[0]}': write =, !=, <, <=, > or >=, and quote a text that begins so")
    if how in ("is null", "is not null"):
        if value is not None:
            raise BadInput(f"--where: nothing stands behind '{how}'")
        return {"column": column, "how": "is null", "value": how == "is null"}
    value = value or ""
    # What a person is asked about has no defaults in it, and '=' is one.
    named = {"column": column} if how == "=" else {"column": column, "how": how}
    return {**named, "value": value if how == "contains" else text_or_json(value)}


def text_or_json(written: str) -> Any:
    """The value that JSON has for it, else the text itself."""
    try:
        return json.loads(written)
    except ValueError:
        return written


def order(written: str) -> dict[str, Any]:
    """An order of `amount`, or `-amount` for the largest first."""
    descending = len(written) > 1 and written.startswith("-")
    return {"column": written[descending:], **({"descending": True} if descending else {})}


def figure(written: str) -> dict[str, Any]:
    """A figure of `count`, or `sum:amount`. Raises `BadInput`."""
    name, _, column = written.partition(":")
    if name not in set(Figure) or (not column and name != Figure.COUNT):
        raise BadInput(f"--figure must be count, or one of {', '.join(Figure)} with ':' and a column")
    return {"figure": name, **({"column": column} if column else {})}


def column(written: str) -> dict[str, str]:
    """A column of `NAME`, which holds text, or `NAME:TYPE`. Raises `BadInput`."""
    name, mark, kind = written.rpartition(":")
    if not mark:
        return {"name": written}
    if kind not in set(ColumnType):
        raise BadInput(f"a column is written NAME:TYPE, the type one of {', '.join(ColumnType)}")
    return {"name": name, "type": kind}


def cell(written: str) -> tuple[str, Any]:
    """A cell of `COLUMN=TEXT`, or `COLUMN:=JSON`. Raises `BadInput`."""
    name, mark, value = written.partition("=")
    if not mark or not name.removesuffix(":"):
        raise BadInput("a cell is written COLUMN=TEXT, or COLUMN:=JSON for all that is no text")
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], json.loads(value)
    except ValueError:
        raise BadInput(f"what stands behind '{visible(name)}=' is no JSON") from None


def cell_text(value: Any) -> str:
    """A cell as a person reads it."""
    if value is None:
        return "-"
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def show_rows(page: Mapping[str, Any]) -> None:
    """Prints rows, each on a line, below the names of their columns."""
    names = [one["name"] for one in page["columns"]]
    terminal.out("\t".join(("id", *map(visible, names))))
    for one in page["items"]:
        terminal.out("\t".join((str(one["id"]), *(cell_text(one["values"].get(name)) for name in names))))
    for one in page["broken"]:
        terminal.note(f"row {one['id']} cannot be read: {one['problem']}")
    beside(page)


def beside(page: Mapping[str, Any]) -> None:
    """Says what a page leaves out, and that there is more."""
    if page["withheld"]:
        reasons = ", ".join(f"{count} {code}" for code, count in page["reasons"].items())
        terminal.note(f"{page['withheld']} may not be shown here: {reasons}")
    if not page["items"] and not page["withheld"] and not page.get("broken"):
        terminal.note("nothing was found")
    if page["next"] is not None:
        terminal.note(f"{page['total']:,} in all; --cursor {page['next']} shows more")
