"""The operation that gives documents with their chunks as one archive.

Settles that each original and each chunk is admitted before a byte of it is read, and that an archive which could not
be made whole has no end, so that nobody takes it for one. Does not settle how a stream is sent (`surfaces`).
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Generator, Iterator
from contextlib import closing
from datetime import datetime
from typing import BinaryIO, cast

from pydantic import Field

from stanch.content.access import Access
from stanch.content.knowledge_provenance import KnownChunks, KnownDocuments, chunk_source, document_source
from stanch.content.knowledge_shown import DocumentId, Tags, document_shown
from stanch.content.streams import Stream
from stanch.delivery.admit import admit_content, require_admitted_content
from stanch.delivery.operation import Asked, ContentDelivery, operation
from stanch.delivery.source import OPAQUE
from stanch.storage.knowledge_records import ChunkRecord, DocumentRecord
from stanch.values.fault import BrokenRow, Conflict, NotFound
from stanch.values.records import Broken

NAME = "knowledge.zip"
PAGE = 200
_ENDINGS = {
    "text/plain": "txt",
    "text/markdown": "md",
    "text/html": "html",
    "text/csv": "csv",
    "application/json": "json",
}


class ExportKnowledge(Asked):
    """Which documents are asked for. Left out: all that the caller sees."""

    documents: tuple[DocumentId, ...] | None = Field(default=None, max_length=500)
    tags: Tags = ()


@operation(
    "knowledge_export",
    ExportKnowledge,
    tool="knowledge_export",
    content_delivery=ContentDelivery.SOURCED,
    in_chat=False,
)
def export_knowledge(access: Access, asked: ExportKnowledge) -> Stream:
    """Give documents of the knowledge base as an archive: each as it came, what it is called, and its chunks."""
    _all_there(access, asked)
    records = _records(access, asked)
    first = next(records, None)
    if first is None:
        admit_content(access.delivery, ())
    else:
        # WHY here: where the very first may not be had, that is an answer of its own, and no archive is begun.
        _admit_document(access, first)
    return Stream(_archive(access, first, records), NAME, "application/zip")


def _all_there(access: Access, asked: ExportKnowledge) -> None:
    """Raises `NotFound` for a document that is named and not seen: no archive is what was asked for without it."""
    named = tuple(dict.fromkeys(asked.documents or ()))
    if named and access.stores.list_documents(access.person, ids=named, limit=1).total < len(named):
        seen = {one.id for one in access.stores.documents_of(named, access.person)}
        raise NotFound("document", next(one for one in named if one not in seen))


def _records(access: Access, asked: ExportKnowledge) -> Iterator[DocumentRecord]:
    """The documents, page by page. Raises `BrokenRow` for one that cannot be read: an archive leaves none out."""
    cursor: str | None = None
    while True:
        page = access.stores.list_documents(
            access.person, ids=asked.documents, tags=asked.tags, limit=PAGE, cursor=cursor
        )
        for one in page.items:
            if isinstance(one, Broken):
                raise BrokenRow(one.table, one.id, one.problem)
            yield one
        cursor = page.next
        if cursor is None:
            return


def _archive(access: Access, first: DocumentRecord | None, others: Iterator[DocumentRecord]) -> Iterator[bytes]:
    out = _Out()
    # INVARIANT: never as a context manager, which would write the end of the archive also where it failed.
    archive = zipfile.ZipFile(cast("BinaryIO", out), "w", zipfile.ZIP_DEFLATED)
    record, done = first, 0
    while record is not None:
        if done:
            _admit_document(access, record)
        with closing(_document(access, archive, record)) as steps:
            for _ in steps:
                yield from out.taken()
        done += 1
        access.told(done, None)
        record = next(others, None)
    archive.close()
    yield from out.taken()


def _document(access: Access, archive: zipfile.ZipFile, record: DocumentRecord) -> Generator[None, None, None]:
    """Writes one document that was admitted, in steps.

    WHY the names of files hold nothing of it: a title may hold anything.
    """
    at = record.changed_at
    about = json.dumps(document_shown(record).model_dump(mode="json"), ensure_ascii=False, indent=1)
    archive.writestr(_entry(f"{record.id}/document.json", at), about)
    ending = _ENDINGS.get(record.media_type, "bin")
    with archive.open(_entry(f"{record.id}/original.{ending}", at), "w", force_zip64=True) as file:
        for block in access.blobs.chunks(record.original):
            file.write(block)
            yield
    with archive.open(_entry(f"{record.id}/chunks.jsonl", at), "w", force_zip64=True) as file:
        for chunks in _chunks(access, record):
            known = KnownChunks(access, chunks)
            for one in chunks:
                require_admitted_content(access.delivery, chunk_source(one, known.of(one), access, OPAQUE))
                file.write(_line(one))
            yield
    yield


def _chunks(access: Access, record: DocumentRecord) -> Iterator[list[ChunkRecord]]:
    """The chunks of the document as it was admitted, page by page. Raises `Conflict` once it is another."""
    cursor: str | None = None
    while True:
        if access.cancelled.is_set():
            raise Conflict("nobody waits for the archive any more")
        try:
            page = access.stores.list_chunks(record.id, access.person, source=record.text, limit=PAGE, cursor=cursor)
        except NotFound:
            raise Conflict("a document was changed while it was given") from None
        found: list[ChunkRecord] = []
        for one in page.items:
            if isinstance(one, Broken):
                raise BrokenRow(one.table, one.id, one.problem)
            found.append(one)
        yield found
        cursor = page.next
        if cursor is None:
            return


def _admit_document(access: Access, record: DocumentRecord) -> None:
    known = KnownDocuments(access, [record]).of(record.id)
    require_admitted_content(access.delivery, document_source(record, known, OPAQUE, access))
    # WHY before any is sent: bytes that were changed behind our back are not those that were admitted.
    if access.delivery.classified and not access.blobs.is_whole(record.original):
        raise BrokenRow("knowledge_documents", record.id, "its bytes were changed")


def _line(chunk: ChunkRecord) -> bytes:
    fields = {name: getattr(chunk, name) for name in ("number", "start", "stop", "page", "sheet", "text")}
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _entry(name: str, at: datetime) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, (max(1980, min(at.year, 2107)), *at.timetuple()[1:6]))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


class _Out:
    """Takes what is written, for somebody who fetches it. Nothing goes back in it."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Takes some bytes."""
        self._blocks.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Does nothing: what was written is there."""

    def taken(self) -> Iterator[bytes]:
        """What was written since this was last asked."""
        blocks, self._blocks = self._blocks, []
        if blocks:
            yield b"".join(blocks)
