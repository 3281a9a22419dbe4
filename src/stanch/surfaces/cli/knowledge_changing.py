"""The commands of `stanch knowledge` that change documents, and those that move bytes.

Settles what is sent. Does not settle the commands that read (`knowledge`), nor how bytes move (`content_client`).
"""

from __future__ import annotations

import hashlib
import io
import mimetypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_client import BLOCK, SessionOption, content_client
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

MOST_BYTES = 64 << 20
BYTES = "application/octet-stream"
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of a document, as `list` shows it.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May be given several times.")]
TitleOption = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="What it is called.")]
PersonalOption = Annotated[bool, typer.Option("--personal", help="Nobody else sees it.")]


def add(  # noqa: PLR0917 - typer calls it by name
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A text, PDF, XLSX or DOCX file; - for standard input.")],
    title: TitleOption = None,
    tag: TagOption = None,
    personal: PersonalOption = False,
    media_type: Annotated[
        str | None,
        typer.Option("--type", "--media-type", metavar="TYPE", help="The media type. Without it: by the name."),
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a document from a file of this machine."""
    piped = str(file) == "-"
    if piped and title is None:
        raise BadInput("what comes on standard input needs a --title")
    kind = media_type or ("text/plain" if piped else mimetypes.guess_type(file.name)[0]) or BYTES
    asked: dict[str, Any] = {"title": title or file.name}
    asked |= {"media_type": kind} if kind != BYTES else {}
    asked |= {"tags": tag} if tag else {}
    asked |= {"personal": True} if personal else {}
    with _opened(file, piped) as body:
        asked |= _measured(body)
        done = content_client(url, token, data, session).upload(
            "POST",
            "/api/knowledge/uploads",
            body,
            tool="knowledge_add",
            arguments=asked,
            query={"title": asked["title"], "media_type": kind, "tag": tag, "personal": personal},
        )
    _told(done, as_json)


def import_file(  # noqa: PLR0917 - typer calls it by name
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file among the stored ones, such as notes/plan.md.")],
    title: TitleOption = None,
    tag: TagOption = None,
    personal: PersonalOption = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a document from a stored file of the workspace."""
    asked: dict[str, Any] = {"path": path}
    asked |= {"title": title} if title is not None else {}
    asked |= {"tags": tag} if tag else {}
    asked |= {"personal": True} if personal else {}
    done = content_client(url, token, data, session).json(
        "POST", "/api/knowledge/imports", tool="knowledge_import", arguments=asked, body=asked
    )
    _told(done, as_json)


def change(  # noqa: PLR0917 - typer calls it by name
    document: IdArgument,
    title: TitleOption = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="In the place of all tags it has; repeatable.")
    ] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Take all tags away.")] = False,
    text: Annotated[
        Path | None,
        typer.Option("--text", metavar="FILE", help="A text in the place of its text; - for standard input."),
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the title, the tags or the text of a document."""
    if tag and no_tags:
        raise BadInput("give --tag or --no-tags, not both")
    asked: dict[str, Any] = {}
    asked |= {"title": title} if title is not None else {}
    asked |= {"tags": tag or []} if tag or no_tags else {}
    if text is not None:
        with _opened(text, str(text) == "-") as body:
            try:
                asked["text"] = body.read().decode()
            except UnicodeDecodeError:
                raise BadInput("--text must be a text in UTF-8") from None
    if not asked:
        raise BadInput("say what is to be changed: --title, --tag, --no-tags or --text")
    done = content_client(url, token, data, session).json(
        "PATCH",
        f"/api/knowledge/documents/{quote(document, safe='')}",
        tool="knowledge_change",
        arguments={"id": document, **asked},
        body=asked,
    )
    _told(done, as_json)


def remove(  # noqa: PLR0917 - typer calls it by name
    document: IdArgument,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a document with its chunks."""
    done = content_client(url, token, data, session).json(
        "DELETE",
        f"/api/knowledge/documents/{quote(document, safe='')}",
        tool="knowledge_delete",
        arguments={"id": document},
    )
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(f"{visible(done['id'])} is deleted")


def export(  # noqa: PLR0917 - typer calls it by name
    document: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Which documents. Without any: all.")
    ] = None,
    tag: TagOption = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The archive; - for standard output.")
    ] = Path("knowledge.zip"),
    force: Annotated[bool, typer.Option("--force", "-f", help="Write over a file that is there.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put documents with their chunks into an archive. Where one of them may not be had, no archive is made."""
    into = None if str(out) == "-" else out
    asked: dict[str, Any] = {}
    asked |= {"documents": document} if document else {}
    asked |= {"tags": tag} if tag else {}
    size = content_client(url, token, data, session).download(
        "/api/knowledge/export",
        into,
        tool="knowledge_export",
        arguments=asked,
        query={"document": document or None, "tag": tag or None},
        force=force,
    )
    if into is None:
        return
    if as_json:
        terminal.out_json({"file": str(into), "bytes": size})
    else:
        terminal.out(f"{visible(str(into))}: {size:,} bytes")


def document_line(one: dict[str, Any]) -> str:
    """A document on one line."""
    tags = "".join(f" [{visible(tag)}]" for tag in one["tags"])
    owner = "" if one["owner"] is None else f", of {visible(one['owner'])}"
    chunks = f"{one['chunks']:,} chunk{'' if one['chunks'] == 1 else 's'}"
    return f"{one['id']}  {visible(one['title'])}{tags}  {one['length']:,} characters, {chunks}{owner}"


def _told(done: Any, as_json: bool) -> None:
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(document_line(done))


def _measured(body: BinaryIO) -> dict[str, Any]:
    """What a person approves in place of the bytes themselves."""
    digest, size = hashlib.sha256(), 0
    while block := body.read(BLOCK):
        digest.update(block)
        size += len(block)
    return {"digest": digest.hexdigest(), "size": size}


@contextmanager
def _opened(path: Path, piped: bool) -> Iterator[BinaryIO]:
    """A file that can be read from its beginning again. Raises `BadInput`."""
    if piped:
        raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise BadInput(f"what standard input holds is larger than {MOST_BYTES:,} bytes")
        yield io.BytesIO(raw)
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {(error.strerror or 'unknown').lower()}") from None
    with file:
        yield file
