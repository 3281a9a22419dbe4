"""`stanch files compile` and `stanch files view`: documents made of stored files, and files as pages.

Settles the commands. Does not settle what a document is made of (`content.compile_files`), nor how a file is shown
(`content.views`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_client import SessionOption, content_client, vacant, whole_file
from stanch.surfaces.cli.files_asked import PathArgument, at, given
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.cli.saving import no_terminal, saved
from stanch.values.fault import BadInput

IntoOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Where to; -: to standard output.", show_default=False),
]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Write over a file that is there.")]


def compile_file(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    as_pdf: Annotated[bool, typer.Option("--pdf", help="A PDF instead of an HTML page.")] = False,
    into: IntoOption = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="What a template (.md.j2) may use.", show_default=False),
    ] = None,
    force: ForceOption = False,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make one HTML page, or a PDF, of a Markdown or HTML file and whatever it names. Without -o, a page is printed."""
    named = _values(values or [])
    query = given(values=json.dumps(named) if named else None)
    arguments = {"path": path, **({"values": named} if named else {})}
    client = content_client(url, token, data, session)
    if as_pdf:
        name = path.rpartition("/")[2].removesuffix(".j2").rpartition(".")[0]
        target = _target(into if into is not None else Path(f"{name}.pdf"))
        size = client.download(
            f"/api/files/pdf/{at(path)}", target, tool="files_compile", arguments=arguments, query=query, force=force
        )
        saved(target, size, as_json)
        return
    target = None if into is None else _target(into)
    if target is not None:
        vacant(target, force=force)
    found = client.json(
        "GET", f"/api/files/compiled/{at(path)}", tool="files_compile", arguments=arguments, query=query
    )
    if target is not None:
        page = str(found["html"]).encode()
        with whole_file(target, force=force) as file:
            file.write(page)
        saved(target, len(page), as_json)
    elif as_json:
        terminal.out_json(found)
    else:
        text = str(found["html"])
        terminal.out_words("\n".join(map(visible, text.split("\n"))) if sys.stdout.isatty() else text)
    for what, count in found["removed"].items():
        terminal.note(f"taken out: {count} ({what})")


def view(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    into: IntoOption = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", min=1, help="An older version. Without it: the newest.")
    ] = None,
    force: ForceOption = False,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Save a file as a page that a browser shows, and that can do nothing: texts, tables, documents, pictures."""
    name = path.rstrip("/").rpartition("/")[2]
    target = _target(into if into is not None else Path(f"{name}.html"))
    query = given(version=version)
    size = content_client(url, token, data, session).download(
        f"/api/files/view/{at(path)}",
        target,
        tool="files_show",
        arguments={"path": path, **query},
        query=query,
        force=force,
    )
    saved(target, size, as_json)


COMMANDS = (("compile", compile_file), ("view", view))


def _values(written: list[str]) -> dict[str, Any]:
    """What a template may use, by name. Raises `BadInput`."""
    found: dict[str, Any] = {}
    for one in written:
        name, sign, value = one.partition("=")
        if not sign or not name.isidentifier():
            raise BadInput("--set takes NAME=VALUE")
        found[name] = value
    return found


def _target(into: Path) -> Path | None:
    """Where the bytes go, None for standard output. Raises `BadInput`."""
    if str(into) != "-":
        return into
    no_terminal()
    return None
