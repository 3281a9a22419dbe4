"""An engine on top of `hyperscan`, which compares many bytes at once. It is used where that package is installed.

Settles where pieces stand, and where escapes may be. Compiling takes some ten microseconds for each piece, and more
where there are very many; what is compiled does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hyperscan

from stanch.secrets.anchors import Spot


def _collect(number: int, _: int, end: int, __: int, found: Any) -> bool | None:
    ends: list[Spot]
    most, ends = found
    ends.append((end, number))
    return True if len(ends) > most else None


def _as_pattern(piece: bytes) -> bytes:
    return b"".join(b"\\x%02x" % byte for byte in piece)


class Vectors:
    """The engine."""

    def __init__(self, pieces: Sequence[bytes], *, patterns: bool = False) -> None:
        """`pieces` are literal, unless they are `patterns`. Raises what `hyperscan` raises where it cannot compile."""
        self._lengths = [0 if patterns else len(piece) for piece in pieces]
        if not patterns and any(0 in piece for piece in pieces):
            # WHY: literal pieces end at a zero byte, as strings in C do.
            pieces, patterns = [_as_pattern(piece) for piece in pieces], True
        self._compiled = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._compiled.compile(
            expressions=list(pieces), ids=list(range(len(pieces))), flags=[0] * len(pieces), literal=not patterns
        )
        # WHY a list: each scan under way needs memory of its own. Taking from a list and putting back are atomic, so
        # that two threads never get the same one, and no thread waits.
        self._idle: list[hyperscan.Scratch] = []

    def spots(self, data: bytes, most: int) -> list[Spot]:
        """Where the pieces stand, overlapping ones too, in no order; one more than `most` at the most.

        A spot of a pattern is where it ends.
        """
        try:
            scratch = self._idle.pop()
        except IndexError:
            scratch = hyperscan.Scratch(self._compiled)
        ends: list[Spot] = []
        try:
            self._compiled.scan(data, match_event_handler=_collect, context=(most, ends), scratch=scratch)
        except hyperscan.ScanTerminated:
            if len(ends) <= most:
                raise
        self._idle.append(scratch)
        if not ends:
            return ends
        lengths = self._lengths
        return [(end - lengths[number], number) for end, number in ends]
