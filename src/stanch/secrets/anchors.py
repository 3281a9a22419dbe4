"""What is looked for first: a short piece of each form, by which an engine notices that the form may stand there.

Settles which piece of a form that is, and how a place where it stands is turned into the forms that stand there.
Engines only report where pieces stand (`secrets.engines`), so all of them find the same forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stanch.secrets.budget import Cause, Withheld

Names = tuple[str, ...]
Forms = Mapping[bytes, tuple[Names, bool]]
"""Forms of secrets: which secrets have it, and whether programs break it into lines."""
Hit = tuple[int, int, Names]
"""Where a form begins, minus where it ends, and the names of the secrets that have it; so the longest sorts first."""
Spot = tuple[int, int]
"""Where a piece begins, and its number."""

LONGEST_PIECE = 16
HALF = 12
"""Half of a stretch that is so short that no more than one line break can stand in it (`escapes.LEAST_LINE`)."""
_LEFT_ALONE = {least: re.compile(rb"[0-9A-Za-z._-]{%d,}" % least) for least in range(8, LONGEST_PIECE + 1)}
"""What no encoding changes that leaves any letter as it is."""
_LONG_PLAIN = re.compile(rb"[0-9A-Za-z]{%d,}" % (2 * HALF))


class Anchors:
    """The pieces of a set of forms. Never changes."""

    __slots__ = ("_halves", "_slots", "halved", "pieces")

    def __init__(self, forms: Forms, *, halved: bool, least: int) -> None:
        """`forms` by their names, True for those that programs break into lines.

        Where `halved`, there are also two pieces of each of these such that one of them is whole in any case. Pieces
        have at least `least` bytes where the form has.
        """
        self.halved = halved
        slots: dict[bytes, dict[tuple[int, int], dict[bytes, Names]]] = {}
        halves: set[bytes] = set()
        for form, (names, breaks) in forms.items():
            at, piece = _piece(form, least)
            if halved and breaks:
                first, second = _in_two(form)
                halves |= {first[1], second[1]}
                at, piece = second if len(form) >= 2 * HALF else (at, piece)
            slots.setdefault(piece, {}).setdefault((at, len(form)), {})[form] = names
        self.pieces = (*slots, *sorted(halves - slots.keys()))
        self._slots = tuple(tuple(slots.get(piece, {}).items()) for piece in self.pieces)
        self._halves = frozenset(number for number, piece in enumerate(self.pieces) if piece in halves)

    def hits(self, data: bytes, spots: Iterable[Spot], steps: int) -> list[Hit]:
        """The forms that stand whole at these spots. Raises `Withheld` after too many comparisons."""
        found: list[Hit] = []
        for begin, number in spots:
            slots = self._slots[number]
            steps -= len(slots) + 1
            for (at, length), forms in slots:
                start = begin - at
                if start >= 0 and (names := forms.get(data[start : start + length])) is not None:
                    found.append((start, -start - length, names))
            if steps < 0:
                raise Withheld(Cause.TOO_MANY)
        return found

    def broken(self, spots: Iterable[Spot]) -> list[int]:
        """The spots of halves; the rest of their forms may stand on another line."""
        halves = self._halves
        return [begin for begin, number in spots if number in halves] if halves else []


def _piece(form: bytes, least: int) -> tuple[int, bytes]:
    """The piece of a form that is looked for first, after where it stands in the form.

    The last stretch that encodings leave alone, which several forms of one value have in common; else the end: ends
    differ where beginnings, such as those that mark whose token it is, are the same.
    """
    runs = [found.span() for found in _LEFT_ALONE[least].finditer(form)]
    first, end = runs[-1] if runs else (0, len(form))
    start = max(first, end - LONGEST_PIECE)
    return start, form[start:end]


def _in_two(form: bytes) -> tuple[tuple[int, bytes], tuple[int, bytes]]:
    """Two pieces of a form of which one is whole wherever the form is broken into lines of `LEAST_LINE` and more."""
    if len(form) >= 2 * HALF:
        ends = [found.end() for found in _LONG_PLAIN.finditer(form)]
        end = ends[-1] if ends else len(form)
        return (end - 2 * HALF, form[end - 2 * HALF : end - HALF]), (end - HALF, form[end - HALF : end])
    # Both have the letter in the middle: a break before it leaves the second whole, one behind it the first.
    middle = len(form) // 2
    return (0, form[: middle + 1]), (middle, form[middle:])
