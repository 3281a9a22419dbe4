"""Operations that write documents: adding one, changing and deleting it.

Settles what is asked, and what is known of what is written. Does not settle what is kept of a document's bytes
(`content.knowledge_keeping`). INVARIANT: a document with its chunks, tags and provenance is one change of the store.
"""

from __future__ import annotations

import posixpath
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from stanch.content.access import Access
from stanch.content.file_items import PathText, file_at, known_of
from stanch.content.file_writing import measured
from stanch.content.knowledge_keeping import Body, body_of, chunks_of
from stanch.content.knowledge_provenance import KnownDocuments, document_source, named, sealed
from stanch.content.knowledge_shown import (
    LONGEST_TAG,
    LONGEST_TITLE,
    MOST_TAGS,
    DocumentId,
    DocumentShown,
    document_shown,
)
from stanch.delivery.admit import admit_written_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.provenance.states import Provenance, merged
from stanch.storage.blobs import BLOCK, Blob
from stanch.storage.content_knowledge import CONTENT, TAGS, TITLE
from stanch.storage.knowledge_records import DocumentRecord, NewChunk
from stanch.values.fault import BadFields

TEXT, BYTES = "text/plain", "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}")
_NEVER = datetime(2000, 1, 1, tzinfo=UTC)
Title = Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)]
NewTags = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=LONGEST_TAG)], ...], Field(max_length=MOST_TAGS)
]
Personal = Annotated[bool, Field(description="True: only whom the caller is or acts for sees it.")]


class AddDocument(Asked):
    """A document that is written here."""

    title: Title
    text: str = Field(min_length=1)
    tags: NewTags = ()
    personal: Personal = False


class UploadDocument(Asked):
    """A document that is sent as a file. `digest` and `size` are those of its bytes, which are no argument."""

    title: Title
    media_type: str = BYTES
    tags: NewTags = ()
    personal: Personal = False
    digest: str
    size: int
    file: Any = Field(default=None, exclude=True, repr=False)


class ImportDocument(Asked):
    """A document that is made of a file of the workspace. Without a title, it is called as the file is."""

    path: PathText
    title: Title | None = None
    tags: NewTags = ()
    personal: Personal = False


class ChangeDocument(Asked):
    """What of a document becomes another. What is left out stays."""

    id: DocumentId
    title: Title | None = None
    tags: NewTags | None = None
    text: Annotated[str, Field(min_length=1)] | None = None


class DeleteDocument(Asked):
    """A document that is to go."""

    id: DocumentId


class Deleted(Given):
    """The document that is gone."""

    id: str


@operation("knowledge_add", AddDocument, tool="knowledge_add", content_delivery=ContentDelivery.SOURCED)
def add_document(access: Access, asked: AddDocument) -> DocumentShown:
    """Add a document to the knowledge base, from its text."""
    record = _new(access, title=asked.title, media_type=TEXT, tags=asked.tags, personal=asked.personal)
    return _added(access, record, [_encoded(asked.text)])


@operation(
    "knowledge_upload",
    UploadDocument,
    tool="knowledge_add",
    content_delivery=ContentDelivery.SOURCED,
    in_chat=False,
)
def upload_document(access: Access, asked: UploadDocument) -> DocumentShown:
    """Add a document to the knowledge base, from a file that is sent."""
    record = _new(access, title=asked.title, media_type=asked.media_type, tags=asked.tags, personal=asked.personal)
    if measured(asked.file) != Blob(asked.digest, asked.size):
        raise BadFields(("digest", "'digest' and 'size' are not those of the bytes that were sent"))
    return _added(access, record, iter(lambda: asked.file.read(BLOCK), b""))


@operation("knowledge_import", ImportDocument, tool="knowledge_import", content_delivery=ContentDelivery.SOURCED)
def import_document(access: Access, asked: ImportDocument) -> DocumentShown:
    """Add a document to the knowledge base, from a file of the workspace. Out of somebody's own file it is theirs."""
    file = file_at(access, asked.path)
    record = _new(
        access,
        title=posixpath.basename(file.path) if asked.title is None else asked.title,
        media_type=file.media_type.partition(";")[0].strip() or BYTES,
        tags=asked.tags,
        personal=asked.personal or file.owner is not None,
        path=file.path,
    )
    # INVARIANT: what is known of the file is known of the document as a whole, since its bytes are the same.
    source = known_of(access, file, file.version)()
    return _added(access, record, access.blobs.chunks(file.digest), [source])


@operation("knowledge_change", ChangeDocument, tool="knowledge_change", content_delivery=ContentDelivery.SOURCED)
def change_document(access: Access, asked: ChangeDocument) -> DocumentShown:
    """Change the title, the tags or the text of a document of the knowledge base."""
    if asked.title is None and asked.tags is None and asked.text is None:
        raise BadFields(("title", "a change must give 'title', 'tags' or 'text'"))
    before = after = access.stores.document(asked.id, access.person)
    knowing = access.writing.over()
    known: dict[str, Provenance] = {}
    chunks: tuple[NewChunk, ...] | None = None
    if asked.title is not None:
        after = replace(after, title=_plain(asked.title, "title"))
        known[TITLE] = knowing(after.title)
    if asked.tags is not None:
        after = replace(after, tags=_tags(asked.tags))
        known[TAGS] = knowing(list(after.tags))
    if asked.text is not None:
        body = body_of(access, [_encoded(asked.text)], knowing)
        after = _with(replace(after, media_type=TEXT, path=None), body)
        known[CONTENT] = body.provenance
        chunks = chunks_of(access, before.id, body, knowing)
    done = access.stores.change_document(before, after, chunks, provenance=sealed(access, after, known), by=access.by)
    return _told(access, done)


@operation("knowledge_delete", DeleteDocument, tool="knowledge_delete", content_delivery=ContentDelivery.NONE)
def delete_document(access: Access, asked: DeleteDocument) -> Deleted:
    """Delete a document of the knowledge base, with its chunks."""
    access.stores.remove_document(asked.id, access.person, by=access.by)
    return Deleted(id=asked.id)


def _added(
    access: Access, record: DocumentRecord, data: Iterable[bytes], sources: Sequence[Provenance] = ()
) -> DocumentShown:
    """The document, kept with these bytes. `sources` are what is known of whatever they are a copy of."""
    knowing = access.writing.over(sources)
    body = body_of(access, data, knowing)
    record = _with(record, body)
    chunks = chunks_of(access, record.id, body, knowing)
    known = {
        CONTENT: merged([*sources, body.provenance, knowing([record.media_type, record.path])]),
        TITLE: knowing(record.title),
        TAGS: knowing(list(record.tags)),
    }
    done = access.stores.add_document(record, chunks, provenance=sealed(access, record, known), by=access.by)
    return _told(access, done)


def _new(
    access: Access, *, title: str, media_type: str, tags: Iterable[str], personal: bool, path: str | None = None
) -> DocumentRecord:
    """A document that has no bytes yet. Raises `BadFields`."""
    if personal and access.person is None:
        raise BadFields(("personal", "'personal' is for whoever is a person, or acts for one"))
    if _MEDIA_TYPE.fullmatch(media_type) is None:
        raise BadFields(("media_type", "'media_type' must be one such as text/markdown"))
    return DocumentRecord(
        id=f"doc_{secrets.token_hex(12)}",
        owner=access.person if personal else None,
        title=_plain(title, "title"),
        media_type=media_type.lower(),
        path=path,
        original="",
        size=0,
        text="",
        length=0,
        chunks=0,
        created_at=_NEVER,
        changed_at=_NEVER,
        tags=_tags(tags),
    )


def _with(record: DocumentRecord, body: Body) -> DocumentRecord:
    original, written = body.original, body.written
    return replace(record, original=original.digest, size=original.size, text=written.digest, length=len(body.text))


def _told(access: Access, done: DocumentRecord) -> DocumentShown:
    known = KnownDocuments(access, [done]).of(done.id)
    admit_written_content(access.delivery, (document_source(done, known, named(done), access),))
    return document_shown(done)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadFields(("text", "'text' is no Unicode text: it holds half a character")) from None


def _tags(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({_plain(tag, "tags") for tag in given}, key=str.encode))


def _plain(text: str, field: str) -> str:
    """One line of text without blanks around it. Raises `BadFields`, which does not repeat it."""
    found = text.strip()
    if not found or any(ord(one) < 32 or one == "\x7f" or "\ud800" <= one <= "\udfff" for one in found):
        raise BadFields((field, f"'{field}' must be text on one line, without control characters"))
    return found
