"""`stanch knowledge`: documents, their chunks and tags, and search in them.

Settles the commands that read. Does not settle those that change something or give files (`knowledge_changing`), nor
which server is asked (`content_client`).
"""

from __future__ import annotations

import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from stanch.explain import visible
from stanch.surfaces.cli import knowledge_changing, terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_asked import PAGE, CursorOption, LimitOption, said
from stanch.surfaces.cli.content_client import SessionOption, content_client
from stanch.surfaces.cli.knowledge_changing import IdArgument, TagOption, document_line
from stanch.surfaces.cli.question import JsonOption

DOCUMENTS = "/api/knowledge/documents"
FOUND = 20


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(
        name="knowledge",
        help="Documents that agents look things up in: add, read and search them. A running server is asked. "
        "Exit codes: 0 done, 1 refused, not there, or changed meanwhile, 2 it could not be asked.",
        no_args_is_help=True,
    )
    for name, command in (
        ("list", list_documents),
        ("read", read),
        ("search", search),
        ("chunks", chunks),
        ("tags", tags),
        ("add", knowledge_changing.add),
        ("import", knowledge_changing.import_file),
        ("change", knowledge_changing.change),
        ("rm", knowledge_changing.remove),
        ("export", knowledge_changing.export),
    ):
        commands.command(name)(command)
    app.add_typer(commands)


def list_documents(  # noqa: PLR0917 - typer calls it by name
    tag: TagOption = None,
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the documents, newest first."""
    page = content_client(url, token, data, session).json(
        "GET",
        DOCUMENTS,
        tool="knowledge_list",
        arguments=said(tags=tag, limit=None if limit == PAGE else limit, cursor=cursor),
        query={"tag": tag, "limit": limit, "cursor": cursor},
    )
    show(page, as_json, document_line)


def read(  # noqa: PLR0917 - typer calls it by name
    document: IdArgument,
    start: Annotated[int, typer.Option("--start", metavar="N", min=0, help="The first character.")] = 0,
    end: Annotated[int | None, typer.Option("--end", metavar="N", min=0, help="Up to which character.")] = None,
    about: Annotated[bool, typer.Option("--about", help="What the document is, without its text.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the text of a document."""
    place = f"{DOCUMENTS}/{quote(document, safe='')}"
    given = content_client(url, token, data, session).json(
        "GET",
        place if about else f"{place}/text",
        tool="knowledge_read",
        arguments=said(id=document, text=False if about else None, start=start or None, end=end),
        query=None if about else {"start": start, "end": end},
    )
    if as_json:
        terminal.out_json(given)
    elif about:
        terminal.out(document_line(given["document"]))
    else:
        out_text(given["text"])


def search(  # noqa: PLR0917 - typer calls it by name
    query: Annotated[list[str], typer.Argument(metavar="WORD", help="All of them have to stand in a chunk.")],
    document: Annotated[
        list[str] | None, typer.Option("--document", metavar="ID", help="Only in this document; repeatable.")
    ] = None,
    tag: TagOption = None,
    characters: Annotated[
        int | None, typer.Option("--characters", metavar="N", min=20, max=4000, help="How much of each chunk is shown.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=100, help="How many chunks at most.")
    ] = FOUND,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the documents for whole words, in any order and case."""
    asked = said(
        query=" ".join(query),
        documents=document,
        tags=tag,
        characters=characters,
        limit=None if limit == FOUND else limit,
        cursor=cursor,
    )
    page = content_client(url, token, data, session).json(
        "POST", "/api/knowledge/search", tool="knowledge_search", arguments=asked, body=asked
    )
    show(page, as_json, _found_lines)


def chunks(  # noqa: PLR0917 - typer calls it by name
    document: IdArgument,
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the chunks of a document, in their order."""
    page = content_client(url, token, data, session).json(
        "GET",
        f"{DOCUMENTS}/{quote(document, safe='')}/chunks",
        tool="knowledge_chunks",
        arguments=said(id=document, limit=None if limit == PAGE else limit, cursor=cursor),
        query={"limit": limit, "cursor": cursor},
    )
    show(page, as_json, _chunk_lines)


def tags(  # noqa: PLR0917 - typer calls it by name
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tags, with how many documents have each."""
    page = content_client(url, token, data, session).json(
        "GET",
        "/api/knowledge/tags",
        tool="knowledge_tags",
        arguments=said(limit=None if limit == PAGE else limit, cursor=cursor),
        query={"limit": limit, "cursor": cursor},
    )
    show(page, as_json, lambda one: f"{one['count']:>6}  {visible(one['tag'])}")


def show(page: Any, as_json: bool, line: Any) -> None:
    """Prints a page: an item at a time, and beside it what there is besides."""
    if as_json:
        terminal.out_json(page)
        return
    for one in page["items"]:
        terminal.out(
            f"{visible(one['id'])}  cannot be read: {visible(one['problem'])}" if "problem" in one else line(one)
        )
    if page["withheld"]:
        reasons = ", ".join(f"{count} {code}" for code, count in page["reasons"].items())
        terminal.note(f"{page['withheld']} more may not be shown here: {reasons}")
    if page["next"] is not None:
        terminal.note(f"{page['total']:,} in all; --cursor {page['next']} shows more")
    elif not page["items"] and not page["withheld"]:
        terminal.note("there is nothing")


def out_text(text: str) -> None:
    """Prints a text: as it is for a program, and so that it cannot act on a terminal for a person."""
    if sys.stdout.isatty():
        text = "\n".join(visible(line.replace("\t", "    ")) for line in text.split("\n"))
    terminal.out_words(text if not text or text.endswith("\n") else text + "\n")


def _chunk_lines(one: dict[str, Any]) -> str:
    where = f"page {one['page']}" if one["page"] is not None else ""
    where = f"sheet {visible(one['sheet'])}" if one["sheet"] is not None else where
    place = f"{one['document']}#{one['number']}" + (f", {where}" if where else "")
    body = "\n".join(f"    {visible(line)}" for line in one["text"].split("\n"))
    return f"{place}\n{body}"


def _found_lines(one: dict[str, Any]) -> str:
    title = "" if one["title"] is None else f"  {visible(one['title'])}"
    return f"{one['score']:.2f}{title}  {_chunk_lines(one)}"
