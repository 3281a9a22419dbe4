"""The part of the content store that keeps knowledge: documents and their tags.

Settles that a document, its tags and its chunks are changed together or not at all, and that a document of somebody
else is not there. Does not settle how chunks are found (`content_knowledge_chunks`), nor what is known of any of them:
that is read apart, by whoever has to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from stanch.storage.content_knowledge_chunks import ChunkRows, chosen, seen
from stanch.storage.content_knowledge_schema import KNOWLEDGE_CHUNKS, KNOWLEDGE_DOCUMENTS, KNOWLEDGE_TAGS
from stanch.storage.knowledge_records import DocumentRecord, NewChunk, TagRecord
from stanch.storage.pages import LARGEST_PAGE, page_of
from stanch.storage.rows import LARGEST_ID, Fields, Noun, written_moment
from stanch.storage.transactions import Change, find
from stanch.values.fault import BadInput, Conflict, quoted
from stanch.values.records import Actor, Broken, Page

MOST_HOLDERS = 20
"""How many of the documents that have a tag are named with it."""
PARTS = CONTENT, TITLE, TAGS = "provenance", "title_provenance", "tags_provenance"
"""The parts of a document that are known of apart, by the columns that keep it."""
Sealed = Mapping[str, str | None]
"""What is kept beside parts of a document."""
_DOCUMENTS, _TAGS = KNOWLEDGE_DOCUMENTS.c, KNOWLEDGE_TAGS.c


def _document(row: Fields) -> DocumentRecord:
    return DocumentRecord(
        id=row.key("id"),
        owner=row.maybe_key("owner"),
        title=row.text("title"),
        media_type=row.key("media_type"),
        path=row.maybe("path"),
        original=row.key("original"),
        size=row.whole("size", 0, LARGEST_ID),
        text=row.key("text"),
        length=row.whole("length", 0, LARGEST_ID),
        chunks=row.whole("chunks", 0),
        created_at=row.moment("created_at"),
        changed_at=row.moment("changed_at"),
    )


DOCUMENT = Noun("document", KNOWLEDGE_DOCUMENTS, _document)


class KnowledgeRows(ChunkRows):
    """What is kept of knowledge."""

    def add_document(
        self, record: DocumentRecord, chunks: Sequence[NewChunk], *, provenance: Sealed, by: Actor
    ) -> DocumentRecord:
        """The document, kept with its chunks and tags. Its moments are those of the change.

        Raises `BadInput` for what could not be read again, and `Conflict` where the id is taken.
        """
        with self._changing(by, "knowledge.add", record.id) as change:
            at = written_moment(change.at)
            row = {**_columns(record), "chunks": len(chunks), "created_at": at, "changed_at": at}
            kept = DOCUMENT.written(row)
            change.vacant(DOCUMENT, record.id)
            change.add(DOCUMENT, {**row, **provenance})
            _tag(change.connection, record.id, record.tags)
            self._add_chunks(change.connection, record.id, chunks)
            change.detail.update(chunks=len(chunks), size=record.size, owner=record.owner)
        return replace(kept, tags=record.tags)

    def change_document(
        self,
        before: DocumentRecord,
        after: DocumentRecord,
        chunks: Sequence[NewChunk] | None,
        *,
        provenance: Sealed,
        by: Actor,
    ) -> DocumentRecord:
        """The document as it now is. `chunks` take the place of those that it has; None leaves them.

        `provenance` is that of the parts that are others now.

        Raises `Conflict` where it is not as `before` any more, and `NotFound` where it is gone.
        """
        with self._changing(by, "knowledge.change", before.id) as change:
            row = change.find(DOCUMENT, before.id)
            if replace(DOCUMENT.readable(row), tags=_tags_of(change.connection, [before.id])[before.id]) != before:
                raise Conflict(f"the document {quoted(before.id)} was changed meanwhile")
            columns = _columns(after)
            count = before.chunks if chunks is None else len(chunks)
            columns.update(changed_at=written_moment(change.at), chunks=count, **provenance)
            del columns["id"], columns["owner"]
            kept = change.replace(DOCUMENT, before.id, columns)
            change.connection.execute(delete(KNOWLEDGE_TAGS).where(_TAGS.document_id == before.id))
            _tag(change.connection, before.id, after.tags)
            if chunks is not None:
                _drop_chunks(change, before.id)
                self._add_chunks(change.connection, before.id, chunks)
            change.detail.update(chunks=count, text=chunks is not None)
        return replace(kept, tags=after.tags)

    def remove_document(self, document_id: str, person: str | None, *, by: Actor) -> None:
        """Removes a document with its chunks and tags. Raises `NotFound` for one that this person does not see."""
        with self._changing(by, "knowledge.delete", document_id) as change:
            change.find(DOCUMENT, document_id, seen(person))
            _drop_chunks(change, document_id)
            change.connection.execute(delete(KNOWLEDGE_TAGS).where(_TAGS.document_id == document_id))
            change.remove(DOCUMENT, _DOCUMENTS.id == document_id)

    def document(self, document_id: str, person: str | None) -> DocumentRecord:
        """A document that this person sees. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            found = DOCUMENT.readable(find(connection, DOCUMENT, document_id, seen(person)))
            return replace(found, tags=_tags_of(connection, [document_id])[document_id])

    def list_documents(
        self,
        person: str | None,
        *,
        ids: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[DocumentRecord | Broken]:
        """A page of the documents that this person sees, newest first, with all of these tags, of these ids if any."""
        conditions = [seen(person), *chosen(ids, tags)]
        with self._reading() as connection:
            page = page_of(
                connection,
                DOCUMENT,
                [_DOCUMENTS.created_at, _DOCUMENTS.id],
                limit=limit,
                cursor=cursor,
                conditions=conditions,
                descending=True,
            )
            tagged = _tags_of(connection, [one.id for one in page.items])
        items = (one if isinstance(one, Broken) else replace(one, tags=tagged[one.id]) for one in page.items)
        return Page(tuple(items), page.total, page.next)

    def documents_of(self, ids: Sequence[str], person: str | None) -> tuple[DocumentRecord, ...]:
        """Those of these documents that this person sees and that can be read, in the order of their ids."""
        wanted = select(KNOWLEDGE_DOCUMENTS).where(seen(person), *chosen(ids, ())).order_by(_DOCUMENTS.id)
        with self._reading() as connection:
            rows = connection.execute(wanted).mappings().all()
            tagged = _tags_of(connection, [row["id"] for row in rows])
        found = [DOCUMENT.read(row) for row in rows]
        return tuple(replace(one, tags=tagged[one.id]) for one in found if isinstance(one, DocumentRecord))

    def document_provenance(self, ids: Iterable[str]) -> dict[str, Sealed]:
        """What is kept beside each part of these documents, sealed, by their ids."""
        columns = [_DOCUMENTS[name] for name in PARTS]
        wanted = select(_DOCUMENTS.id, *columns).where(_DOCUMENTS.id.in_(tuple(ids)))
        with self._reading() as connection:
            rows = connection.execute(wanted).mappings().all()
        return {str(row["id"]): {name: row[name] for name in PARTS} for row in rows}

    def list_tags(self, person: str | None, *, limit: int = 50, cursor: str | None = None) -> Page[TagRecord]:
        """A page of the tags of documents that this person sees, by name.

        WHY a cursor counts: one that named the last tag would give it to somebody who may not have it.
        """
        if type(limit) is not int or not 1 <= limit <= LARGEST_PAGE:
            raise BadInput(f"'limit' must be a whole number from 1 to {LARGEST_PAGE}")
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
            raise BadInput("'cursor' is none that this list has given")
        start = int(cursor or 0)
        among = KNOWLEDGE_TAGS.join(KNOWLEDGE_DOCUMENTS, _DOCUMENTS.id == _TAGS.document_id)
        names = select(_TAGS.tag, func.count()).select_from(among).where(seen(person)).group_by(_TAGS.tag)
        with self._reading() as connection:
            total = connection.execute(select(func.count()).select_from(names.subquery())).scalar_one()
            found = connection.execute(names.order_by(_TAGS.tag).offset(start).limit(limit)).all()
            items = tuple(TagRecord(tag, count, _holders(connection, tag, person)) for tag, count in found)
        following = str(start + limit) if start + limit < total else None
        return Page(items, total, following)


def _columns(record: DocumentRecord) -> dict[str, Any]:
    names = ("id", "owner", "title", "media_type", "path", "original", "size", "text", "length")
    return {name: getattr(record, name) for name in names}


def _tag(connection: Connection, document_id: str, tags: Sequence[str]) -> None:
    if tags:
        connection.execute(insert(KNOWLEDGE_TAGS), [{"document_id": document_id, "tag": tag} for tag in tags])


def _tags_of(connection: Connection, ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {one: [] for one in ids}
    wanted = select(_TAGS.document_id, _TAGS.tag).where(_TAGS.document_id.in_(ids)).order_by(_TAGS.tag)
    for document_id, tag in connection.execute(wanted):
        found[document_id].append(tag)
    return {one: tuple(tags) for one, tags in found.items()}


def _holders(connection: Connection, tag: str, person: str | None) -> tuple[str, ...]:
    among = KNOWLEDGE_TAGS.join(KNOWLEDGE_DOCUMENTS, _DOCUMENTS.id == _TAGS.document_id)
    wanted = select(_DOCUMENTS.id).select_from(among).where(_TAGS.tag == tag, seen(person))
    return tuple(connection.execute(wanted.order_by(_DOCUMENTS.id).limit(MOST_HOLDERS)).scalars())


def _drop_chunks(change: Change, document_id: str) -> None:
    change.connection.execute(delete(KNOWLEDGE_CHUNKS).where(KNOWLEDGE_CHUNKS.c.document_id == document_id))
