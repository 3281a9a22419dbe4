"""`stanch workbench`: what lies where a chat's code runs, for people.

Settles the commands. Does not settle what is in a workbench (the server says so), nor how a model fills one but for the
one command that both share (`files get --workbench`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import SECONDS, Client, DataOption, Refusal, TokenOption, UrlOption, client_for
from stanch.surfaces.cli.content_client import ContentClient, refused
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="The id of the chat's session.")]
EntryArgument = Annotated[str, typer.Argument(metavar="PATH", help="An entry, such as out/plan.md.")]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Write over a file that is there.")]


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(
        name="workbench",
        help="Where the code of a chat runs, on a running server. For people: no model may use these. Exit codes: 0 "
        "done, 1 refused or not there, 2 it could not be asked.",
        no_args_is_help=True,
    )
    for name, command in (
        ("show", show),
        ("get", get),
        ("remove", remove),
        ("clear", clear),
        ("output", output),
    ):
        commands.command(name)(command)
    app.add_typer(commands)


def show(
    session: SessionArgument,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what lies in a workbench, where it came from, and which secrets came near it."""
    client = client_for(url, token, data)
    try:
        found = client.get(_at(session))
    except Refusal as why:
        refused(why)
    if as_json:
        terminal.out_json(found)
        return
    for one in found["entries"]:
        mark = "  tainted" if one["tainted"] else ""
        terminal.out(visible(f"{one['size']:>12}  {one['kind']:<6}  {one['path']}{mark}"))
    if found["total"] > len(found["entries"]):
        terminal.note(f"{len(found['entries']):,} of {found['total']:,} entries are shown")
    if not found["total"]:
        terminal.note("the workbench is empty")
    for what, names in (("filled from", [*found["places"], *found["items"]]), ("secrets near it", found["secrets"])):
        if names:
            terminal.note(visible(f"{what}: {', '.join(names)}"))
    if found["tainted"]:
        terminal.note(visible(f"tainted, so that its output is withheld: {', '.join(found['brought'])}"))
    if found["outputs"]:
        terminal.note(f"withheld outputs: {', '.join(found['outputs'])}; `stanch workbench output` prints one")


def get(  # noqa: PLR0917 - typer calls it by name
    session: SessionArgument,
    path: EntryArgument,
    into: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where to. Without it: here, under its own name; -: out.")
    ] = None,
    force: ForceOption = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download a file of a workbench, as it is."""
    out = into is not None and str(into) == "-"
    if out and sys.stdout.isatty():
        raise BadInput("bytes are not written to a terminal; name a file")
    name = path.rstrip("/").rpartition("/")[2]
    target = None if out else Path(name) if into is None else into / name if into.is_dir() else into
    client = ContentClient(client_for(url, token, data))
    size = client.download(f"{_at(session)}/files/{quote(path, safe='/')}", target, tool="", arguments={}, force=force)
    if target is None:
        return
    if as_json:
        terminal.out_json({"file": str(target), "size": size})
    else:
        terminal.out(visible(f"{target}: {size:,} bytes"))


def remove(
    session: SessionArgument,
    path: EntryArgument,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Remove an entry of a workbench; of a folder, all that lies in it."""
    _deleted(client_for(url, token, data), f"{_at(session)}/files/{quote(path, safe='/')}")
    terminal.out(visible(f"removed: {path}"))


def clear(session: SessionArgument, url: UrlOption = None, token: TokenOption = None, data: DataOption = None) -> None:
    """Remove everything in a workbench, and forget which secrets came near it."""
    _deleted(client_for(url, token, data), _at(session))
    terminal.out("the workbench is empty")


def output(  # noqa: PLR0917 - typer calls it by name
    session: SessionArgument,
    call: Annotated[str, typer.Argument(metavar="CALL", help="The id of the call; `show` lists them.")],
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what a run printed that was withheld from the model."""
    try:
        found = client_for(url, token, data).get(f"{_at(session)}/outputs/{quote(call, safe='')}")
    except Refusal as why:
        refused(why)
    if as_json:
        terminal.out_json(found)
        return
    text = str(found["text"])
    terminal.out_words("\n".join(map(visible, text.split("\n"))) if sys.stdout.isatty() else text)


def fill(client: ContentClient, path: str, query: dict[str, Any], as_json: bool) -> None:
    """Copies a stored file into the workbench of the model's session, and says so."""
    if client.session_id is None:
        raise BadInput("a workbench is a chat's: name its session with --session or STANCH_SESSION")
    arguments = {"path": path, **query}
    done = client.json("POST", f"{_at(client.session_id)}/files", tool="files_get", arguments=arguments, body=arguments)
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(visible(f"{done['path']}: version {done['version']}, {done['size']:,} bytes, in the workbench"))


def _at(session: str) -> str:
    return f"/api/sessions/{quote(session, safe='')}/workbench"


def _deleted(client: Client, address: str) -> None:
    try:
        with client.opened("DELETE", address, None, {}, SECONDS) as answer:
            answer.read()
    except Refusal as why:
        refused(why)
