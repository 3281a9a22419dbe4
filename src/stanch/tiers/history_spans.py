"""Taking spans out of a text, and where everything else of it stands afterwards.

Settles that what is taken out is replaced by lines of its own, once for neighbours that are replaced by the same, and
that the tags of what is left still fit. Does not settle which spans these are (`tiers.history_parts`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from stanch.values.message import SourceTag, Tags

Names = tuple[str, ...]


class Span(NamedTuple):
    """What is taken out of a text between two characters, and the names of where it came from."""

    start: int
    end: int
    names: Names


class Kept(NamedTuple):
    """A stretch that is kept: where it began and ended, and where it begins now."""

    start: int
    end: int
    now: int


class Cut(NamedTuple):
    """What is left: the new text, and the stretches of the old one in it."""

    text: str
    kept: list[Kept]


def fits(span: tuple[int, int] | None, length: int) -> bool:
    """True for a span that lies in a text of this length."""
    return span is not None and 0 <= span[0] <= span[1] <= length


def merged(spans: Iterable[Span], text: str) -> list[Span]:
    """The spans in their order, none of which overlap; neighbours of the same names with but blanks between are one."""
    found: list[Span] = []
    open_names: dict[str, None] = {}
    for span in sorted(spans):
        if found:
            last = found[-1]
            if span.start < last.end:
                open_names.update(dict.fromkeys(span.names))
                found[-1] = Span(last.start, max(last.end, span.end), last.names)
                continue
            found[-1] = last = last._replace(names=tuple(open_names))
            gap = text[last.end : span.start]
            if last.names == span.names and (not gap or gap.isspace()):
                found[-1] = Span(last.start, span.end, last.names)
                continue
        found.append(span)
        open_names = dict.fromkeys(span.names)
    if found:
        found[-1] = found[-1]._replace(names=tuple(open_names))
    return found


def cut(text: str, spans: Sequence[Span], words: Callable[[Names], str]) -> Cut:
    """The text with each of the spans replaced by words on lines of their own. The spans are as `merged` gives them."""
    out: list[str] = []
    kept: list[Kept] = []
    length = at = 0
    fresh = True  # nothing stands before this, or a line has just ended

    def put(piece: str) -> None:
        nonlocal length, fresh
        if piece:
            out.append(piece)
            length += len(piece)
            fresh = piece[-1] == "\n"

    def keep(end: int) -> None:
        if at < end:
            if out and text[at] != "\n":
                put("\n")
            kept.append(Kept(at, end, length))
            put(text[at:end])

    for span in spans:
        keep(span.start)
        if not fresh:
            put("\n")
        put(words(span.names))
        at = span.end
    keep(len(text))
    return Cut("".join(out), kept)


def moved(tags: Iterable[SourceTag], kept: Sequence[Kept]) -> Tags:
    """The tags, their spans where they are now; those of which nothing is left are gone."""
    found = []
    starts = [one.start for one in kept]
    ends = [one.end for one in kept]
    for tag in tags:
        if tag.span is None:
            found.append(tag)
            continue
        start, end = tag.span
        first = bisect_right(ends, start)
        last = bisect_right(starts, end - 1) - 1
        if start < end and first <= last:
            one, other = kept[first], kept[last]
            begun = one.now + max(start - one.start, 0)
            ended = other.now + min(end, other.end) - other.start
            found.append(replace(tag, span=(begun, ended)))
    return tuple(found)
