"""The text of a document, whatever it is written in.

Settles which pieces of text a document has, and which page or sheet each is from. Does not settle how bytes are read
(`content.extraction`), nor how pieces are cut (`content.knowledge_cutting`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import BinaryIO

from stanch.content.extraction import Part, decoded, document_parts, is_document
from stanch.content.knowledge_cutting import Piece

MOST_ORIGINAL = 64 << 20
"""How many bytes a document may have."""
MOST_TEXT = 64 << 20
"""How many bytes the text of a document may have, in UTF-8."""


def pieces_of(file: BinaryIO, cancelled: threading.Event) -> tuple[Piece, ...]:
    """The pieces of a document's text, in order. `file` is one on the disk. Raises `BadInput` for what has no text."""
    head = file.read(8)
    if is_document(head):
        return tuple(_pieces(document_parts(file, cancelled=cancelled)))
    file.seek(0)
    text, _ = decoded(file.read(MOST_ORIGINAL + 1))
    return (Piece(_storable(text.removeprefix("\ufeff"))),)


def _pieces(parts: Iterable[Part]) -> Iterable[Piece]:
    for part in parts:
        page = int(part.name) if part.kind == "page" and part.name.isdecimal() else None
        sheet = _storable(part.name) if part.kind == "sheet" and part.name else None
        yield Piece(_storable(part.text), page, sheet)


def _storable(text: str) -> str:
    """Text that both databases can hold."""
    if "\0" not in text and text.isascii():
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
