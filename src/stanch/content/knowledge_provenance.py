"""What is known of documents and chunks: how it is bound to them, and how it is read.

Settles what an item's version is, so that whatever was changed behind our back is unknown. Does not settle what is
known of a value that is written (`content.knowledge_writing`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stanch.content.access import Access
from stanch.delivery.source import COMPLETE, Batch, Derived, Kind, Known, Source, View
from stanch.provenance.states import Cause, Provenance, Unknown, merged
from stanch.secrets.sealing import Place
from stanch.storage.content_knowledge import CONTENT, TAGS, TITLE, Sealed
from stanch.storage.knowledge_records import ChunkRecord, DocumentRecord

_COLUMN = "provenance"


def document_place(document_id: str, part: str) -> Place:
    """Where the provenance of a part of a document stands."""
    return Place("knowledge_documents", document_id, part)


def chunk_place(document_id: str, number: int) -> Place:
    """Where the provenance of a chunk stands."""
    return Place("knowledge_chunks", f"{document_id}.{number}", _COLUMN)


def document_versions(record: DocumentRecord) -> Mapping[str, str]:
    """A digest of all that each part of a document is, which says its content by the digests of bytes and text."""
    content = [record.media_type, record.path, record.original, record.size, record.text, record.length]
    return {
        CONTENT: _digest([record.owner, *content]),
        TITLE: _digest([record.owner, record.title]),
        TAGS: _digest([record.owner, *record.tags]),
    }


def sealed(access: Access, record: DocumentRecord, known: Mapping[str, Provenance]) -> Sealed:
    """What is kept beside these parts of a document."""
    versions = document_versions(record)
    return {
        part: access.seals.kept(of_part, document_place(record.id, part), versions[part])
        for part, of_part in known.items()
    }


def chunk_version(
    document_id: str, source: str, number: int, borders: tuple[int, int, int | None, str | None], text: str
) -> str:
    """A digest of all that a chunk is, and of the text that it was cut out of: `source` is that one's digest."""
    return _digest([document_id, source, number, *borders, text])


def document_source(record: DocumentRecord, known: Known, view: View, access: Access) -> Source:
    """A document on its way out."""
    return Source(Kind.DOCUMENT, record.id, known, view, _lies_at(access, record.path), version=record.text)


def chunk_source(chunk: ChunkRecord, known: Known, access: Access, view: View = COMPLETE) -> Source:
    """A chunk on its way out."""
    item, path = f"{chunk.document_id}#{chunk.number}", _lies_at(access, chunk.path)
    return Source(Kind.CHUNK, item, known, view, path, version=chunk.source)


def named(record: DocumentRecord) -> Derived:
    """What a document is called, which is all of it that a list shows."""
    return Derived([record.title, record.media_type, record.path, list(record.tags)])


class KnownDocuments:
    """What is known of some documents, read together when the first is asked about."""

    def __init__(self, access: Access, records: Iterable[DocumentRecord]) -> None:
        self._access, self._records = access, {one.id: one for one in records}
        self._batch = Batch(self._read)

    def of(self, document_id: str) -> Known:
        """What is known of one of them."""
        return self._batch.of(document_id)

    def _read(self) -> Mapping[str, Provenance]:
        kept = self._access.stores.document_provenance(self._records)
        # WHY once more: a document that was changed between the two reads is not the one that this is known of.
        now = {one.id: one for one in self._access.stores.documents_of(list(self._records), self._access.person)}
        return {
            one: merged(self._parts(self._records[one], parts))
            if now.get(one) == self._records[one]
            else Unknown(Cause.VERSION_MISMATCH)
            for one, parts in kept.items()
        }

    def _parts(self, record: DocumentRecord, kept: Sealed) -> Iterator[Provenance]:
        for part, version in document_versions(record).items():
            place = document_place(record.id, part)
            yield self._access.seals.known(kept[part], place, version, owner=record.owner)


class KnownChunks:
    """What is known of some chunks, read together when the first is asked about."""

    def __init__(self, access: Access, records: Iterable[ChunkRecord]) -> None:
        self._access, self._records = access, {one.id: one for one in records}
        self._batch = Batch(self._read)

    def of(self, chunk: ChunkRecord) -> Known:
        """What is known of one of them."""
        return self._batch.of(str(chunk.id))

    def _read(self) -> Mapping[str, Provenance]:
        kept = self._access.stores.chunk_provenance(self._records)
        return {str(one): self._opened(self._records[one], sealed) for one, sealed in kept.items()}

    def _opened(self, one: ChunkRecord, sealed: str | None) -> Provenance:
        version = chunk_version(
            one.document_id, one.source, one.number, (one.start, one.stop, one.page, one.sheet), one.text
        )
        return self._access.seals.known(sealed, chunk_place(one.document_id, one.number), version, owner=one.owner)


def _lies_at(access: Access, path: str | None) -> str | None:
    return None if path is None else access.place(path)


def _digest(value: list[Any]) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()
