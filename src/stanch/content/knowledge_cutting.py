"""How a document's text is cut into chunks.

Settles where chunks begin and end: at paragraphs, about a thousand characters each, and never over a border of pages or
sheets. Does not settle where text comes from (`content.knowledge_pieces`), nor what may be shown of a chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

WANTED = 1_000
BETWEEN = "\n\n"
"""Stands between two pieces in the text of a document."""
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_BREAKS = (re.compile(r"[.!?…。]\s"), re.compile(r"\n"), re.compile(r"\s"))


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of a document, from one page or one sheet where it has such."""

    text: str
    page: int | None = None
    sheet: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a chunk stands: characters of the document's text, and the page or sheet that they are from."""

    start: int
    stop: int
    page: int | None
    sheet: str | None


def joined(pieces: Iterable[Piece]) -> str:
    """The text of a document."""
    return BETWEEN.join(piece.text for piece in pieces)


def cuts_of(pieces: Iterable[Piece]) -> Iterator[Cut]:
    """Where the chunks of a document stand in its text, in order. What is only blank is in none."""
    at = 0
    for piece in pieces:
        for start, stop in _chunks(piece.text):
            yield Cut(at + start, at + stop, piece.page, piece.sheet)
        at += len(piece.text) + len(BETWEEN)


def _chunks(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs of one piece, taken together for as long as they fit."""
    begin = end = -1
    for start, stop in _paragraphs(text):
        if end >= 0 and stop - begin <= WANTED:
            end = stop
            continue
        if end >= 0:
            yield begin, end
        begin, end = start, stop
    if end >= 0:
        yield begin, end


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for border in _PARAGRAPH.finditer(text):
        yield from _parts(text, at, border.start())
        at = border.end()
    yield from _parts(text, at, len(text))


def _parts(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """A paragraph without the blanks around it; a long one in parts, each ending with a sentence, a line or a word."""
    while True:
        while start < stop and text[start].isspace():
            start += 1
        while stop > start and text[stop - 1].isspace():
            stop -= 1
        if stop - start <= WANTED:
            if start < stop:
                yield start, stop
            return
        end = _break(text, start, start + WANTED)
        yield start, start + len(text[start:end].rstrip())
        start = end


def _break(text: str, start: int, most: int) -> int:
    """The last place up to `most` at which a part may end. WHY not in its first half: it would be too short."""
    for wanted in _BREAKS:
        ends = [found.end() for found in wanted.finditer(text, start + WANTED // 2, most)]
        if ends:
            return ends[-1]
    return most
