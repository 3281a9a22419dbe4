"""What operations on knowledge give, and the words that several of them are asked in.

Settles shapes, and how an item that is withheld is counted. Does not settle what is withheld (`delivery.admit`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated

from pydantic import Field

from stanch.delivery.admit import Admission
from stanch.delivery.operation import Given
from stanch.storage.knowledge_records import DocumentRecord
from stanch.values.reason import Reason
from stanch.values.records import Broken

LONGEST_TITLE, LONGEST_TAG, MOST_TAGS = 500, 100, 50
DocumentId = Annotated[str, Field(min_length=1, max_length=100, description="The id of a document.")]
Limit = Annotated[int, Field(ge=1, le=500, description="How many items a page holds at most.")]
Cursor = Annotated[str | None, Field(max_length=4096, description="The `next` of the page before.")]
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


class Withheld(Given):
    """What a page leaves out: how many items, and how many for which reason. `total` counts them all the same."""

    withheld: int = 0
    reasons: dict[str, int] = Field(default_factory=dict)


class Left:
    """Counts what is left out of a page."""

    def __init__(self) -> None:
        self._codes: Counter[str] = Counter()

    def out(self, reason: Reason | None) -> None:
        """Counts one that is left out for this reason; None says that it is not."""
        if reason is not None:
            self._codes[reason.code.value] += 1

    def admitted(self, admissions: Iterable[Admission]) -> Iterator[bool]:
        """True for each that is admitted. The others are counted."""
        for one in admissions:
            self.out(one.refusal)
            yield one.admitted

    @property
    def count(self) -> int:
        """How many are left out."""
        return self._codes.total()

    @property
    def reasons(self) -> dict[str, int]:
        """How many are left out for which reason."""
        return dict(sorted(self._codes.items()))


def document_shown(record: DocumentRecord) -> DocumentShown:
    """A document as it is given."""
    return DocumentShown(**{name: getattr(record, name) for name in DocumentShown.model_fields})


def broken_shown(broken: Broken) -> BrokenItem:
    """A row that cannot be read, as it is given."""
    return BrokenItem(id=broken.id, table=broken.table, problem=broken.problem)
