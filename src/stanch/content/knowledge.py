"""Operations that read documents: which there are, one of them, their tags.

Settles what of a document each gives, and as what it is admitted. Does not settle chunks (`content.knowledge_chunks`)
nor how documents are written (`content.knowledge_writing`).
"""

from __future__ import annotations

from pydantic import Field

from stanch.content.access import Access
from stanch.content.knowledge_pieces import MOST_TEXT
from stanch.content.knowledge_provenance import KnownDocuments, document_source, named
from stanch.content.knowledge_shown import (
    BrokenItem,
    DocumentId,
    DocumentShown,
    Tags,
    broken_shown,
    document_shown,
)
from stanch.content.left_out import Cursor, LeavesOut, Left, Limit
from stanch.delivery.admit import Window, admit_content, redact_before_cutting, require_admitted_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.delivery.source import COMPLETE, Derived
from stanch.storage.knowledge_records import DocumentRecord, TagRecord
from stanch.values.reason import Code
from stanch.values.records import Broken


class ListDocuments(Asked):
    """Which documents are asked for."""

    tags: Tags = ()
    limit: Limit = 50
    cursor: Cursor = None


class DocumentsPage(LeavesOut):
    """A page of documents."""

    items: tuple[DocumentShown | BrokenItem, ...]
    total: int
    next: str | None


@operation("knowledge_list", ListDocuments, tool="knowledge_list", content_delivery=ContentDelivery.SOURCED)
def list_documents(access: Access, asked: ListDocuments) -> DocumentsPage:
    """List the documents of the knowledge base, newest first: titles, tags, sizes, without their text."""
    page = access.stores.list_documents(access.person, tags=asked.tags, limit=asked.limit, cursor=asked.cursor)
    records = [one for one in page.items if isinstance(one, DocumentRecord)]
    known, left = KnownDocuments(access, records), Left()
    admissions = admit_content(
        access.delivery, [document_source(one, known.of(one.id), named(one), access) for one in records]
    )
    admitted = {one.id: fits for one, fits in zip(records, left.admitted(admissions), strict=True)}
    items = tuple(
        broken_shown(one) if isinstance(one, Broken) else document_shown(one)
        for one in page.items
        if isinstance(one, Broken) or admitted[one.id]
    )
    return DocumentsPage(items=items, total=page.total, next=page.next, **left.told)


class ReadDocument(Asked):
    """Which part of which document is asked for."""

    id: DocumentId
    text: bool = Field(default=True, description="False: what the document is, without its text.")
    start: int = Field(default=0, ge=0, description="The first character of the text.")
    end: int | None = Field(default=None, ge=0, description="Up to which character. Left out: up to the end.")


class DocumentText(Given):
    """A document, and some of its text."""

    document: DocumentShown
    text: str | None
    start: int


@operation("knowledge_read", ReadDocument, tool="knowledge_read", content_delivery=ContentDelivery.SOURCED)
def read_document(access: Access, asked: ReadDocument) -> DocumentText:
    """Read the text of one document of the knowledge base, or only what it is."""
    record = access.stores.document(asked.id, access.person)
    known = KnownDocuments(access, [record]).of(record.id)
    view = COMPLETE if asked.text else named(record)
    require_admitted_content(access.delivery, document_source(record, known, view, access))
    text = None
    if asked.text:
        whole = access.blobs.whole(record.text, MOST_TEXT).decode()
        text = redact_before_cutting(access.delivery, whole, Window(asked.start, asked.end))
    return DocumentText(document=document_shown(record), text=text, start=asked.start if asked.text else 0)


class ListTags(Asked):
    """Which tags are asked for."""

    limit: Limit = 50
    cursor: Cursor = None


class TagShown(Given):
    """A tag, and how many documents have it."""

    tag: str
    count: int


class TagsPage(LeavesOut):
    """A page of tags."""

    items: tuple[TagShown, ...]
    total: int
    next: str | None


@operation("knowledge_tags", ListTags, tool="knowledge_tags", content_delivery=ContentDelivery.SOURCED)
def list_tags(access: Access, asked: ListTags) -> TagsPage:
    """List the tags of the documents of the knowledge base, with how many documents have each."""
    page = access.stores.list_tags(access.person, limit=asked.limit, cursor=asked.cursor)
    ids = sorted({document for one in page.items for document in one.documents})
    holders = {one.id: one for one in access.stores.documents_of(ids, access.person)}
    known, left = KnownDocuments(access, holders.values()), Left()
    admit_content(access.delivery, ())
    items = tuple(one for one in page.items if _is_admitted(access, one, holders, known, left))
    shown = tuple(TagShown(tag=one.tag, count=one.count) for one in items)
    return TagsPage(items=shown, total=page.total, next=page.next, **left.told)


def _is_admitted(
    access: Access, tag: TagRecord, holders: dict[str, DocumentRecord], known: KnownDocuments, left: Left
) -> bool:
    """True where one of the documents that have the tag may say so. WHY one is enough: it says so by itself."""
    refused = None
    for document in tag.documents:
        record = holders.get(document)
        if record is None or tag.tag not in record.tags:
            continue
        source = document_source(record, known.of(document), Derived(tag.tag), access)
        (admission,) = admit_content(access.delivery, (source,))
        if admission.admitted:
            return True
        refused = refused or admission.refusal
    if not access.delivery.classified:
        return True
    left.out(Code.CONTENT_UNKNOWN if refused is None else refused.code)
    return False
