"""`stanch runs files | get | add-file`: the files of runs.

Settles these commands. Does not settle how bytes come down and go up (`content_client`).
"""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_asked import PAGE, CursorOption, LimitOption, said
from stanch.surfaces.cli.content_client import SessionOption, content_client
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a file of the run.")]


def list_files(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the files of a run."""
    asked = said(run=run, limit=None if limit == PAGE else limit, cursor=cursor)
    page = content_client(url, token, data, session).json(
        "GET",
        f"/api/runs/{quote(run, safe='')}/files",
        tool="runs_files",
        arguments=asked,
        query={"limit": limit, "cursor": cursor},
    )
    if as_json:
        terminal.out_json(page)
        return
    for one in page["items"]:
        if "problem" in one:
            terminal.out(f"{visible(one['id'])}  cannot be read: {visible(one['problem'])}")
        else:
            terminal.out(f"{one['size']:>12,}  {visible(one['media_type']):<30}  {visible(one['name'])}")
    if page["next"] is not None:
        terminal.note(f"{page['total']:,} in all; more with --cursor {page['next']}")


def get(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    name: NameArgument,
    into: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where to put it; - is standard output. Without it: its name."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Write over a file that is there.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download a file of a run."""
    place = None if into == "-" else Path(into if into is not None else name.rstrip("/").rpartition("/")[2])
    if place is None and as_json:
        raise BadInput("--json and --out - would share standard output")
    done = content_client(url, token, data, session).download(
        f"/api/runs/{quote(run, safe='')}/files/{quote(name)}",
        place,
        tool="runs_get",
        arguments={"run": run, "name": name},
        force=force,
    )
    if as_json:
        terminal.out_json({"path": str(place), "bytes": done})
    elif place is not None:
        terminal.note(f"{place}: {done:,} byte{'' if done == 1 else 's'}")


def add_file(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to add.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What it is called there. Without it: as the file.")
    ] = None,
    media_type: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Such as text/plain.")] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a file to a run."""
    called = name or file.name
    kind = media_type or mimetypes.guess_type(called)[0] or "application/octet-stream"
    asked = {"run": run, "name": called} | ({} if kind == "application/octet-stream" else {"media_type": kind})
    try:
        opened = file.open("rb")
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {(error.strerror or 'unknown').lower()}") from None
    with opened:
        made = content_client(url, token, data, session).upload(
            "PUT",
            f"/api/runs/{quote(run, safe='')}/files/{quote(called)}",
            opened,
            tool="runs_record",
            arguments=asked,
            media_type=kind,
        )
    terminal.out_json(made) if as_json else terminal.out(f"{visible(made['name'])}: {made['size']:,} bytes")
