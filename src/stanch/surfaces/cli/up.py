"""`stanch up`: the whole server in one process, until it is told to stop.

Settles the options and the order in which a server starts. Does not settle how it is put together (`app.wiring`), where
it listens (`listening`), what a person is shown (`welcome`) nor what it answers (`surfaces.http`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from stanch.surfaces import finding
from stanch.values.fault import BadInput

HOST = "127.0.0.1"
PORT = 8137

PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help=f"The policy file. Without it: {finding.WITHOUT}, else the groups of the database alone.",
        show_default=False,
    ),
]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="DIR",
        help="Where relative paths start, if the policy names no workspace. Without it: the policy file's directory, "
        "else the current one.",
        show_default=False,
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Where the server keeps what is its own. Without it: a directory of this workspace below "
        "$XDG_STATE_HOME/stanch or ~/.local/state/stanch.",
        show_default=False,
    ),
]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="STANCH_DATABASE",
        show_envvar=False,
        help="postgresql://USER@HOST/DATABASE or sqlite:///PATH. Without it: $STANCH_DATABASE, which keeps a password "
        "out of the list of processes, else a file in the data directory.",
        show_default=False,
    ),
]
HostOption = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=0,
        max=65535,
        help=f"The port to listen on; 0 for any free one. Without it: {PORT}, or a free one where that is taken.",
        show_default=False,
    ),
]
TrustOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="PATTERN",
        help="Models to put into the tier 'trusted', as in [models.assignments], for instance 'anthropic/*'; may be "
        "given several times. A pattern of the policy file that says as much goes first.",
        show_default=False,
    ),
]


KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The keys that seal the vault, one in base64 on each line; the first one seals. Without any --key option: "
        "$STANCH_KEY, else vault.key in the data directory.",
        show_default=False,
    ),
]
KeyEnvOption = Annotated[
    str | None,
    typer.Option("--key-env", metavar="NAME", help="The environment variable with these keys.", show_default=False),
]
KeyCommandOption = Annotated[
    str | None,
    typer.Option(
        "--key-command",
        metavar="COMMAND",
        help="A command that prints these keys. It is run without a shell.",
        show_default=False,
    ),
]
ContentOption = Annotated[
    Path | None,
    typer.Option(
        "--content",
        metavar="DIR",
        envvar="STANCH_CONTENT",
        show_envvar=False,
        help="Where the bytes of stored files are kept; all nodes of one database need the same. Without it: "
        "$STANCH_CONTENT, else a directory in the data directory.",
        show_default=False,
    ),
]
WorkbenchHoursOption = Annotated[
    int | None,
    typer.Option(
        "--workbench-hours",
        metavar="N",
        min=0,
        max=87_600,
        envvar="STANCH_WORKBENCH_HOURS",
        show_envvar=False,
        help="How long the workbench of a session stays once the session has ended; 0: until somebody empties it. "
        "Without it: $STANCH_WORKBENCH_HOURS, else 24.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("up")(up)


def up(  # noqa: PLR0917 - typer calls it by name
    policy: PolicyOption = None,
    workspace: WorkspaceOption = None,
    data: DataOption = None,
    database: DatabaseOption = None,
    host: HostOption = HOST,
    port: PortOption = None,
    trust: TrustOption = None,
    key_file: KeyFileOption = None,
    key_env: KeyEnvOption = None,
    key_command: KeyCommandOption = None,
    content: ContentOption = None,
    workbench_hours: WorkbenchHoursOption = None,
) -> None:
    """Start the server: REST API and database, in one process, on this machine alone unless --host says otherwise.

    It runs until it is interrupted. Exit code: 0 after it was told to stop; 2 where it cannot start.
    """
    from stanch.app.sealing_keys import key_place
    from stanch.app.settings import WORKBENCH_HOURS, settings_of
    from stanch.surfaces.cli.stopping import Stopping
    from stanch.surfaces.cli.trusting import trusted
    from stanch.surfaces.cli.welcome import Progress

    finding.current_directory()
    stopping = Stopping()
    stopping.listen()
    with Progress() as progress:
        progress.say("loading")
        try:
            from stanch.surfaces.cli import serving
        except ModuleNotFoundError as missing:
            _not_installed(missing)
        given = settings_of(
            policy=policy if policy is not None else finding.nearest_policy(),
            workspace=workspace,
            data=data,
            database=database,
            keys=key_place(key_file, key_env, key_command),
            content=content,
            workbench_hours=WORKBENCH_HOURS if workbench_hours is None else workbench_hours,
        )
        progress.end()
        given = replace(given, trust=trusted(given, tuple(trust or ())))
        serving.serve(given, host=host, port=port, usual=PORT, progress=progress, stopping=stopping)


def _not_installed(missing: ModuleNotFoundError) -> NoReturn:
    if missing.name is None or missing.name.partition(".")[0] == "stanch":
        raise missing
    raise BadInput(
        f"a server needs packages that are not installed ({missing.name} is missing): pip install 'stanch[server]'"
    ) from None
