"""`stanch files`: the files of the workspace, for a person or for a model in its session.

Settles the commands that look. Does not settle those that change something (`files_changing`), which server is asked
(`client`), nor what may be given (the server says so).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces.cli import files_changing, files_documents, terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_client import ContentClient, SessionOption, content_client
from stanch.surfaces.cli.files_asked import PathArgument, at, given
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.cli.saving import no_terminal, saved
from stanch.surfaces.cli.workbench import fill
from stanch.values.fault import BadInput

BelowArgument = Annotated[str, typer.Argument(metavar="PATH", help="A file or a directory. Without it: all files.")]
VersionOption = Annotated[
    int | None, typer.Option("--version", metavar="N", min=1, help="An older version. Without it: the newest.")
]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Write over a file that is there.")]


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(
        name="files",
        help="The files of the workspace on a running server. Exit codes: 0 done, 1 refused, not there, or changed "
        "meanwhile, 2 it could not be asked.",
        no_args_is_help=True,
    )
    for name, command in (
        ("list", list_files),
        ("read", read),
        ("grep", grep),
        ("search", search),
        ("versions", versions),
        ("get", get),
        ("zip", archive),
        ("put", files_changing.put),
        ("edit", files_changing.edit),
        ("mv", files_changing.move),
        ("rm", files_changing.remove),
        ("share", files_changing.share),
        ("links", files_changing.links),
        ("unshare", files_changing.unshare),
        *files_documents.COMMANDS,
    ):
        commands.command(name)(command)
    app.add_typer(commands)


def list_files(  # noqa: PLR0917 - typer calls it by name
    path: BelowArgument = "",
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List files: size, version, when and by whom they were changed last, path."""
    client = content_client(url, token, data, session)
    found = every(client, "/api/files", tool="files_list", arguments=given(path=path), query=given(path=path))
    if as_json:
        terminal.out_json(found)
        return
    for one in found["items"]:
        terminal.out(_line(one))
    if not found["items"]:
        where = "below this path" if path else "here"
        terminal.note(f"there are no files {where}; `stanch files put FILE PATH` uploads one")


def read(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    version: VersionOption = None,
    start: Annotated[int | None, typer.Option("--from", metavar="LINE", min=1, help="The first line.")] = None,
    lines: Annotated[int | None, typer.Option("--lines", metavar="N", min=1, help="How many at most.")] = None,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a file as text; of a PDF, XLSX or DOCX document, its text."""
    query = given(version=version, start=start, lines=lines)
    found = content_client(url, token, data, session).json(
        "GET", f"/api/files/text/{at(path)}", tool="files_read", arguments={"path": path, **query}, query=query
    )
    if as_json:
        terminal.out_json(found)
        return
    text = found["text"]
    # A terminal acts on some characters; whatever else reads this wants the text as it is.
    terminal.out_words("\n".join(map(visible, text.split("\n"))) if sys.stdout.isatty() else text)
    last = found["start"] + found["lines"] - 1
    if found["total"] and not found["lines"]:
        terminal.note(f"there are no such lines: the file has {found['total']:,}")
    elif last < found["total"] or found["cut"]:
        terminal.note(f"lines {found['start']} to {last} of {found['total']}; --from and --lines give others")


def grep(  # noqa: PLR0917 - typer calls it by name
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="A regular expression (RE2 syntax).")],
    path: BelowArgument = "",
    glob: Annotated[str | None, typer.Option("--glob", metavar="GLOB", help="Only files that fit.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, max=1_000, help="Lines at most.")] = None,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the lines that match, as path:line:text."""
    query = given(pattern=pattern, path=path, glob=glob, limit=limit)
    found = content_client(url, token, data, session).json(
        "GET", "/api/files/grep", tool="files_grep", arguments=query, query=query
    )
    if as_json:
        terminal.out_json(found)
        return
    for one in found["items"]:
        terminal.out(visible(f"{one['path']}:{one['line']}:{one['text']}"))
    _withheld(found)
    _notes(found)


def search(  # noqa: PLR0917 - typer calls it by name
    query: Annotated[list[str], typer.Argument(metavar="WORD", help="Whole words, in any case.")],
    path: Annotated[str, typer.Option("--path", metavar="PATH", help="A file or a directory.")] = "",
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, max=200, help="Files at most.")] = None,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find files that have all the words in their name or their text."""
    asked = given(query=" ".join(query), path=path, limit=limit)
    found = content_client(url, token, data, session).json(
        "GET", "/api/files/search", tool="files_search", arguments=asked, query=asked
    )
    if as_json:
        terminal.out_json(found)
        return
    for one in found["items"]:
        place = one["path"] if one["line"] is None else f"{one['path']}:{one['line']}"
        told = f"withheld (reason {one['withheld']})" if one["withheld"] else one["preview"] or ""
        terminal.out(visible(f"{place}: {told}" if told else place))
    _withheld(found)
    _notes(found)


def versions(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a file, newest first, those of a deleted one too."""
    client = content_client(url, token, data, session)
    found = every(client, f"/api/files/versions/{at(path)}", tool="files_versions", arguments={"path": path}, query={})
    if as_json:
        terminal.out_json(found)
        return
    for one in found["items"]:
        if "problem" in one:
            terminal.out(f"cannot be read: {visible(one['problem'])}")
        else:
            terminal.out(f"{one['version']:>6}  {one['size']:>12}  {one['created_at'][:19]}  {visible(one['by'])}")


def get(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    into: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where to. Without it: here, under its own name; -: out.")
    ] = None,
    version: VersionOption = None,
    force: ForceOption = False,
    workbench: Annotated[
        bool, typer.Option("--workbench", help="Into the workbench of the model's session, and not onto this disk.")
    ] = False,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download a file. What is not there as a whole never has its name."""
    query = given(version=version)
    if workbench:
        if into is not None:
            raise BadInput("with --workbench a file gets the path that it has; leave FILE out")
        fill(content_client(url, token, data, session), path, query, as_json)
        return
    target = _target(into, path.rstrip("/").rpartition("/")[2])
    size = content_client(url, token, data, session).download(
        f"/api/files/content/{at(path)}",
        target,
        tool="files_get",
        arguments={"path": path, **query},
        query=query,
        force=force,
    )
    saved(target, size, as_json)


def archive(  # noqa: PLR0917 - typer calls it by name
    into: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; -: to standard output.")],
    path: Annotated[str, typer.Option("--path", metavar="PATH", help="A directory. Without it: all files.")] = "",
    force: ForceOption = False,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download files as a ZIP archive. A manifest in it tells what was left out, and why."""
    target = _target(into, "files.zip")
    query = given(path=path)
    size = content_client(url, token, data, session).download(
        "/api/files/archive", target, tool="files_archive", arguments=query, query=query, force=force
    )
    saved(target, size, as_json)


def every(
    client: ContentClient, address: str, *, tool: str, arguments: dict[str, Any], query: dict[str, Any]
) -> dict[str, Any]:
    """All items of a list, page by page, and what else the first page says."""
    found: dict[str, Any] = {}
    items: list[Any] = []
    turn: dict[str, Any] = {"limit": 500}
    while True:
        page = client.json("GET", address, tool=tool, arguments={**arguments, **turn}, query={**query, **turn})
        items += page["items"]
        found = found or page
        if page["next"] is None:
            return {**found, "items": items, "next": None}
        turn = {"limit": 500, "cursor": page["next"]}


def _target(into: Path | None, name: str) -> Path | None:
    """Where a download goes, None for standard output. Raises `BadInput`."""
    if into is not None and str(into) == "-":
        no_terminal()
        return None
    target = Path(name) if into is None else into / name if into.is_dir() else into
    if target.name in ("", ".", ".."):
        raise BadInput("say which file to write")
    return target


def _line(one: dict[str, Any]) -> str:
    if "problem" in one:
        return f"cannot be read: {visible(one['id'])}: {visible(one['problem'])}"
    whose = "" if one["owner"] is None else f"  ({one['owner']})"
    said = f"{one['size']:>12}  v{one['version']:<4} {one['changed_at'][:16]}  {one['changed_by']:<12} {one['path']}"
    return visible(said + whose)


def _withheld(found: dict[str, Any]) -> None:
    for code, count in sorted(found["withheld"].items()):
        terminal.note(f"withheld: {count} (reason {code})")


def _notes(found: dict[str, Any]) -> None:
    if not found["items"] and not found["withheld"]:
        terminal.note("nothing was found")
    for what, count in found["skipped"].items():
        if count:
            terminal.note(f"not searched: {count} ({what})")
    if found["more"]:
        terminal.note("there is more: search for something narrower, or below a directory")
