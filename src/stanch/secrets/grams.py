"""An engine out of nothing but the standard library: it samples a text, and looks closer where a sample is known.

Settles where pieces stand, in a time that does not depend on how many there are. Of each piece every run of eight bytes
that may fall on a sample is kept in a set; the set is asked about all samples of a stretch in one call, which is what
makes this quick enough.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Literal, NamedTuple

from stanch.secrets.anchors import Spot

_STRETCH = 2048
"""So many samples are asked about at once: few enough that most stretches hold none that is known."""


class _Grid(NamedTuple):
    """How a text is sampled: how many bytes a sample has, how far apart they are, where the first ones begin."""

    width: int
    step: int
    form: Literal["Q", "I"]
    begins: tuple[int, ...]

    @property
    def least(self) -> int:
        """A piece with at least so many bytes has one whole sample, wherever it stands."""
        return self.width + self.step - 1


_GRIDS = (_Grid(8, 8, "Q", (0,)), _Grid(8, 4, "Q", (0, 4)), _Grid(4, 4, "I", (0,)))


class _Sampled:
    """The pieces that are found on one grid."""

    def __init__(self, grid: _Grid, pieces: Sequence[tuple[int, bytes]]) -> None:
        self._grid = grid
        self._known: dict[int, dict[tuple[int, int], dict[bytes, int]]] = {}
        for number, piece in pieces:
            for at in range(grid.step):
                sample = int.from_bytes(piece[at : at + grid.width], sys.byteorder)
                self._known.setdefault(sample, {}).setdefault((at, len(piece)), {})[piece] = number
        self._samples = frozenset(self._known)

    def spots(self, data: bytes) -> Iterator[Spot]:
        width, _, form, begins = self._grid
        unknown, known = self._samples.isdisjoint, self._samples.__contains__
        for begin in begins:
            if (count := (len(data) - begin) // width) <= 0:
                continue
            samples = memoryview(data)[begin : begin + count * width].cast(form)
            for first in range(0, count, _STRETCH):
                stretch = samples[first : first + _STRETCH]
                if unknown(stretch):
                    continue
                for place in compress(range(len(stretch)), map(known, stretch)):
                    at = begin + (first + place) * width
                    for (before, length), fitting in self._known[stretch[place]].items():
                        start = at - before
                        if start >= 0 and (number := fitting.get(data[start : start + length])) is not None:
                            yield start, number


class Grams:
    """The engine. It needs nothing to be installed."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        """`pieces` have at least seven bytes each."""
        left = list(enumerate(pieces))
        self._sampled: list[_Sampled] = []
        for grid in _GRIDS:
            fitting = [one for one in left if len(one[1]) >= grid.least]
            left = [one for one in left if len(one[1]) < grid.least]
            if fitting:
                self._sampled.append(_Sampled(grid, fitting))

    def spots(self, data: bytes, most: int) -> list[Spot]:
        """Where the pieces stand, overlapping ones too, in no order; one more than `most` at the most."""
        found: list[Spot] = []
        for sampled in self._sampled:
            for spot in sampled.spots(data):
                found.append(spot)
                if len(found) > most:
                    return found
        return found
