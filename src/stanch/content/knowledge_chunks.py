"""Operations that read chunks: those of one document in their order, and those in which words stand.

Settles that a chunk is projected as a part of its document, so that a secret which stands across the border of two
chunks is in neither. Does not settle which chunks a person sees (`storage.content_knowledge_chunks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from stanch.content.access import Access
from stanch.content.knowledge_pieces import MOST_TEXT
from stanch.content.knowledge_provenance import KnownChunks, KnownDocuments, chunk_source, document_source
from stanch.content.knowledge_shown import (
    BrokenItem,
    DocumentId,
    Tags,
    broken_shown,
)
from stanch.content.knowledge_words import spans, words_of
from stanch.content.left_out import Cursor, LeavesOut, Left, Limit
from stanch.delivery.admit import Admission, ContentRefused, Window, admit_content, redact_before_cutting
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.delivery.source import Derived
from stanch.storage.content_knowledge_chunks import BEST, MOST_WORDS
from stanch.storage.knowledge_records import ChunkRecord, FoundChunk
from stanch.values.fault import BadFields, StoreUnreadable
from stanch.values.reason import Code
from stanch.values.records import Broken

AROUND = 400_000
"""How many characters before and behind a chunk are looked through with it: as many as any form of a secret has."""


class ListChunks(Asked):
    """Which chunks are asked for."""

    id: DocumentId
    limit: Limit = 50
    cursor: Cursor = None


class ChunkShown(Given):
    """A chunk: its characters from `start` up to `stop` of the document's text, and the page or sheet they are from."""

    document: str
    number: int
    text: str
    page: int | None
    sheet: str | None
    start: int
    stop: int


class ChunksPage(LeavesOut):
    """A page of chunks."""

    items: tuple[ChunkShown | BrokenItem, ...]
    total: int
    next: str | None


@operation("knowledge_chunks", ListChunks, tool="knowledge_chunks", content_delivery=ContentDelivery.SOURCED)
def list_chunks(access: Access, asked: ListChunks) -> ChunksPage:
    """List the chunks of one document of the knowledge base, in their order."""
    page = access.stores.list_chunks(asked.id, access.person, limit=asked.limit, cursor=asked.cursor)
    chunks = [one for one in page.items if isinstance(one, ChunkRecord)]
    left = Left()
    shown = _Cutting(access, left).of(chunks)
    items: list[ChunkShown | BrokenItem] = []
    for one in page.items:
        if isinstance(one, Broken):
            items.append(broken_shown(one))
        elif (text := shown.get(one.id)) is not None:
            items.append(_shown(one, text))
    return ChunksPage(items=tuple(items), total=page.total, next=page.next, **left.told)


class SearchKnowledge(Asked):
    """What is looked for, and where."""

    query: str = Field(min_length=1, max_length=1_000, description="Words, all of which have to stand in a chunk.")
    documents: tuple[DocumentId, ...] | None = Field(
        default=None, max_length=500, description="Only in these documents."
    )
    tags: Tags = ()
    characters: int | None = Field(
        default=None, ge=20, le=4_000, description="How much of each chunk is given, around the first word that fits."
    )
    limit: Annotated[int, Field(ge=1, le=100, description="How many chunks a page holds at most.")] = 20
    cursor: Cursor = None


class FoundShown(ChunkShown):
    """A chunk that was found. `score` is from 0 to 1; `title` is None where it may not be given."""

    score: float
    title: str | None


class FoundPage(LeavesOut):
    """A page of what was found, the best first. `total` counts what this caller could read."""

    items: tuple[FoundShown | BrokenItem, ...]
    total: int
    next: str | None


@operation("knowledge_search", SearchKnowledge, tool="knowledge_search", content_delivery=ContentDelivery.SOURCED)
def search_knowledge(access: Access, asked: SearchKnowledge) -> FoundPage:
    """Search the documents of the knowledge base for words. Whole words count, in any order and case."""
    words = tuple(dict.fromkeys(words_of(asked.query)))
    if not 0 < len(words) <= MOST_WORDS:
        raise BadFields(("query", f"'query' must have 1 to {MOST_WORDS} different words"))
    page = access.stores.find_chunks(
        words, access.person, ids=asked.documents, tags=asked.tags, limit=asked.limit, cursor=asked.cursor
    )
    found = [one for one in page.items if isinstance(one, FoundChunk)]
    left = Left()
    windows = {one.chunk.id: _around(one.chunk.text, frozenset(words), asked.characters) for one in found}
    shown = _Cutting(access, left, windows).of([one.chunk for one in found])
    titles = _titles(access, {one.chunk.document_id for one in found if one.chunk.id in shown})
    items: list[FoundShown | BrokenItem] = []
    for one in page.items:
        if isinstance(one, Broken):
            items.append(broken_shown(one))
        elif (text := shown.get(one.chunk.id)) is not None:
            fields = _shown(one.chunk, text).model_dump()
            title = titles.get(one.chunk.document_id)
            items.append(FoundShown(**fields, score=one.score / BEST, title=title))
    return FoundPage(items=tuple(items), total=page.total, next=page.next, **left.told)


class _Cutting:
    """Admits chunks one by one, and gives the text of those that pass, as much of it as is wanted."""

    def __init__(self, access: Access, left: Left, windows: dict[int, Window] | None = None) -> None:
        self._access, self._left, self._windows = access, left, windows or {}
        self._source, self._text = "", ""

    def of(self, chunks: Sequence[ChunkRecord]) -> dict[int, str]:
        """The texts by the ids of their chunks."""
        known = KnownChunks(self._access, chunks)
        sources = [chunk_source(one, known.of(one), self._access) for one in chunks]
        admissions = admit_content(self._access.delivery, sources)
        found: dict[int, str] = {}
        # WHY in this order: the text of a document is read once, however its chunks are ranked.
        for one, admission in sorted(zip(chunks, admissions, strict=True), key=lambda pair: pair[0].document_id):
            text = self._cut(one, admission)
            if text is not None:
                found[one.id] = text
        return found

    def _cut(self, chunk: ChunkRecord, admission: Admission) -> str | None:
        if admission.refusal is not None:
            self._left.out(admission.refusal.code)
            return None
        window = self._windows.get(chunk.id, Window())
        if not self._access.delivery.classified:
            return chunk.text[window.start : window.end]
        try:
            before, behind = self._surroundings(chunk)
            at = len(before)
            end = at + (len(chunk.text) if window.end is None else min(window.end, len(chunk.text)))
            whole = before + chunk.text + behind
            return redact_before_cutting(self._access.delivery, whole, Window(at + window.start, end))
        except ContentRefused as why:
            self._left.out(why.reason.code)
        except StoreUnreadable:
            # WHY withheld: what stands around the chunk cannot be read, so a part of a secret could go out with it.
            self._left.out(Code.CONTENT_UNKNOWN)
        return None

    def _surroundings(self, chunk: ChunkRecord) -> tuple[str, str]:
        if chunk.source != self._source:
            self._text = self._access.blobs.whole(chunk.source, MOST_TEXT).decode()
            self._source = chunk.source
        text = self._text
        return text[max(0, chunk.start - AROUND) : chunk.start], text[chunk.stop : chunk.stop + AROUND]


def _shown(chunk: ChunkRecord, text: str) -> ChunkShown:
    return ChunkShown(
        document=chunk.document_id,
        number=chunk.number,
        text=text,
        page=chunk.page,
        sheet=chunk.sheet,
        start=chunk.start,
        stop=chunk.stop,
    )


def _around(text: str, words: frozenset[str], characters: int | None) -> Window:
    """The part of a chunk that is given: around the first of the words."""
    if characters is None or len(text) <= characters:
        return Window()
    first = next((start for word, start, _ in spans(text) if word in words), 0)
    start = max(0, min(first - characters // 4, len(text) - characters))
    return Window(start, start + characters)


def _titles(access: Access, ids: set[str]) -> dict[str, str]:
    """The titles of documents, where they may be given."""
    records = access.stores.documents_of(sorted(ids), access.person)
    known = KnownDocuments(access, records)
    sources = [document_source(one, known.of(one.id), Derived(one.title), access) for one in records]
    admissions = admit_content(access.delivery, sources)
    return {one.id: one.title for one, admission in zip(records, admissions, strict=True) if admission.admitted}
