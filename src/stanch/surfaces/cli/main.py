"""The command `stanch`: which commands there are, and how a person's mistake ends.

Settles the entry point and the one way in which faults become a line on standard error and exit code 2. Does not settle
what a command does: each group of commands has a module with a `register`. WHY: those modules import what they need
when they are called, so that a quick command does not pay for a slow one.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from stanch.surfaces.cli import (
    audit,
    chat,
    check,
    demo,
    explain,
    files,
    inbox,
    judge,
    knowledge,
    policy,
    project,
    redact,
    replay,
    runs,
    tables,
    terminal,
    up,
    vault,
    workbench,
)
from stanch.values.fault import Fault


class Commands(TyperGroup):
    """The top of the command line: a fault of any command ends it with one line, never with a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that was named."""
        try:
            return super().invoke(ctx)
        except Fault as fault:
            terminal.refuse(str(fault))


app = typer.Typer(
    name="stanch",
    cls=Commands,
    help="One gate for AI agents: may this agent do this, and may this model see this?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        terminal.out(f"stanch {version('stanch')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


audit.register(app)
chat.register(app)
check.register(app)
demo.register(app)
explain.register(app)
files.register(app)
inbox.register(app)
judge.register(app)
knowledge.register(app)
policy.register(app)
project.register(app)
redact.register(app)
replay.register(app)
runs.register(app)
tables.register(app)
up.register(app)
vault.register(app)
workbench.register(app)


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    terminal.prepare()
    app(prog_name="stanch")


if __name__ == "__main__":
    main()
