"""What an edit makes of a text, and how that reads as a unified diff.

Settles what `old` has to be. Does not settle how a file is written, nor whether it may be.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_AROUND = 3
_MOST_NAMED = 20


class NoEdit(Exception):
    """The edit cannot be made; the message tells a model why."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The text after an edit, and where in the text before it the pieces stood that were replaced."""

    text: str
    places: tuple[int, ...]


def edited(before: str, old: str, new: str, *, everywhere: bool = False) -> Edited:
    """The text with `new` in the place of `old`, which stands in it exactly once, or is replaced `everywhere`.

    Raises `NoEdit` where nothing would be changed, where `old` is not there, and where it is there several times, with
    the lines.
    """
    if not old:
        raise NoEdit("old is empty: say which text to replace; write_file writes a whole file")
    if old == new:
        raise NoEdit("old and new are the same: nothing would be changed")
    places = _places(before, old, apart=everywhere)
    if not places:
        raise NoEdit(
            "old is not in the file: it has to be there letter for letter, with its spaces and line ends"
            + _hint(before, old)
        )
    if len(places) > 1 and not everywhere:
        raise NoEdit(
            f"old is in the file {len(places)} times, at the lines {_lines(before, places)}: "
            "take in more of the text around it, or set all"
        )
    return Edited(before.replace(old, new), tuple(places))


def _places(text: str, old: str, *, apart: bool) -> list[int]:
    """Where `old` begins; `apart`: of places that overlap, the first."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + (len(old) if apart else 1))
    return found


def _hint(before: str, old: str) -> str:
    if "\r\n" in before and "\r\n" not in old and old in before.replace("\r\n", "\n"):
        return ". The lines of this file end in \\r\\n"
    if "\r\n" in old and old.replace("\r\n", "\n") in before:
        return ". The lines of this file end in \\n"
    return ""


def _lines(text: str, places: Sequence[int]) -> str:
    numbers, counted, line = [], 0, 1
    for place in places[:_MOST_NAMED]:
        line += text.count("\n", counted, place)
        counted = place
        numbers.append(line)
    told = ", ".join(f"{number}" for number in dict.fromkeys(numbers))
    return told + (", …" if len(places) > _MOST_NAMED else "")


@dataclass(frozen=True, slots=True)
class _Change:
    """The lines from `first` to before `last` give way to others."""

    first: int
    last: int
    lines: list[str]


def unified(before: str, old: str, new: str, places: Sequence[int], name: str) -> str:
    """The unified diff of an edit that was made at these places.

    WHY not by comparing: where the edit was is known, and comparing two long texts can take minutes.
    """
    lines = _shown(before.split("\n"))
    out = [f"--- {name}", f"+++ {name}"]
    shift = 0
    for hunk in _hunks(_changes(before, old, new, places)):
        at = begin = max(0, hunk[0].first - _AROUND)
        end = min(len(lines), hunk[-1].last + _AROUND)
        body: list[str] = []
        for change in hunk:
            body += [" " + line for line in lines[at : change.first]]
            body += ["-" + line for line in lines[change.first : change.last]]
            body += ["+" + line for line in change.lines]
            at = change.last
        body += [" " + line for line in lines[at:end]]
        grown = sum(len(change.lines) - (change.last - change.first) for change in hunk)
        out += [f"@@ -{_range(begin, end - begin)} +{_range(begin + shift, end - begin + grown)} @@", *body]
        shift += grown
    return "\n".join(out)


def _changes(before: str, old: str, new: str, places: Sequence[int]) -> Iterator[_Change]:
    """The lines that each place lies in, before and after; places that share a line are one change."""
    starts = [0, *(found.end() for found in re.finditer("\n", before))]
    count = len(starts)
    at = 0
    while at < len(places):
        first = bisect.bisect_right(starts, places[at]) - 1
        behind = at
        last = first
        while behind < len(places) and places[behind] < (starts[last + 1] if last + 1 < count else len(before)):
            last = bisect.bisect_right(starts, places[behind] + len(old)) - 1
            behind += 1
        stop = starts[last + 1] - 1 if last + 1 < count else len(before)
        block = before[starts[first] : stop]
        was, now = block.split("\n"), block.replace(old, new).split("\n")
        if last + 1 == count:
            was, now = _shown(was), _shown(now)
        head = _same(was, now)
        tail = _same(was[head:][::-1], now[head:][::-1])
        yield _Change(first + head, first + len(was) - tail, now[head : len(now) - tail])
        at = behind


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items are the same from the beginning on."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _shown(lines: list[str]) -> list[str]:
    """The lines of a text that was split, up to its end, as a diff has them."""
    return lines[:-1] if not lines[-1] else [*lines, "\\ No newline at end of file"]


def _hunks(changes: Iterable[_Change]) -> Iterator[list[_Change]]:
    """The changes, those together that lie so close that the lines around them meet."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change.first - hunk[-1].last > 2 * _AROUND:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _range(begin: int, count: int) -> str:
    return f"{begin + 1}" if count == 1 else f"{begin + 1 if count else begin},{count}"
