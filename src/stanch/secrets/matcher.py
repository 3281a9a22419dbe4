"""Where the forms of secrets stand in some bytes: all of them, overlapping ones too, also where they are escaped.

Settles what an occurrence is. Does not settle what stands there instead (`secrets.projection`).

SPEC: secrets/matching.1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NoReturn

from stanch.secrets.anchors import Anchors, Forms, Hit, Spot
from stanch.secrets.beginnings import Beginnings
from stanch.secrets.budget import Budget, Cause, Withheld
from stanch.secrets.engines import Engine, engines, noticed
from stanch.secrets.escapes import BREAKS, ESCAPES, LONGEST, Escape, Reading, surroundings
from stanch.secrets.labels import clear_of

_SPARSE = 64
"""Where there is an escape for fewer bytes than this, all of the text is read at once."""


class Layer:
    """The forms that one engine looks for. Never changes, and never leaves the process."""

    def __init__(self, forms: Forms, engine: Engine) -> None:
        """Raises whatever the engine raises where it cannot be made."""
        self.forms = forms
        self.longest = max(map(len, forms), default=0)
        self.clear = clear_of(forms)
        self.breaking = frozenset(form for form, (_, breaks) in forms.items() if breaks)
        self.anchors = Anchors(forms, halved=bool(self.breaking) and len(forms) < engine.halved_below)
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

    __slots__ = ("_cause", "_engine", "_escapes", "_lines", "budget", "layers", "longest")

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
        self._cause = next(filter(None, causes), None)
        self._escapes = ESCAPES if escapes and self.layers else ()
        self._engine = engine or engines()[0] if self._escapes else None
        self._lines = any(layer.breaking and not layer.anchors.halved for layer in self.layers)

    def find(self, data: bytes) -> list[Hit]:
        """Every occurrence, in order, the longest first of those that begin at one place. Raises `Withheld`."""
        return self.read(data)[0]

    def read(self, data: bytes) -> tuple[list[Hit], list[Reading]]:
        """Every occurrence, and what was read to find them. Raises `Withheld`."""
        if self._cause is not None:
            raise Withheld(self._cause)
        if len(data) > self.budget.size:
            raise Withheld(Cause.TOO_LARGE)
        try:
            hits, broken = self._whole(data)
            if not self._escapes:
                hits.sort()
                return hits, []
            readings = [one for escape in self._escapes if (one := self._read(data, escape, broken))]
            for reading in readings:
                hits += self._escaped(reading)
        except Withheld:
            raise
        except Exception:
            raise Withheld(Cause.ENGINE_FAILED) from None
        if readings and hits:
            hits = [widened(hit, readings) for hit in hits]
        hits.sort()
        return hits, readings

    def _whole(self, data: bytes) -> tuple[list[Hit], list[int]]:
        hits: list[Hit] = []
        broken: list[int] = []
        for layer in self.layers:
            if spots := self._spots(layer, data):
                hits += layer.anchors.hits(data, spots, self.budget.steps)
                broken += layer.anchors.broken(spots)
        return hits, broken

    def _spots(self, layer: Layer, data: bytes) -> list[Spot]:
        most = self.budget.hits
        spots = layer.spots(data, most)
        if len(spots) > most:
            raise Withheld(Cause.TOO_MANY)
        return spots

    def _read(self, data: bytes, escape: Escape, broken: list[int]) -> Reading | None:
        """What is read around the escapes of this kind; None where there are none."""
        places: list[int] | None = []
        if self._engine is not None and (escape is not BREAKS or self._lines):
            places = noticed(self._engine, escape, data, max(len(data) // _SPARSE, 1))
        if escape is BREAKS and places is not None:
            places += broken
        if places is None:
            stretches: Iterable[tuple[int, int]] = ((0, len(data)),)
        elif places:
            stretches = surroundings(places, self.longest * escape.reach + LONGEST, len(data))
        else:
            return None
        reading = Reading(data, stretches, escape)
        return reading if reading.text else None

    def _escaped(self, reading: Reading) -> Iterator[Hit]:
        text = reading.text
        for layer in self.layers:
            for start, end, names in layer.anchors.hits(text, self._spots(layer, text), self.budget.steps):
                if reading.escape is BREAKS and text[start:-end] not in layer.breaking:
                    continue
                if placed := reading.placed(start, -end):
                    yield placed[0], -placed[1], names


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
