"""Where the forms of secrets stand in some bytes: all of them, overlapping ones too, also where they are escaped.

Settles what an occurrence is. Does not settle what stands there instead (`secrets.projection`).

SPEC: secrets/matching.1
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from typing import NoReturn

from stanch.secrets.anchors import Anchors, Forms, Hit, Spot
from stanch.secrets.beginnings import Beginnings
from stanch.secrets.budget import Budget, Cause, Withheld
from stanch.secrets.engines import Engine, engines, noticed
from stanch.secrets.escapes import BREAKS, ESCAPES, LONGEST, Reading, surroundings
from stanch.secrets.labels import clear_of

_SPARSE = 64
"""Where there is an escape for every so many bytes, or more, they count as many."""


class Layer:
    """The forms that one engine looks for. Never changes, and never leaves the process."""

    def __init__(self, forms: Forms, engine: Engine) -> None:
        """Raises whatever the engine raises where it cannot be made."""
        self.forms = forms
        self.longest = max(map(len, forms), default=0)
        self.clear = clear_of(forms)
        self.breaking = frozenset(form for form, (_, breaks) in forms.items() if breaks)
        self.anchors = Anchors(forms, halved=engine.halves, least=engine.least)
        self.spots = engine.made(self.anchors.pieces).spots

    @cached_property
    def beginnings(self) -> Beginnings:
        """The forms by how they begin."""
        return Beginnings(self.forms)

    @cached_property
    def broken_beginnings(self) -> Beginnings:
        """Those that programs break into lines, by how they begin."""
        return Beginnings(self.breaking)

    @cached_property
    def endings(self) -> Beginnings:
        """The forms backwards, so by how they end."""
        return Beginnings(form[::-1] for form in self.forms)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("what holds the forms of secrets cannot be pickled")


class Matcher:
    """Some layers, asked together. Never changes."""

    __slots__ = ("_broken", "_cause", "_engine", "_escapes", "_watched", "budget", "layers", "longest")

    def __init__(
        self,
        layers: Iterable[Layer],
        budget: Budget,
        causes: Iterable[Cause | None] = (),
        engine: Engine | None = None,
        *,
        escapes: bool = True,
    ) -> None:
        """`causes`: why some layer is missing; then nothing is ever found to be without secrets."""
        self.layers = tuple(layers)
        self.budget = budget
        self.longest = max((layer.longest for layer in self.layers), default=0)
        self._broken = max((len(form) for layer in self.layers for form in layer.breaking), default=0)
        self._cause = next(filter(None, causes), None)
        self._escapes = ESCAPES if escapes and self.layers else ()
        self._engine = engine or engines()[0] if self._escapes else None
        lines = any(layer.breaking and not layer.anchors.halved for layer in self.layers)
        watched = (escape for escape in self._escapes if escape is not BREAKS or lines)
        self._watched = tuple((hint.mark, escape) for escape in watched for hint in escape.hints)

    def find(self, data: bytes) -> list[Hit]:
        """Every occurrence, in order, the longest first of those that begin at one place. Raises `Withheld`."""
        budget = self.budget
        if self._cause is not None:
            raise Withheld(self._cause)
        if len(data) > budget.size:
            raise Withheld(Cause.TOO_LARGE)
        try:
            return self._found(data, budget)
        except Withheld:
            raise
        except Exception:  # noqa: S110 - said below, so that what was raised, which may hold some of the text, is let go
            pass
        raise Withheld(Cause.ENGINE_FAILED)

    def _found(self, data: bytes, budget: Budget) -> list[Hit]:
        hits: list[Hit] = []
        broken: list[int] = []
        for layer in self.layers:
            if spots := layer.spots(data, budget.hits):
                hits += layer.anchors.hits(data, within(spots, budget), budget.steps)
                broken += layer.anchors.broken(spots)
        watched = {escape.name for mark, escape in self._watched if mark in data}
        if (watched or broken) and self._escapes:
            hits = self._with_escaped(data, hits, watched, broken)
        hits.sort()
        return hits

    def _with_escaped(self, data: bytes, hits: list[Hit], watched: Container[str], broken: list[int]) -> list[Hit]:
        """These hits, widened, and those that are escaped; `watched` are kinds of escapes that there may be."""
        readings = []
        for escape in self._escapes:
            places: list[int] | None = broken if escape is BREAKS else []
            if escape.name in watched and self._engine is not None:
                places = noticed(self._engine, escape, data, max(len(data) // _SPARSE, 1))
            if places or places is None:
                # Where escapes are many, all of the text is read at once.
                longest = self._broken if escape is BREAKS else self.longest
                margin = longest * escape.reach + LONGEST
                around = [(0, len(data))] if places is None else surroundings(places, margin, len(data))
                readings.append(Reading(data, around, escape))
        for reading in readings:
            hits += self._escaped(reading)
        return [widened(hit, readings) for hit in hits]

    def _escaped(self, reading: Reading) -> Iterator[Hit]:
        text = reading.text
        if not text:
            return
        for layer in self.layers:
            for start, end, names in layer.anchors.hits(
                text, within(layer.spots(text, self.budget.hits), self.budget), self.budget.steps
            ):
                if reading.escape is BREAKS and text[start:-end] not in layer.breaking:
                    continue
                if placed := reading.placed(start, -end):
                    yield placed[0], -placed[1], names


def within(spots: list[Spot], budget: Budget) -> list[Spot]:
    """The spots. Raises `Withheld` where they are more than may be counted."""
    if len(spots) > budget.hits:
        raise Withheld(Cause.TOO_MANY)
    return spots


def widened(hit: Hit, readings: Iterable[Reading]) -> Hit:
    """The hit, and the whole of each escape that it begins or ends in.

    WHY: half an escape is other text than the whole one, and could be the beginning of another secret. Half a line
    break could not, and is left alone: engines differ in which line breaks they read.
    """
    start, end, names = hit
    stop = -end
    while True:
        first, last = start, stop
        for reading in readings:
            if reading.escape is not BREAKS:
                first, last = reading.widened(first, last)
        if (first, last) == (start, stop):
            return start, -stop, names
        start, stop = first, last
