"""Which cell of a tier answers for a path, for one class of effects.

Settles what is more specific: the pattern that matched the deepest component, then more literal components, then fewer
wildcards; of equals deny, then ask, then allow. The order of writing never counts. Does not settle what a tier says
where no cell matches (`tiers.tier`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from stanch.paths.pattern import Part, PathPattern, component, is_span
from stanch.values.decision import Effect

_STRENGTH = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}
Rank = tuple[int, int, int]
"""How specific a pattern is among those that match equally deep; the greatest goes first."""
_LEAST: Rank = (-1, 0, 0)


class Entry(NamedTuple):
    """One form of a cell's pattern, with what the cell says of the class. `cell` is its number in the tier, from 1."""

    pattern: PathPattern
    cell: int
    effect: Effect

    @property
    def rank(self) -> Rank:
        """By its literal components, its wildcards, and what the cell says."""
        parts = self.pattern.parts
        return sum(not part.wild for part in parts), -sum(part.wildcards for part in parts), _STRENGTH[self.effect]


class Found(NamedTuple):
    """The entry that answers, and the depth of the component that it matched: 1 for `src` of `/src/a`."""

    entry: Entry
    depth: int


class _Wild(NamedTuple):
    """An entry with a wildcard, and how deep it matches wherever it does; None where that depends on the path."""

    entry: Entry
    rank: Rank
    depth: int | None


class Column:
    """The cells of a tier that speak to one class of effects. It never changes.

    WHY three tables: most cells name one directory, or one name anywhere (`/**/secrets`), and are found by it; of the
    others only those are tried whose literal head the path lies under.
    """

    __slots__ = ("_folded", "_named", "_placed", "_wild", "entries")

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._placed: dict[str, tuple[Entry, Rank]] = {}
        self._named: dict[str, tuple[Entry, Rank]] = {}
        self._wild: dict[str, list[_Wild]] = {}
        for entry in self.entries:
            parts, rank = entry.pattern.parts, entry.rank
            if not any(part.wild for part in parts):
                _keep(self._placed, entry.pattern.literal, entry, rank)
            elif len(parts) == 2 and is_span(parts[0]) and not parts[1].wild:
                _keep(self._named, parts[1].text, entry, rank)
            else:
                depth = None if any(map(is_span, parts)) else len(parts)
                self._wild.setdefault(entry.pattern.literal, []).append(_Wild(entry, rank, depth))
        self._folded: Column | None = None

    def best(self, key: str, *, folded: bool = False) -> Found | None:
        """The most specific entry that covers the path; None where none does.

        `key` is a canonical path in Unicode normal form C. `folded`: it lies where letter case is ignored.
        """
        if folded:
            if self._folded is None:
                self._folded = Column(entry._replace(pattern=entry.pattern.folded()) for entry in self.entries)
            return self._folded.best(key.casefold())
        if not self.entries:
            return None
        best: Entry | None = None
        depth, rank = -1, _LEAST
        here = key if key != "/" else ""
        deep = here.count("/")
        placed, named, tried = self._placed.get, self._named.get, self._wild.get
        while True:
            slash = here.rfind("/")
            if deep > depth:
                # WHY no comparison: a path in full outranks a name anywhere that matches as deep.
                hit = placed(here) or named(here[slash + 1 :])
                if hit is not None:
                    (best, rank), depth = hit, deep
            for wild in tried(here, ()):
                if wild.entry.pattern.covers(key):
                    matched = wild.depth if wild.depth is not None else deepest(wild.entry.pattern, key)
                    if matched > depth or (matched == depth and wild.rank > rank):
                        best, depth, rank = wild.entry, matched, wild.rank
            if slash < 0:
                break
            here, deep = here[:slash], deep - 1
        return None if best is None else Found(best, depth)


def _keep(table: dict[str, tuple[Entry, Rank]], word: str, entry: Entry, rank: Rank) -> None:
    if word not in table or rank > table[word][1]:
        table[word] = (entry, rank)


def deepest(pattern: PathPattern, key: str) -> int:
    """The depth of the deepest component of the path that the pattern matches; 0 where it matches none.

    Each run of components between two `**` is put where it fits first, the last one where it fits last.
    """
    names = key.split("/")[1:] if key != "/" else []
    first, *floating = _runs(pattern.parts)
    at = len(first)
    if not _stands(first, names, 0):
        return 0
    if not floating:
        return at
    *middle, last = floating
    for run in middle:
        place = next((place for place in range(at, len(names)) if _stands(run, names, place)), None)
        if place is None:
            return 0
        at = place + len(run)
    for place in range(len(names) - len(last), at - 1, -1):
        if _stands(last, names, place):
            return place + len(last)
    return 0


@lru_cache(maxsize=1 << 12)
def _runs(parts: tuple[Part, ...]) -> tuple[tuple[Callable[[str], bool], ...], ...]:
    """The tests of the components between each two `**`."""
    runs: list[list[Callable[[str], bool]]] = [[]]
    for part in parts:
        if is_span(part):
            runs.append([])
        else:
            runs[-1].append(_test(part))
    return tuple(map(tuple, runs))


def _stands(run: Sequence[Callable[[str], bool]], names: list[str], place: int) -> bool:
    return place + len(run) <= len(names) and all(test(names[place + at]) for at, test in enumerate(run))


def _test(part: Part) -> Callable[[str], bool]:
    return component(part.text) if part.wild else part.text.__eq__
