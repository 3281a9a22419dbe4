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
from stanch.secrets.escapes import CONTEXT, Escape, Hint
from stanch.secrets.grams import Grams

_RARE = 256


class Finder(Protocol):
    """What is made of some pieces, and finds them in texts."""

    def spots(self, data: bytes, most: int) -> list[Spot]:
        """Where the pieces stand, overlapping ones too, in no order; one more than `most` at the most."""


class Engine(NamedTuple):
    """A way to find pieces.

    Where it `halves`, it also looks for the halves of forms that may be broken into lines, which costs it less than to
    look at each line. A piece of `least` letters is long enough for it to be quick. `noticed` are places at or right
    behind each hint from `start` on, `most` at the most.
    """

    name: str
    made: Callable[[Sequence[bytes]], Finder]
    halves: bool
    least: int
    noticed: Callable[[Hint, bytes, int, int], Iterable[int]]


def _with_re(hint: Hint, data: bytes, start: int, most: int) -> list[int]:
    return [found.end() for found in islice(hint.pattern.finditer(data, start), most)]


def _grams() -> Engine:
    return Engine("grams", Grams, False, 15, _with_re)


def _vectors() -> Engine:
    from stanch.secrets.vectors import Vectors

    @lru_cache(16)
    def compiled(forward: bytes) -> Finder:
        return Vectors([forward], patterns=True)

    def noticed(hint: Hint, data: bytes, start: int, most: int) -> list[int]:
        rest = data[max(0, start - CONTEXT) :] if start else data
        skipped = len(data) - len(rest)
        return [skipped + place for place, _ in compiled(hint.forward).spots(rest, most - 1)]

    return Engine("vectors", Vectors, True, 10, noticed)


@lru_cache(1)
def engines() -> tuple[Engine, ...]:
    """All engines that there are here, the best one first."""
    return (_vectors(), _grams()) if find_spec("hyperscan") else (_grams(),)


def noticed(engine: Engine, escape: Escape, data: bytes, most: int) -> list[int] | None:
    """Places within or right behind the escapes of this kind; None where they are more than `most`."""
    found: list[int] = []
    for hint in escape.hints:
        at = data.find(hint.mark)
        if at >= 0 and hint.rare:
            # As long as the byte is rare, nothing is quicker than to go from one to the next.
            for _ in range(_RARE):
                if hint.pattern.match(data, at):
                    found.append(at + 1)
                at = data.find(hint.mark, at + 1)
                if at < 0:
                    break
        if at >= 0:
            found += engine.noticed(hint, data, at, max(most - len(found) + 1, 1))
        if len(found) > most:
            return None
    return found
