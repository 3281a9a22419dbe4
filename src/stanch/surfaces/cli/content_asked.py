"""What commands on stored content are given alike: a page, and which arguments a person is asked about.

Settles their words and bounds. Does not settle what any of them asks for.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

PAGE = 50
"""How many items a page holds where nobody says."""
LimitOption = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=500, help="How many items a page holds at most.")
]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="NEXT", help="The `next` of the page before.", show_default=False)
]


def said(**arguments: Any) -> dict[str, Any]:
    """The arguments that are no defaults: those are what a person is asked about."""
    return {name: value for name, value in arguments.items() if value not in (None, [])}
