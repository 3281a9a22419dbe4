"""`/console/content`: stored content, in four lists: files as a tree by folder, runs, knowledge, tables.

Settles what each list shows and how it is searched. Does not settle an item's own page (`content_file`, `content_run`,
`content_document`, `content_table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from stanch.content.file_items import BrokenGiven
from stanch.content.file_searching import SearchFiles, search_files
from stanch.content.folders import EntryGiven, ListFolder, list_folder
from stanch.content.provenance_told import Of
from stanch.surfaces.console.content_badges import Badge, later
from stanch.surfaces.console.content_reach import PAGE, Reach, made
from stanch.surfaces.console.content_text import marked
from stanch.surfaces.console.guard import Asked
from stanch.values.fault import BadFields

MOST_FOUND = 50
MOST_ENTRIES = 100
LONGEST_QUERY = 1_000


class Entry(NamedTuple):
    """A file or a folder of the tree. `inside` is where a folder's entries are asked for, `address` its own page."""

    name: str
    address: str
    inside: str = ""
    size: int = 0
    version: int = 0
    owner: str | None = None
    changed_at: Any = None
    changed_by: str = ""
    badge: Badge = Badge()


class Part(NamedTuple):
    """A part of a folder's entries. `further` has the next part as a piece, `further_page` as a page."""

    entries: Sequence[Entry]
    broken: Sequence[BrokenGiven]
    further: str
    further_page: str


class Place(NamedTuple):
    """Where something stands that was found. `text` is what a model would be shown of it, None where it is not."""

    name: str
    address: str
    where: str
    text: Markup | None
    badge: Badge


def page(asked: Asked) -> Response:
    """The files: a folder of the tree, or what was found."""
    reach = Reach(asked)
    query, folder = search_words(reach), reach.get("path").strip("/")
    problem, found = "", None
    if query:
        try:
            found = _found(reach, query, folder)
        except BadFields as why:
            problem = reach.asked.failing.sentence(why)
    part = None if found is not None else part_of(reach, folder)
    return asked.page(
        "content_files.html.j2",
        at="content",
        wide=True,
        tab="files",
        query=shown_query(reach, query),
        problem=problem,
        above=above(reach, folder),
        folder_fields=reach.fields(path=folder),
        part=part,
        found=found,
        root=PAGE,
    )


def folder(asked: Asked) -> Response:
    """The entries of one folder."""
    reach = Reach(asked)
    return asked.page("content_folder.html.j2", part=part_of(reach, reach.get("path").strip("/")))


def part_of(reach: Reach, path: str) -> Part:
    """The entries of a folder, from the one on that the address names."""
    start = reach.get("start") or None
    found = reach.asks(list_folder, made(ListFolder, path=path, limit=MOST_ENTRIES, start=start))
    more = {"path": path, "start": found.next}
    return Part(
        [_entry(reach, one) for one in found.items],
        found.broken,
        "" if found.next is None else reach.address("/folder", **more),
        "" if found.next is None else reach.address("", **more),
    )


def _entry(reach: Reach, one: EntryGiven) -> Entry:
    name, file = reach.say(one.name), one.file
    if file is None:
        return Entry(name, reach.address("", path=one.path), reach.address("/folder", path=one.path))
    return Entry(
        name,
        reach.address("/file", path=one.path),
        size=file.size,
        version=file.version,
        owner=file.owner,
        changed_at=file.changed_at,
        changed_by=reach.say(file.changed_by),
        badge=later(reach, Of.FILE, one.path),
    )


def _found(reach: Reach, query: str, path: str) -> dict[str, Any]:
    """What was found, with as much of each text as a model would be shown."""
    whole, shown = reach.as_model_with_names(search_files, made(SearchFiles, query=query, path=path, limit=MOST_FOUND))
    places = [
        Place(
            one["path"],
            reach.address("/file", path=named.path),
            "in its name" if named.line is None else f"line {named.line:,}",
            None if one["preview"] is None else marked(one["preview"]),
            later(reach, Of.FILE, named.path),
        )
        for named, one in zip(whole.items, shown["items"], strict=True)
    ]
    return {"places": places, "total": whole.total, "more": whole.more, "skipped": whole.skipped}


def above(reach: Reach, path: str) -> list[tuple[str, str]]:
    """The folders that a path lies in, with their addresses, from the uppermost down to itself."""
    names = path.split("/") if path else []
    return [
        ("files", reach.address()),
        *((reach.say(name), reach.address("", path="/".join(names[: at + 1]))) for at, name in enumerate(names)),
    ]


def search_words(reach: Reach) -> str:
    """What is searched for, empty for nothing."""
    return reach.get("q").strip()[:LONGEST_QUERY]


def shown_query(reach: Reach, query: str) -> str:
    """What stands in the field of a search: nothing where it holds a value of the vault."""
    return query if reach.say(query) == query else ""
