"""Choices that can be drawn again: what a random shell command is made of.

Settles how a choice is drawn, recorded and taken back. Does not settle what is chosen (`tests.shell.grammar`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
MOST_CHOICES = 400


def split(text: str) -> list[str]:
    """The words of a table."""
    return text.split()


class Draws:
    """Numbers from a seed, or given ones again. What lies behind the given ones is 0: the simplest choice."""

    def __init__(self, seed: str, given: Sequence[int] | None = None) -> None:
        self._random = Random(seed)
        self._given = given
        self.taken: list[int] = []

    def below(self, limit: int) -> int:
        """A number from 0 to `limit`, without it."""
        at = len(self.taken)
        if self._given is not None:
            number = self._given[at] % limit if at < len(self._given) else 0
        else:
            number = self._random.randrange(limit) if at < MOST_CHOICES else 0
        self.taken.append(number)
        return number

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred draws; False is the simpler answer."""
        return self.below(100) >= 100 - percent


def smaller(choices: Sequence[int], fails: Callable[[Sequence[int]], bool], most: int) -> list[int]:
    """Choices that still fail, with as many taken out or made simple as `most` trials allow."""
    best, trials = list(choices), 0
    size = max(1, len(best) // 2)
    while size:
        at = 0
        while at < len(best):
            cut = best[:at] + best[at + size :]
            zero = best[:at] + [0] * len(best[at : at + size]) + best[at + size :]
            for tried in (cut, zero) if any(best[at : at + size]) else (cut,):
                trials += 1
                if trials > most:
                    return best
                if fails(tried):
                    best = tried
                    break
            else:
                at += size
        size //= 2
    return best
