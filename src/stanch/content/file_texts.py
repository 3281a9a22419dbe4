"""The text of a file: of its newest version or an older one, of a document as well.

Settles which lines are given, and that a secret is taken out of the whole text before any line is chosen. Does not
settle how a document becomes a text (`extraction`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field

from stanch.content.access import Access
from stanch.content.extraction import Part, Unextractable, decoded, document_parts, is_document
from stanch.content.extraction_alone import Cause
from stanch.content.file_items import PathText, VersionNumber, source_of, version_at
from stanch.delivery.admit import Window, redact_before_cutting, require_admitted_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.values.fault import BrokenRow

MOST_TEXT_BYTES = 32 << 20
MOST_LINES = 100_000
MOST_CHARACTERS = 2_000_000
_HEAD = 8


@dataclass(frozen=True, slots=True)
class FileText:
    """All of the text of some bytes. `parts` are those of a document, in whose place the text has them, one below the
    other. `exact`: the bytes are the text in UTF-8, so that it can be written back.
    """

    text: str = field(repr=False)
    parts: tuple[Part, ...] = ()
    exact: bool = True


class ReadText(Asked):
    """Which lines of which file."""

    path: PathText
    version: VersionNumber | None = Field(default=None, description="Left out: the newest.")
    start: int = Field(default=1, ge=1, le=1 << 53, description="The first line, from 1.")
    lines: int = Field(default=2_000, ge=1, le=MOST_LINES, description="How many lines at most.")


class PartGiven(Given):
    """Where a part of a document begins: a page or a sheet, and the number of its first line."""

    kind: str
    name: str
    line: int


class TextGiven(Given):
    """Some lines of a text. `total` counts all lines; `cut`: the last line given has no room for all of it."""

    path: str
    version: int
    text: str = Field(repr=False)
    start: int
    lines: int
    total: int
    cut: bool
    parts: tuple[PartGiven, ...]


@operation("files_read", ReadText, tool="files_read", content_delivery=ContentDelivery.SOURCED)
def read_text(access: Access, asked: ReadText) -> TextGiven:
    """Read a stored file as text, some lines of it or an older version. PDF, XLSX and DOCX are given as their text."""
    file, version = version_at(access, asked.path, asked.version)
    require_admitted_content(access.delivery, source_of(access, file, version.number))
    found = text_of(access, version.digest)
    # INVARIANT: all of the text is projected before a line is chosen. The lines are those of what is then left, since
    # a secret may have several.
    lines, parts = _lines(access, found)
    chosen = lines[asked.start - 1 : asked.start - 1 + asked.lines]
    text = "\n".join(chosen)
    if chosen and asked.start - 1 + len(chosen) < len(lines):
        text += "\n"
    total = len(lines) - (not lines[-1])
    return TextGiven(
        path=file.path,
        version=version.number,
        text=text[:MOST_CHARACTERS],
        start=asked.start,
        lines=min(len(chosen), max(0, total - asked.start + 1)),
        total=total,
        cut=len(text) > MOST_CHARACTERS,
        parts=parts,
    )


def text_of(access: Access, digest: str) -> FileText:
    """The text of bytes, all of which are there. Raises `Unextractable`, and `BrokenRow` where they were changed."""
    with access.blobs.open(digest) as file:
        if is_document(file.read(_HEAD)):
            if not access.blobs.is_whole(digest):
                raise BrokenRow("blobs", digest, "its bytes were changed")
            parts = document_parts(file, cancelled=access.cancelled)
            return FileText("\n".join(part.text for part in parts), parts, exact=False)
        if file.seek(0, 2) > MOST_TEXT_BYTES:
            raise Unextractable(Cause.TOO_MUCH)
    text, exact = decoded(access.blobs.whole(digest, MOST_TEXT_BYTES))
    return FileText(text, exact=exact)


def projected(access: Access, text: str) -> str:
    """All of an admitted text, as this caller may have it."""
    return redact_before_cutting(access.delivery, text, Window())


def _lines(access: Access, found: FileText) -> tuple[Sequence[str], tuple[PartGiven, ...]]:
    """The lines as the caller may have them, and where the parts of a document begin among them."""
    whole = projected(access, found.text).split("\n")
    if len(found.parts) < 2:
        return whole, tuple(PartGiven(kind=part.kind, name=part.name, line=1) for part in found.parts)
    lines: list[str] = []
    parts: list[PartGiven] = []
    for part in found.parts:
        parts.append(PartGiven(kind=part.kind, name=projected(access, part.name), line=len(lines) + 1))
        lines += projected(access, part.text).split("\n")
    # A secret that goes over the border of two parts is found in the whole alone; then there are no parts to tell of.
    return (lines, tuple(parts)) if lines == whole else (whole, ())
