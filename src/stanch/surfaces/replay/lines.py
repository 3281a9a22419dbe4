"""From the bytes of a file to JSON values with their line numbers, a line or an item at a time.

Settles what happens to text that is no JSON: it is reported with its line, never skipped in silence and never a crash.
Does not settle what the values mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

MAX_LINE = 64 << 20
_BOM = b"\xef\xbb\xbf"
_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"

Advance = Callable[[int], None]
"""Told how many bytes were read since it was last told."""


@dataclass(frozen=True, slots=True)
class Line:
    """One JSON value and the line it starts on."""

    number: int
    value: Any


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that holds no value that can be read, and why."""

    number: int
    why: str


def decoded(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError` for any text that has none, however it fails."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def json_lines(file: BinaryIO, advance: Advance = lambda _: None) -> Iterator[Line | Unread]:
    """Every line of a file that is not blank, as a value or as unread. Holds no more than one line at a time."""
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        size = len(raw)
        if size > MAX_LINE and not raw.endswith(b"\n"):
            size += _skip_line(file)
            advance(size)
            yield Unread(number, f"this line is longer than {MAX_LINE >> 20} MB and was not read")
            continue
        advance(size)
        if number == 1:
            raw = raw.removeprefix(_BOM)
        if not raw.strip():
            continue
        yield _read(number, raw)


def _skip_line(file: BinaryIO) -> int:
    size = 0
    while piece := file.readline(1 << 20):
        size += len(piece)
        if piece.endswith(b"\n"):
            break
    return size


def _read(number: int, raw: bytes) -> Line | Unread:
    try:
        return Line(number, decoded(raw.decode("utf-8")))
    except UnicodeDecodeError:
        return Unread(number, "this line is not valid UTF-8 and was not read")
    except ValueError:
        cut = "" if raw.endswith(b"\n") else "; it is the last one and may be cut short"
        return Unread(number, f"this line is not JSON and was not read{cut}")


def items_of(text: str, keys: tuple[str, ...]) -> Iterator[Line | Unread]:
    """The items of a JSON list, or of the list under one of `keys` in a JSON object, each with its line.

    Items before a fault are given; the fault is the last thing given.
    """
    reader = _Reader(text)
    try:
        if reader.peek() == "[":
            yield from reader.items()
        elif reader.peek() == "{":
            yield from reader.items_under(keys)
        else:
            yield Unread(reader.line, "this is not JSON and was not read")
            return
        if reader.peek():
            yield Unread(reader.line, "what follows the end of the JSON text was not read")
    except (ValueError, RecursionError):
        yield Unread(reader.line, "the JSON text is broken or cut short from here on; what follows was not read")


class _Reader:
    """Walks a JSON text one value at a time and knows its line."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1

    def move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        to = self.at
        while to < len(self.text) and self.text[to] in _SPACE:
            to += 1
        self.move(to)
        return self.text[to : to + 1]

    def take(self, wanted: str) -> bool:
        if self.peek() != wanted:
            return False
        self.at += 1
        return True

    def need(self, wanted: str) -> None:
        if not self.take(wanted):
            raise ValueError(wanted)

    def value(self) -> Line:
        self.peek()
        value, end = _DECODER.raw_decode(self.text, self.at)
        line = self.line
        self.move(end)
        return Line(line, value)

    def items(self) -> Iterator[Line]:
        self.need("[")
        if self.take("]"):
            return
        while True:
            yield self.value()
            if self.take("]"):
                return
            self.need(",")

    def items_under(self, keys: tuple[str, ...]) -> Iterator[Line]:
        self.need("{")
        if self.take("}"):
            return
        while True:
            key = self.value().value
            self.need(":")
            if key in keys and self.peek() == "[":
                yield from self.items()
            else:
                self.value()
            if self.take("}"):
                return
            self.need(",")
