"""`/console/content/knowledge`: documents by tag, what is found in them, and one document with its chunks.

Settles what of a document a page shows. Does not settle which chunks a model gets (`content.knowledge_chunks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.content.knowledge import ListDocuments, ListTags, ReadDocument, list_documents, list_tags, read_document
from stanch.content.knowledge_chunks import (
    ChunkShown,
    FoundShown,
    ListChunks,
    SearchKnowledge,
    list_chunks,
    search_knowledge,
)
from stanch.content.knowledge_shown import BrokenItem, DocumentShown
from stanch.content.provenance_told import Of
from stanch.surfaces.console.content import Place, search_words, shown_query
from stanch.surfaces.console.content_badges import Badge, Known, known_of, later, one_of
from stanch.surfaces.console.content_reach import Reach, made
from stanch.surfaces.console.content_text import FEW_LINES, Sides, got, marked, stored
from stanch.surfaces.console.guard import Asked
from stanch.values.fault import BadFields

MOST_DOCUMENTS = 40
MOST_CHUNKS = 20
MOST_FOUND = 25
MOST_TAGS = 40
AROUND = 300


class Row(NamedTuple):
    """A document in the list."""

    document: DocumentShown
    title: str
    path: str
    tags: Sequence[str]
    address: str
    badge: Badge


class Chunk(NamedTuple):
    """A chunk, as a model gets it and as it is."""

    number: int
    where: str
    badge: Badge
    sides: Sides


class Tag(NamedTuple):
    """A tag that documents can be chosen by."""

    name: str
    documents: int
    address: str
    chosen: bool


def listed(asked: Asked) -> Response:
    """The documents, newest first, those with a tag, or the chunks that were found."""
    reach = Reach(asked)
    query, tag = search_words(reach), reach.get("tag")
    problem, found = "", None
    if query:
        try:
            found = _found(reach, query, tag)
        except BadFields as why:
            problem = asked.failing.sentence(why)
    arguments = made(
        ListDocuments,
        tags=(tag,) if tag else (),
        limit=MOST_DOCUMENTS,
        cursor=reach.get("cursor") or None,
    )
    page = None if found is not None else reach.asks(list_documents, arguments)
    items = () if page is None else page.items
    return asked.page(
        "content_knowledge.html.j2",
        at="content",
        wide=True,
        tab="knowledge",
        query=shown_query(reach, query),
        problem=problem,
        found=found,
        rows=[_row(reach, one) for one in items if isinstance(one, DocumentShown)],
        broken=[one for one in items if isinstance(one, BrokenItem)],
        total=0 if page is None else page.total,
        further="" if page is None or page.next is None else reach.address("/knowledge", tag=tag, cursor=page.next),
        tags=_tags(reach, tag),
        tag=reach.say(tag),
        tag_fields=reach.fields(tag=tag),
    )


def _tags(reach: Reach, chosen: str) -> list[Tag]:
    page = reach.asks(list_tags, made(ListTags, limit=MOST_TAGS))
    return [
        Tag(reach.say(one.tag), one.count, reach.address("/knowledge", tag=one.tag), one.tag == chosen)
        for one in page.items
    ]


def _row(reach: Reach, one: DocumentShown) -> Row:
    return Row(
        one,
        reach.say(one.title),
        reach.say(one.path),
        [reach.say(tag) for tag in one.tags],
        reach.address("/document", id=one.id),
        later(reach, Of.DOCUMENT, one.id),
    )


def _found(reach: Reach, query: str, tag: str) -> dict[str, Any]:
    """The chunks that were found. WHY asked twice: what no model may have is found all the same, without its text."""
    arguments = made(
        SearchKnowledge,
        query=query,
        tags=(tag,) if tag else (),
        characters=AROUND,
        limit=MOST_FOUND,
        cursor=reach.get("cursor") or None,
    )
    page = reach.asks(search_knowledge, arguments)
    shown = {
        (one["document"], one["number"]): marked(" ".join(one["text"].split()))
        for one in reach.as_model(search_knowledge, arguments)["items"]
        if "number" in one
    }
    found = [one for one in page.items if isinstance(one, FoundShown)]
    badges = _badges(reach, found)
    places = [
        Place(
            reach.say(one.title),
            _address(reach, one),
            _where(reach, one),
            shown.get((one.document, one.number)),
            badges[_name(one)].badge if _name(one) in badges else Badge("none", "–", "gone"),
        )
        for one in found
    ]
    further = "" if page.next is None else reach.address("/knowledge", q=query, tag=tag, cursor=page.next)
    return {"places": places, "total": page.total, "further": further}


def _address(reach: Reach, one: ChunkShown) -> str:
    cursor = str(one.number - 1) if one.number else None
    return f"{reach.address('/document', id=one.document, cursor=cursor)}#chunk-{one.number}"


def page(asked: Asked) -> Response:
    """One document, with some of its chunks."""
    reach = Reach(asked)
    document_id = reach.get("id")
    document = reach.asks(read_document, made(ReadDocument, id=document_id, text=False)).document
    known = one_of(reach, Of.DOCUMENT, document_id)
    cursor = reach.get("cursor") or None
    arguments = made(ListChunks, id=document_id, limit=MOST_CHUNKS, cursor=cursor)
    chunks = reach.asks(list_chunks, arguments)
    here = {"id": document_id, "cursor": cursor}
    return asked.page(
        "content_document.html.j2",
        at="content",
        wide=True,
        document=document,
        title=reach.say(document.title),
        path=reach.say(document.path),
        path_address="" if document.path is None else reach.address("/file", path=document.path),
        tags=[reach.say(tag) for tag in document.tags],
        known=known,
        chunks=_chunks(reach, [one for one in chunks.items if isinstance(one, ChunkShown)], arguments),
        broken=[one for one in chunks.items if isinstance(one, BrokenItem)],
        total=chunks.total,
        first="" if cursor is None else reach.address("/document", id=document_id),
        further=""
        if chunks.next is None
        else reach.address("/document", id=document_id, cursor=chunks.next, raw=asked.get("raw")),
        raw=reach.raw,
        here={
            "redacted": reach.address("/document", **here),
            "raw": reach.address("/document", **here, raw=1),
            "download": reach.address("/download", kind="document", id=document_id),
        },
    )


def _chunks(reach: Reach, chunks: Sequence[ChunkShown], arguments: ListChunks) -> list[Chunk]:
    shown = {one["number"]: one["text"] for one in reach.as_model(list_chunks, arguments)["items"] if "number" in one}
    badges = _badges(reach, chunks)
    found = []
    for one in chunks:
        known = badges.get(_name(one))
        as_it_is = stored(one.text, FEW_LINES) if reach.raw else None
        if one.number in shown:
            sides = Sides(got(shown[one.number], FEW_LINES), "", as_it_is)
        else:
            sides = Sides(None, _why(known), as_it_is)
        badge = known.badge if known is not None else Badge("none", "–", "gone")
        found.append(Chunk(one.number, _where(reach, one), badge, sides))
    return found


def _why(known: Known | None) -> str:
    says = "" if known is None else known.text_says
    return says if says.startswith("withheld") else "withheld: it could not be looked through"


def _badges(reach: Reach, chunks: Sequence[ChunkShown]) -> dict[str, Known]:
    return dict(known_of(reach, Of.CHUNK, [_name(one) for one in chunks])) if chunks else {}


def _name(one: ChunkShown) -> str:
    return f"{one.document}#{one.number}"


def _where(reach: Reach, one: ChunkShown) -> str:
    on = f"page {one.page}, " if one.page is not None else ""
    on = f"{reach.say(one.sheet)}, " if one.sheet is not None else on
    return f"{on}characters {one.start:,} to {one.stop:,}"
