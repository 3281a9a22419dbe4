"""Long texts, shown in part.

Settles how much of a text a page shows until somebody asks for the rest, and that it says how much is left out. Does
not settle how a line is made safe to show (`showing`).
"""

from __future__ import annotations

from typing import NamedTuple

from stanch.surfaces.console.showing import Line, has_odd, lines

MOST_CHARACTERS = 150_000
MOST_LINES = 1_900
_EACH_LINE = 200


class Cut(NamedTuple):
    """The beginning of a text: its lines, how many it has in all, whether some are left out, and what is odd in it."""

    lines: list[Line]
    total: int
    is_cut: bool
    odd: bool


def cut(text: str, most_lines: int) -> Cut:
    """The first lines of a text, fewer where they are long."""
    longest = min(most_lines * _EACH_LINE, MOST_CHARACTERS)
    rows = text[:longest].split("\n")
    kept = "\n".join(rows[:most_lines])
    total = text.count("\n") + (not text.endswith("\n") or text == "\n")
    return Cut(lines(kept), max(1, total), len(kept) < len(text.rstrip("\n")), has_odd(text[:longest]))


def whole(text: str) -> Cut:
    """As much of a text as a page can hold."""
    return cut(text, MOST_LINES)
