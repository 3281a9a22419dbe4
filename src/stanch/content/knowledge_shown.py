"""What operations on knowledge give, and the words that several of them are asked in.

Settles shapes, and how a record becomes one. Does not settle what is withheld (`delivery.admit`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from stanch.delivery.operation import Given
from stanch.storage.knowledge_records import DocumentRecord
from stanch.values.records import Broken

LONGEST_TITLE, LONGEST_TAG, MOST_TAGS = 500, 100, 50
DocumentId = Annotated[str, Field(min_length=1, max_length=100, description="The id of a document.")]
Tags = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=LONGEST_TAG)], ...],
    Field(max_length=MOST_TAGS, description="Only documents that have all of these tags."),
]


class BrokenItem(Given):
    """A row that is there and cannot be read."""

    id: str
    table: str
    problem: str


class DocumentShown(Given):
    """A document without its text."""

    id: str
    title: str
    media_type: str
    tags: tuple[str, ...]
    owner: str | None
    path: str | None
    size: int
    length: int
    chunks: int
    created_at: datetime
    changed_at: datetime


def document_shown(record: DocumentRecord) -> DocumentShown:
    """A document as it is given."""
    return DocumentShown(**{name: getattr(record, name) for name in DocumentShown.model_fields})


def broken_shown(broken: Broken) -> BrokenItem:
    """A row that cannot be read, as it is given."""
    return BrokenItem(id=broken.id, table=broken.table, problem=broken.problem)
