"""Texts with their escapes undone: what stands in a text where a program chose freely which characters to escape.

Settles four kinds of escapes (percent, `\\u` of JSON, character references of HTML, line breaks within base64 and hex),
where a text has any, what is read there, and which place of the text a place of the reading stands for. Does not settle
what is looked for in a reading (`secrets.matcher`).

INVARIANT: whether something is an escape depends on at most `CONTEXT` bytes before it, so that a text that arrives in
pieces reads the same.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

CONTEXT = 64
LONGEST = 16
"""No single escape has more bytes than this."""
LEAST_LINE = 24
"""How many letters of base64 or hex a line has at least right before a line break that is skipped."""

_GAP = b"\0"
_LINE = rb"[A-Za-z0-9+/_-]{%d}" % LEAST_LINE
_INDENT = rb"[ \t]{0,8}"
_HIGH = rb"\\{1,3}u[dD][89abAB][0-9A-Fa-f]{2}"
_LOW = rb"\\{1,3}u[dD][c-fC-F][0-9A-Fa-f]{2}"


class Hint(NamedTuple):
    """What is cheap to look for, and stands in each escape: a byte, and the byte with what is around it.

    `forward` is the same pattern for an engine that cannot look behind. A `rare` byte is not in every line.
    """

    mark: int
    pattern: re.Pattern[bytes]
    forward: bytes
    rare: bool = True


class Escape(NamedTuple):
    """One kind of escapes: where there may be one, what is one, and what may still become one at the end of a text.

    `reach` is how many bytes at most there are for each byte that is meant.
    """

    name: str
    hints: tuple[Hint, ...]
    whole: re.Pattern[bytes]
    begun: re.Pattern[bytes]
    meaning: Callable[[bytes], bytes]
    reach: int


def _percent(raw: bytes) -> bytes:
    return bytes((int(raw[1:], 16),))


def _unit(raw: bytes) -> bytes:
    text = "".join(chr(int(part[:4], 16)) for part in raw.split(b"u")[1:])
    if len(text) == 2:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    return text.encode("utf-8", "surrogatepass")


def _reference(raw: bytes) -> bytes:
    inner = raw[1:-1]
    if not inner.startswith(b"#"):
        return html.unescape(raw.decode("ascii")).encode()
    # WHY not html.unescape: as browsers do, it reads some numbers as other characters.
    number = int(inner[2:], 16) if inner[1:2] in b"xX" else int(inner[1:])
    return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else raw


def _nothing(_: bytes) -> bytes:
    return b""


def _hint(pattern: bytes) -> Hint:
    # A pattern that begins with a backslash in two bytes begins with the same byte as what it matches.
    return Hint(pattern[0], re.compile(pattern), pattern)


_PAIR = rb"%[0-9A-Fa-f]{2}"
PERCENT = Escape("percent", (_hint(_PAIR),), re.compile(_PAIR), re.compile(rb"%[0-9A-Fa-f]?\Z"), _percent, 3)
UNICODE = Escape(
    "unicode",
    (_hint(rb"\\u[0-9A-Fa-f]{4}"),),
    re.compile(rb"%b%b|\\{1,3}u[0-9A-Fa-f]{4}" % (_HIGH, _LOW)),
    re.compile(rb"(?:%b)?\\{1,3}(?:u[0-9A-Fa-f]{0,3})?\Z|%b\Z" % (_HIGH, _HIGH)),
    _unit,
    8,
)
MARKUP = Escape(
    "markup",
    (_hint(rb"&[#alqg]"),),
    re.compile(rb"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);"),
    re.compile(rb"&(?:#[0-9]{0,7}|#[xX][0-9A-Fa-f]{0,6}|a|am|amp|l|lt|g|gt|q|qu|quo|quot|ap|apo|apos)?\Z"),
    _reference,
    10,
)
BREAKS = Escape(
    "breaks",
    (
        Hint(ord("\n"), re.compile(rb"\n(?<=%b\n)" % _LINE), _LINE + rb"\n", rare=False),
        Hint(ord("\r"), re.compile(rb"\r(?<=%b\r)\n" % _LINE), _LINE + rb"\r\n"),
        Hint(ord("\\"), re.compile(rb"\\(?<=%b\\)(?:r\\)?n" % _LINE), _LINE + rb"\\(?:r\\)?n"),
    ),
    re.compile(rb"(?:\r(?<=%b\r)\n|\n(?<=%b\n)|\\(?<=%b\\)(?:r\\)?n)%b" % (_LINE, _LINE, _LINE, _INDENT)),
    re.compile(
        rb"(?:\r(?<=%b\r)(?:\n%b)?|\n(?<=%b\n)%b|\\(?<=%b\\)(?:n%b|r(?:\\(?:n%b)?)?)?)\Z"
        % (_LINE, _INDENT, _LINE, _INDENT, _LINE, _INDENT, _INDENT)
    ),
    _nothing,
    2,
)
ESCAPES = (PERCENT, UNICODE, MARKUP, BREAKS)


class Reading:
    """Some stretches of a text with the escapes of one kind undone, one behind the other."""

    __slots__ = ("_after", "_at", "_begins", "_ends", "_from", "_gaps", "_to", "escape", "text")

    def __init__(self, data: bytes, stretches: Iterable[tuple[int, int]], escape: Escape) -> None:
        """`stretches` are in order and do not meet. What stands before one is context."""
        self.escape = escape
        self._begins: list[int] = []
        self._ends: list[int] = []
        # For each place where text and reading part: where it is in either, and where each goes on behind it.
        self._at: list[int] = [0]
        self._after: list[int] = [0]
        self._from: list[int] = [0]
        self._to: list[int] = [0]
        self._gaps: list[int] = []
        parts: list[bytes] = []
        length = at = 0
        for start, end in stretches:
            if start > at:
                self._gaps.append(length)
                self._part(at, start, length, length + 1)
                parts.append(_GAP)
                length += 1
                at = start
            for found in escape.whole.finditer(data, max(0, start - CONTEXT), end):
                begin, stop = found.span()
                if begin < at:
                    continue
                meant = escape.meaning(found[0])
                length += begin - at
                self._part(begin, stop, length, length + len(meant))
                self._begins.append(begin)
                self._ends.append(stop)
                length += len(meant)
                parts += (data[at:begin], meant)
                at = stop
            parts.append(data[at:end])
            length += max(0, end - at)
            at = max(at, end)
        self.text = b"".join(parts) if self._begins else b""

    def _part(self, begin: int, stop: int, read_from: int, read_to: int) -> None:
        self._at.append(begin)
        self._after.append(stop)
        self._from.append(read_from)
        self._to.append(read_to)

    def placed(self, start: int, end: int) -> tuple[int, int] | None:
        """The stretch of the text that a stretch of the reading stands for; None where that holds no escape."""
        gap = bisect_left(self._gaps, start)
        if gap < len(self._gaps) and self._gaps[gap] < end:
            return None
        begin, stop = self.place(start)[0], self.place(end - 1)[1]
        first = bisect_left(self._begins, begin)
        return (begin, stop) if first < len(self._begins) and self._ends[first] <= stop else None

    def place(self, at: int) -> tuple[int, int]:
        """Where the byte at this place of the reading begins and ends in the text."""
        nearest = bisect_right(self._from, at) - 1
        if at < self._to[nearest]:
            return self._at[nearest], self._after[nearest]
        begin = self._after[nearest] + at - self._to[nearest]
        return begin, begin + 1

    def read_at(self, at: int) -> int:
        """The place of the reading that stands for this place of the text, or for the escape that it lies in."""
        nearest = bisect_right(self._at, at) - 1
        if at < self._after[nearest]:
            return self._from[nearest]
        return self._to[nearest] + at - self._after[nearest]

    def widened(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the text, and the whole of the escapes that it begins and ends in."""
        first = bisect_right(self._begins, start) - 1
        if first >= 0 and start < self._ends[first]:
            start = self._begins[first]
        last = bisect_left(self._begins, end) - 1
        if last >= 0 and end < self._ends[last]:
            end = self._ends[last]
        return start, end


def surroundings(places: Iterable[int], margin: int, size: int) -> Iterator[tuple[int, int]]:
    """The surroundings of some places, in order, those that meet as one. `margin` is how far they reach."""
    start = end = -1
    for place in sorted(places):
        if end < 0:
            start = place - margin
        elif place - margin > end:
            yield max(0, start), min(end, size)
            start = place - margin
        end = place + margin
    if end >= 0:
        yield max(0, start), min(end, size)
