"""The chunks of documents: how they are kept, listed and found.

Settles that words are looked up among the chunks of documents that the caller sees and nowhere else, and that nothing
of any other document has a part in a count, a score or an order. Does not settle what a word is: words come told apart.
WHY scores of our own: the databases' weigh a word by how many documents hold it, those of other people too.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, and_, cast, func, insert, or_, select, text

from stanch.storage.content_knowledge_schema import KNOWLEDGE_CHUNKS, KNOWLEDGE_DOCUMENTS, KNOWLEDGE_TAGS
from stanch.storage.knowledge_records import ChunkRecord, FoundChunk, NewChunk
from stanch.storage.pages import LARGEST_PAGE, LONGEST_CURSOR
from stanch.storage.rows import LARGEST, LARGEST_ID, Fields, Row, Unread, is_storable
from stanch.storage.transactions import Transactions
from stanch.values.fault import BadInput, BrokenRow, NotFound
from stanch.values.records import Broken, Page

MOST_WORDS = 16
"""How many words may be looked for together."""
BEST = 1_000_000
_AT_ONCE = 500
_CHUNKS, _DOCUMENTS = KNOWLEDGE_CHUNKS.c, KNOWLEDGE_DOCUMENTS.c
_JOINED = KNOWLEDGE_CHUNKS.join(KNOWLEDGE_DOCUMENTS, _DOCUMENTS.id == _CHUNKS.document_id)
_COLUMNS = (
    *(one for one in KNOWLEDGE_CHUNKS.c if one.name not in ("words", "count", "provenance")),
    _DOCUMENTS.owner,
    _DOCUMENTS.path,
    _DOCUMENTS.text.label("source"),
)
_LOOKED_UP = {
    "sqlite": "knowledge_chunks.id IN (SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH :looked_up)",
    "postgresql": "knowledge_chunks.id IN (SELECT id FROM knowledge_words WHERE words @@ CAST(:looked_up AS tsquery))",
}


class ChunkRows(Transactions):
    """What is kept of chunks."""

    def list_chunks(
        self,
        document_id: str,
        person: str | None,
        *,
        source: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[ChunkRecord | Broken]:
        """A page of a document's chunks, in their order. `source`: only while its text has this digest.

        Raises `NotFound` where this person sees no such document.
        """
        _limited(limit)
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and int(cursor[:20]) <= LARGEST):
            raise BadInput("'cursor' is none that this list has given")
        document = [_DOCUMENTS.id == document_id, seen(person)]
        if source is not None:
            document.append(_DOCUMENTS.text == source)
        with self._reading() as connection:
            known = is_storable(document_id) and connection.execute(select(_DOCUMENTS.id).where(*document)).first()
            if not known:
                raise NotFound("document", document_id)
            total = connection.execute(select(func.count()).select_from(_JOINED).where(*document)).scalar_one()
            wanted = select(*_COLUMNS).select_from(_JOINED).where(*document, _CHUNKS.number > int(cursor or -1))
            rows = connection.execute(wanted.order_by(_CHUNKS.number).limit(limit + 1)).mappings().all()
        following = str(rows[limit - 1]["number"]) if len(rows) > limit else None
        return Page(tuple(map(_read, rows[:limit])), total, following)

    def chunk_provenance(self, ids: Iterable[int]) -> dict[int, str | None]:
        """What is kept beside these chunks, sealed, by their ids."""
        wanted = select(_CHUNKS.id, _CHUNKS.provenance).where(_CHUNKS.id.in_(tuple(ids)))
        with self._reading() as connection:
            return {int(row[0]): row[1] for row in connection.execute(wanted)}

    def find_chunks(
        self,
        words: Sequence[str],
        person: str | None,
        *,
        ids: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[FoundChunk | Broken]:
        """A page of the chunks in which all of the words stand, the best first, as this person sees them.

        Words are of `a` to `z`, `0` to `9` and `_`. Raises `BadInput` for others, and for none or too many.
        """
        _limited(limit)
        if not 0 < len(words) <= MOST_WORDS or not all(map(_is_word, words)):
            raise BadInput(f"'query' must have 1 to {MOST_WORDS} words")
        name = hashlib.sha256(repr((sorted(words), ids, sorted(tags), person)).encode()).hexdigest()[:12]
        score = _score(words).label("score")
        where = [seen(person), *chosen(ids, tags)]
        with self._reading() as connection:
            where.append(_looked_up(connection, words))
            total = connection.execute(select(func.count()).select_from(_JOINED).where(*where)).scalar_one()
            ranked = select(*_COLUMNS, score).select_from(_JOINED).where(*where).subquery()
            wanted = select(ranked)
            if cursor is not None:
                wanted = wanted.where(_behind(ranked.c, *_place(cursor, name)))
            wanted = wanted.order_by(ranked.c.score.desc(), ranked.c.document_id, ranked.c.number)
            rows = connection.execute(wanted.limit(limit + 1)).mappings().all()
        following = _cursor(name, rows[limit - 1]) if len(rows) > limit else None
        return Page(tuple(map(_found, rows[:limit])), total, following)

    def _add_chunks(self, connection: Connection, document_id: str, chunks: Sequence[NewChunk]) -> None:
        for start in range(0, len(chunks), _AT_ONCE):
            rows = [{"document_id": document_id, **_row(one)} for one in chunks[start : start + _AT_ONCE]]
            connection.execute(insert(KNOWLEDGE_CHUNKS), rows)


def seen(person: str | None) -> ColumnElement[bool]:
    """True for the documents that this person sees: the workspace's, and their own."""
    if person is None:
        return _DOCUMENTS.owner.is_(None)
    return or_(_DOCUMENTS.owner.is_(None), _DOCUMENTS.owner == person)


def chosen(ids: Sequence[str] | None, tags: Sequence[str]) -> Iterable[ColumnElement[bool]]:
    """True for documents of these ids, where some are named, that have all of these tags."""
    if ids is not None:
        yield _DOCUMENTS.id.in_(tuple(ids))
    for tag in tags:
        yield _DOCUMENTS.id.in_(select(KNOWLEDGE_TAGS.c.document_id).where(KNOWLEDGE_TAGS.c.tag == tag))


def _row(chunk: NewChunk) -> dict[str, Any]:
    words = "".join(f" {word} " for word in chunk.words)
    return {**asdict(chunk), "words": words, "count": len(chunk.words)}


def _read(row: Row) -> ChunkRecord | Broken:
    fields = Fields(row)
    try:
        return ChunkRecord(
            id=fields.whole("id", 0, LARGEST_ID),
            document_id=fields.key("document_id"),
            number=fields.whole("number", 0),
            start=fields.whole("start", 0, LARGEST_ID),
            stop=fields.whole("stop", 0, LARGEST_ID),
            page=None if row["page"] is None else fields.whole("page", 0),
            sheet=fields.maybe("sheet"),
            text=fields.text("text"),
            owner=fields.maybe_key("owner"),
            path=fields.maybe("path"),
            source=fields.key("source"),
        )
    except Unread as why:
        return Broken(KNOWLEDGE_CHUNKS.name, str(row["id"]), str(why))


def _found(row: Row) -> FoundChunk | Broken:
    chunk = _read(row)
    return chunk if isinstance(chunk, Broken) else FoundChunk(chunk, int(row["score"]))


def _limited(limit: int) -> None:
    if type(limit) is not int or not 1 <= limit <= LARGEST_PAGE:
        raise BadInput(f"'limit' must be a whole number from 1 to {LARGEST_PAGE}")


def _is_word(word: str) -> bool:
    return word.isascii() and word.replace("_", "").isalnum() and word == word.lower()


def _looked_up(connection: Connection, words: Sequence[str]) -> ColumnElement[bool]:
    """True for chunks in which all of the words stand. INVARIANT: each is quoted, and holds no quote."""
    dialect = connection.dialect.name
    each = [f'"{word}"' for word in words] if dialect == "sqlite" else [f"'{word}'" for word in words]
    looked_up = (" " if dialect == "sqlite" else " & ").join(each)
    found: Any = text(_LOOKED_UP[dialect]).bindparams(looked_up=looked_up)
    return and_(found)


def _score(words: Sequence[str]) -> ColumnElement[int]:
    """How often the words stand in a chunk, as against its length: in whole numbers, the same in both databases."""
    parts: list[ColumnElement[int]] = []
    for word in words:
        marked = f" {word} "
        without = func.length(func.replace(_CHUNKS.words, marked, ""), type_=BigInteger)
        often = cast((func.length(_CHUNKS.words, type_=BigInteger) - without) // len(marked), BigInteger)
        # Saturating, as in BM25 with its usual constants, for chunks of 150 words on average.
        parts.append((often * 200 * BEST) // (often * 200 + 60 + (_CHUNKS.count * 6) // 5))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total // len(words)


def _behind(columns: Any, score: int, document_id: str, number: int) -> ColumnElement[bool]:
    later = and_(columns.document_id == document_id, columns.number > number)
    return or_(columns.score < score, and_(columns.score == score, or_(columns.document_id > document_id, later)))


def _cursor(name: str, row: Row) -> str:
    place = [name, int(row["score"]), row["document_id"], row["number"]]
    if not isinstance(row["document_id"], str) or type(row["number"]) is not int:
        raise BrokenRow(KNOWLEDGE_CHUNKS.name, str(row["id"]), "it has no place in the order")
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _place(cursor: str, name: str) -> tuple[int, str, int]:
    cut = cursor[:LONGEST_CURSOR]
    try:
        said = json.loads(base64.b64decode(cut + "=" * (-len(cut) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        said = None
    match said:
        case [str(of), int(score), str(document_id), int(number)] if (
            of == name and is_storable(document_id) and 0 <= score <= BEST and 0 <= number <= LARGEST
        ):
            return int(score), document_id, int(number)
    raise BadInput("'cursor' is none that this list has given")
