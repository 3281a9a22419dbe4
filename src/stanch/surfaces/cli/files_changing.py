"""The commands of `stanch files` that change something: uploads, edits, moves, links.

Settles what each asks for. Does not settle the other commands (`files`) nor how a person is asked (`content_client`).
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_client import SessionOption, content_client
from stanch.surfaces.cli.files_asked import ExpectedOption, PathArgument, at, given
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

BLOCK = 1 << 20


def put(  # noqa: PLR0917 - typer calls it by name
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What to upload; -: standard input.")],
    path: PathArgument,
    version: ExpectedOption = None,
    mine: Annotated[bool, typer.Option("--personal", "--mine", help="A new file is yours alone.")] = False,
    media_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="The media type. Without it: by the name.")
    ] = None,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Upload a file: a new one, or a new version of one."""
    client = content_client(url, token, data, session)
    query = given(version=version, mine=mine or None, media_type=media_type)
    with _opened(file) as source:
        # WHY the digest: it is what a person says yes to, and no other bytes are then taken.
        arguments = {"path": path, **_measured(source), **query}
        done = client.upload(
            "PUT", f"/api/files/content/{at(path)}", source, tool="files_write", arguments=arguments, query=query
        )
    _shown(done, as_json)


def edit(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    old: Annotated[str, typer.Option("--old", metavar="TEXT", help="The text to replace, letter for letter.")],
    new: Annotated[str, typer.Option("--new", metavar="TEXT", help="What stands in its place.")],
    everywhere: Annotated[bool, typer.Option("--all", help="Wherever it is; else it has to be there once.")] = False,
    version: ExpectedOption = None,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a piece of a file's text."""
    body = given(all=everywhere or None, version=version) | {"old": old, "new": new}
    done = content_client(url, token, data, session).json(
        "PATCH", f"/api/files/text/{at(path)}", tool="files_edit", arguments={"path": path, **body}, body=body
    )
    if as_json:
        terminal.out_json(done)
        return
    for place in done["places"]:
        terminal.out(visible(f"{done['file']['path']}:{place['line']}:{place['text']}"))
    terminal.out(visible(f"{done['file']['path']}: version {done['file']['version']}, replaced {done['replaced']}"))


def move(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    to: Annotated[str, typer.Argument(metavar="TO", help="Its new path.")],
    version: ExpectedOption = None,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a file another path. Its versions and links stay."""
    body: dict[str, Any] = {"path": path, "to": to, **given(version=version)}
    done = content_client(url, token, data, session).json(
        "POST", "/api/files/move", tool="files_move", arguments=body, body=body
    )
    _shown(done, as_json)


def remove(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    version: ExpectedOption = None,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a file. Its versions can still be read by their numbers."""
    query = given(version=version)
    done = content_client(url, token, data, session).json(
        "DELETE",
        f"/api/files/content/{at(path)}",
        tool="files_delete",
        arguments={"path": path, **query},
        query=query,
    )
    _shown(done, as_json, " is deleted")


def share(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a public link to a file, and print its address: this once."""
    client = content_client(url, token, data, session)
    done = client.json("POST", "/api/links", tool="files_share", arguments={"path": path}, body={"path": path})
    done["url"] = client.client.url + done["address"]
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(done["url"])
        terminal.note("whoever has this address can download the file; `stanch files unshare` ends that")


def links(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the public links to a file, without their addresses."""
    asked = {"path": path, "limit": 500}
    found = content_client(url, token, data, session).json(
        "GET", "/api/links", tool="files_links", arguments=asked, query=asked
    )
    if as_json:
        terminal.out_json(found)
        return
    for one in found["items"]:
        said = f"{one['id']}  {one.get('created_at', '')[:16]}  {one.get('created_by', '')}"
        terminal.out(visible(said))
    if not found["items"]:
        terminal.note("there are no links to it; `stanch files share PATH` makes one")


def unshare(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    link: Annotated[str | None, typer.Argument(metavar="LINK", help="Its id. Without it: all links.")] = None,
    session: SessionOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a public link to a file, or all of them."""
    asked = {"path": path, **given(link=link)}
    done = content_client(url, token, data, session).json(
        "DELETE", "/api/links", tool="files_unshare", arguments=asked, query=asked
    )
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(f"revoked: {done['revoked']}")


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """What is to be uploaded, as a file on the disk. Raises `BadInput`."""
    try:
        if str(file) != "-":
            with file.open("rb") as source:
                yield source
            return
        if sys.stdin.isatty():
            raise BadInput("standard input is a terminal; name a file")
        with tempfile.TemporaryFile() as kept:
            while block := sys.stdin.buffer.read(BLOCK):
                kept.write(block)
            yield cast("BinaryIO", kept)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {(error.strerror or 'unknown').lower()}") from None


def _measured(source: BinaryIO) -> dict[str, Any]:
    source.seek(0)
    digest, size = hashlib.sha256(), 0
    while block := source.read(BLOCK):
        digest.update(block)
        size += len(block)
    return {"digest": digest.hexdigest(), "size": size}


def _shown(done: dict[str, Any], as_json: bool, end: str = "") -> None:
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(visible(f"{done['path']}{end}: version {done['version']}, {done['size']:,} bytes"))
