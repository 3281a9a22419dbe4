"""What every command of `stanch inbox` does with the server's answer.

Settles the exit codes of refusals. Does not settle what is asked (`inbox`, `inbox_plans`).
"""

from __future__ import annotations

from typing import Annotated, Any, NoReturn
from urllib.parse import quote

import typer

from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import Refusal
from stanch.values.fault import BadInput

EXIT_LATE = 1

NoteOption = Annotated[
    str | None, typer.Option("--note", metavar="TEXT", help="A word to the agent and to whoever reads the log.")
]


def asked(ask: Any) -> Any:
    """What the server answers; a refusal ends the command with one line."""
    try:
        return ask()
    except Refusal as refusal:
        refused(refusal)


def refused(refusal: Refusal) -> NoReturn:
    """Ends the command: with 1 where somebody else was faster or the answer was refused, else with 2."""
    if refusal.status == 409:
        terminal.complain(str(refusal))
        raise typer.Exit(EXIT_LATE)
    raise BadInput(str(refusal))


def request_id(text: str) -> str:
    """The id as a part of an address. Raises `BadInput` for an empty one."""
    if not text.strip():
        raise BadInput("the id is empty")
    return quote(text.strip(), safe="")
