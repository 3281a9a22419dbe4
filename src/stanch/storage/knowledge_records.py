"""What the store says of knowledge: documents, the chunks that they are cut into, tags.

Settles fields and their types. Does not settle how they are kept (`content_knowledge`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """A document. `owner` is None for one of the workspace, `path` the file that it was made of, if it was.

    `original` and `text` are digests of bytes: of the document as it came, and of its text in UTF-8. `size` counts the
    bytes of the original, `length` the characters of the text. `tags` are in order.
    """

    id: str
    owner: str | None
    title: str
    media_type: str
    path: str | None
    original: str
    size: int
    text: str
    length: int
    chunks: int
    created_at: datetime
    changed_at: datetime
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChunk:
    """A chunk to be kept. `words` are what it is found by, in their order; `provenance` is sealed."""

    number: int
    start: int
    stop: int
    page: int | None
    sheet: str | None
    text: str
    words: tuple[str, ...]
    provenance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRecord:
    """A chunk of a document: its characters from `start` up to `stop`, and the page or sheet that they stand on.

    `owner`, `path` and `source` are its document's: `source` is the digest of the document's text.
    """

    id: int
    document_id: str
    number: int
    start: int
    stop: int
    page: int | None
    sheet: str | None
    text: str
    owner: str | None
    path: str | None
    source: str


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk in which every word that was asked for stands. `score` is from 0 to 1,000,000, the best first."""

    chunk: ChunkRecord
    score: int


@dataclass(frozen=True, slots=True)
class TagRecord:
    """A tag: how many documents have it, and some of them."""

    tag: str
    count: int
    documents: tuple[str, ...]
