"""The engines: what says where pieces stand, and which one there is.

Settles which engine is used where. Every engine reports the same spots; a suite holds all of them to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from typing import NamedTuple, Protocol

from stanch.secrets.anchors import Spot
from stanch.secrets.escapes import Escape, Hint
from stanch.secrets.grams import Grams


class Finder(Protocol):
    """What is made of some pieces, and finds them in texts."""

    def spots(self, data: bytes, most: int) -> list[Spot]:
        """Where the pieces stand, overlapping ones too, in no order; one more than `most` at the most."""


class Engine(NamedTuple):
    """A way to find pieces.

    `halved_below`: for fewer forms than this it also looks for the halves of those that may be broken into lines, which
    costs it less than to look at each line. `noticed` are places at or right behind each hint, `most` at the most.
    """

    name: str
    made: Callable[[Sequence[bytes]], Finder]
    halved_below: int
    noticed: Callable[[Hint, bytes, int], Iterable[int]]


def _with_re(hint: Hint, data: bytes, most: int) -> list[int]:
    return [found.end() for found in islice(hint.pattern.finditer(data), most)]


def _grams() -> Engine:
    return Engine("grams", Grams, 0, _with_re)


def _vectors() -> Engine:
    from stanch.secrets.vectors import Vectors

    @lru_cache(16)
    def compiled(forward: bytes) -> Finder:
        return Vectors([forward], patterns=True)

    def noticed(hint: Hint, data: bytes, most: int) -> list[int]:
        return [place for place, _ in compiled(hint.forward).spots(data, most - 1)]

    return Engine("vectors", Vectors, 20_000, noticed)


@lru_cache(1)
def engines() -> tuple[Engine, ...]:
    """All engines that there are here, the best one first."""
    return (_vectors(), _grams()) if find_spec("hyperscan") else (_grams(),)


def noticed(engine: Engine, escape: Escape, data: bytes, most: int) -> list[int] | None:
    """Places within or right behind the escapes of this kind; None where they are more than `most`."""
    found: list[int] = []
    for hint in escape.hints:
        if hint.mark in data:
            found += engine.noticed(hint, data, most - len(found) + 1)
            if len(found) > most:
                return None
    return found
