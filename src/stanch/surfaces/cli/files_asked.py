"""What the commands of `stanch files` are given: a path, a version.

Settles how they become a part of an address. Does not settle what they mean (the server says so).
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from stanch.values.fault import BadInput

PathArgument = Annotated[str, typer.Argument(metavar="PATH", help="The file, such as notes/plan.md.")]
ExpectedOption = Annotated[
    int | None,
    typer.Option(
        "--version", metavar="N", min=0, help="The version that it has now, 0 for none; any other is a conflict."
    ),
]


def given(**fields: Any) -> dict[str, Any]:
    """Those that were given: neither None nor empty."""
    return {name: value for name, value in fields.items() if value is not None and value != ""}


def at(path: str) -> str:
    """A path as a part of an address. Raises `BadInput` for none."""
    if not path.strip("/"):
        raise BadInput("PATH names no file")
    return quote(path.strip("/"), safe="/")
