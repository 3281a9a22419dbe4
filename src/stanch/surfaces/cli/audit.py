"""`stanch audit`: who changed what, and whether the log of it is whole.

Settles the commands and their exit codes. Does not settle which events are kept (`storage`).
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stanch.explain import visible
from stanch.surfaces import finding
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

if TYPE_CHECKING:
    from stanch.app.audit_log import AuditLog

EXIT_BROKEN = 1

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="STANCH_DATABASE",
        show_envvar=False,
        help="The database, as `stanch up` takes it. Without it: $STANCH_DATABASE, else the data directory's file.",
        show_default=False,
    ),
]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=500, help="How many rows at most.")]


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(
        name="audit", help="Read and verify the audit log of a server's store.", no_args_is_help=True
    )
    commands.command("list")(list_rows)
    commands.command("verify")(verify)
    app.add_typer(commands)


def list_rows(  # noqa: PLR0917 - typer calls it by name
    actor: Annotated[str | None, typer.Option("--actor", metavar="ID", help="Only what this one did.")] = None,
    action: Annotated[str | None, typer.Option("--action", metavar="NAME", help="Such as approval.approved.")] = None,
    subject: Annotated[str | None, typer.Option("--subject", metavar="ID", help="Only what concerns this.")] = None,
    limit: LimitOption = 50,
    data: DataOption = None,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest rows, the oldest of them first."""
    from stanch.values.records import Broken

    with _opened(data, database) as log:
        page = log.list(actor=actor, action=action, subject=subject, newest_first=True, limit=limit)
    rows = page.items[::-1]
    if as_json:
        said = [
            {"id": row.id, "table": row.table, "problem": row.problem}
            if isinstance(row, Broken)
            else {
                "seq": row.seq,
                "at": row.at.isoformat(),
                "actor": row.actor,
                "surface": row.surface,
                "action": row.action,
                "subject": row.subject,
                "detail": dict(row.detail),
            }
            for row in rows
        ]
        terminal.out_json({"items": said, "total": page.total})
        return
    for row in rows:
        if isinstance(row, Broken):
            terminal.out(f"{row.id:>7}  cannot be read: {visible(row.problem)}")
            continue
        who = f"{row.actor} ({row.surface})"
        terminal.out(f"{row.seq:>7}  {row.at:%Y-%m-%d %H:%M:%S}  {visible(f'{row.action} {row.subject} by {who}')}")


def verify(data: DataOption = None, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Say whether the log is whole: no row removed, moved, changed or put in between.

    Exit code: 0 where it is, 1 where it is not, 2 where it cannot be read.
    """
    with _opened(data, database) as log:
        report = log.verify()
    if as_json:
        broken = None if report.broken is None else report.broken.value
        terminal.out_json(
            {"holds": report.broken is None, "intact": report.intact, "seq": report.seq, "broken": broken}
        )
    elif report.broken is None:
        terminal.out(f"the audit log is whole: {report.intact:,} rows")
    else:
        terminal.out(
            f"the audit log is broken: row {report.seq} was {report.broken.value}; {report.intact:,} rows hold"
        )
    if report.broken is not None:
        raise typer.Exit(EXIT_BROKEN)


def _opened(data: Path | None, database: str | None) -> AbstractContextManager[AuditLog]:
    try:
        from stanch.app.settings import settings_of
        from stanch.app.wiring import audit_of
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "stanch":
            raise
        raise BadInput(
            f"the audit log needs packages that are not installed ({missing.name} is missing): "
            "pip install 'stanch[server]'"
        ) from None
    finding.current_directory()
    policy = None if data is not None else finding.nearest_policy()
    where = None if data is None else Path(os.path.abspath(data))
    return audit_of(settings_of(policy=policy, data=where, database=database))
