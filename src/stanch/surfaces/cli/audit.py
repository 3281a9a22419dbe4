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
from stanch.surfaces.cli.audit_told import chain_json, chain_line, sightings_json, sightings_lines
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
    commands.command("who-saw")(who_saw)
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
        terminal.out_json(chain_json(report))
    else:
        terminal.out(chain_line(report))
    if report.broken is not None:
        raise typer.Exit(EXIT_BROKEN)


def who_saw(  # noqa: PLR0917 - typer calls it by name
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A secret's name.", show_default=False)] = None,
    item: Annotated[
        str | None, typer.Option("--item", metavar="PATH", help="Only this item: a path, or KIND:ID.")
    ] = None,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this session.")] = None,
    data: DataOption = None,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which sessions and models were ever sent an item that carried a secret, when, and in what form.

    With --item and without a name, who was sent that item. The whole log is read, and verified on the way.

    Exit code: 0 where it was answered, also where nobody was sent it; 1 where the log is not whole; 2 where nothing
    names the secret, or the log cannot be read.
    """
    if name is None and item is None:
        raise BadInput("name a secret, or an item with --item")
    from stanch.delivery.who_saw import Asked

    places = () if item is None else (os.path.abspath(item),)
    with _opened(data, database) as log:
        found, report = log.who_saw(Asked(name, item, session, places))
    if report.broken is None and not found.known:
        raise BadInput(
            f"nothing in the audit log names a secret {visible(name or '')}; stanch vault list names them all"
        )
    if as_json:
        terminal.out_json(sightings_json(found, report))
    else:
        for line in sightings_lines(found, report):
            terminal.out(line)
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
