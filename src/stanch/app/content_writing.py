"""What is known of the values that somebody writes into a store.

Settles it for a caller who says nothing, for one who says which secrets were resolved, and for a model. Does not settle
how it is kept (`provenance.seals`).
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stanch.content.access import Knowing, Pieces, Writing
from stanch.delivery.gates import RegistryGate
from stanch.provenance.registry import Registry
from stanch.provenance.states import Cause, Entry, Exact, Provenance, Unknown, merged
from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.secrets.telling import is_short, mark_of
from stanch.secrets.text import Secret

_NO_TEXTS = (b"%PDF-", b"{\\rtf")
_HEAD = 5
"""How formats begin that may be written in the letters of a text alone, and hold one that nobody reads in them."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a writer says of itself: the secrets that were resolved on the way, and if it knows all of them."""

    secrets: tuple[str, ...] = ()
    complete: bool = True


class Unsaid:
    """A writer that says nothing: a person, a program. What it writes is known as far as its sources are."""

    def over(self, sources: Sequence[Provenance] = ()) -> Knowing:
        """What is known of values made of these sources."""
        start = merged(sources)
        if isinstance(start, Unknown):
            return _always(Unknown(Cause.SOURCE_UNKNOWN))
        if not isinstance(start, Exact):
            return _always(start)
        return _occurring(start.entries)


class Said:
    """A writer that says which secrets were resolved: a workflow, whose registry these are."""

    def __init__(self, declared: Declared, vault: Iterable[Entry]) -> None:
        self._registry = Registry()
        for entry in vault:
            if entry.name in declared.secrets:
                self._registry.activate(entry)
        # WHY: one that knows of no secret at all has lost nothing by not knowing everything.
        self._lost = not declared.complete and bool(self._registry.entries)
        self._silent = not declared.complete and not self._lost

    def over(self, sources: Sequence[Provenance] = ()) -> Knowing:
        """What is known of values made of these sources, besides what was resolved."""
        start = merged(sources)
        if isinstance(start, Unknown):
            return _always(Unknown(Cause.SOURCE_UNKNOWN))
        if self._lost or not self._registry.is_complete:
            return _always(Unknown(Cause.INCOMPLETE))
        if self._silent:
            return Unsaid().over(sources)
        further = start.entries if isinstance(start, Exact) else frozenset()
        return _occurring({*self._registry.entries, *further})


class Acting:
    """A model, which may write whatever this call let through, and whatever else it was told."""

    def __init__(self, gate: RegistryGate, vault: Iterable[Entry]) -> None:
        self._gate, self._vault = gate, tuple(vault)

    def over(self, sources: Sequence[Provenance] = ()) -> Knowing:
        """What is known of values made of these sources, and of anything that the vault holds."""
        start = merged(sources)
        if isinstance(start, Unknown):
            return _always(Unknown(Cause.SOURCE_UNKNOWN))
        if self._gate.registry.latched is not None:
            return _always(Unknown(self._gate.registry.latched))
        if not self._gate.registry.is_complete:
            return _always(Unknown(Cause.INCOMPLETE))
        further = start.entries if isinstance(start, Exact) else frozenset()
        # WHY not all of the vault: a model's own picture would then carry every secret that there is.
        given = {*self._gate.registry.entries, *further}
        return _occurring({*self._vault, *given}, hidden=given)


class MadeOf:
    """A writer whose every word is made of some sources: an operation whose arguments were stored."""

    def __init__(self, writing: Writing, sources: Sequence[Provenance]) -> None:
        self._writing, self._sources = writing, tuple(sources)

    def over(self, sources: Sequence[Provenance] = ()) -> Knowing:
        """What is known of values made of these sources, and of its own."""
        return self._writing.over((*self._sources, *sources))


def _always(provenance: Provenance) -> Knowing:
    return lambda _: provenance


def _occurring(entries: Collection[Entry], hidden: Collection[Entry] | None = None) -> Knowing:
    """Says which of the secrets occur in a value: an exact set.

    Bytes that are no text, such as a picture, a workbook or an archive, carry those that may be `hidden` in them, None
    for all: nobody can look into them.
    """
    inside = frozenset(entries if hidden is None else hidden)
    ordered = sorted(entries, key=lambda one: (one.name, one.scope.user or "", one.mark))
    long = {str(place): one for place, one in enumerate(ordered) if not is_short(one.secret)}
    short = frozenset(one for one in ordered if is_short(one.secret))
    projector = Projector({place: one.secret for place, one in long.items()})

    def known(value: Any) -> Provenance:
        reading = _Reading()
        try:
            found = _found(projector, value, reading)
        except Withheld:
            return Unknown(Cause.OVER_LIMIT)
        exact = {long[place] for place in found} | (frozenset() if reading.is_text else inside)
        # A secret that is too short to be looked for among other letters is found where it is all of a text.
        return Exact(frozenset(exact | {one for one in short if _is_all_of(one, value)}))

    return known if ordered else _always(Exact())


class _Reading:
    """Tells bytes that are a text from all others, while they pass."""

    def __init__(self) -> None:
        self._decoder, self._head, self.is_text = getincrementaldecoder("utf-8")(), b"", True

    def feed(self, data: bytes, *, last: bool = False) -> None:
        """Takes the next bytes."""
        if len(self._head) < _HEAD:
            self._head = (self._head + data)[:_HEAD]
            self.is_text = self.is_text and not self._head.startswith(_NO_TEXTS)
        if self.is_text:
            try:
                self.is_text = "\0" not in self._decoder.decode(data, last)
            except UnicodeDecodeError:
                self.is_text = False


def _found(projector: Projector, value: Any, reading: _Reading) -> frozenset[str]:
    match value:
        case bytes():
            reading.feed(value, last=True)
            return projector.found(value)
        case str():
            return projector.found(value)
        case Pieces(chunks):
            passing = projector.data_stream(bulk=True)
            for chunk in chunks:
                reading.feed(chunk)
                passing.feed(chunk)
            reading.feed(b"", last=True)
            passing.end()
            return passing.found
        case _:
            return projector.found_in(value)


def _is_all_of(entry: Entry, value: Any) -> bool:
    match value:
        case str():
            return mark_of(Secret(value)) == entry.mark if value else False
        case dict():
            return any(_is_all_of(entry, one) for pair in value.items() for one in pair)
        case list() | tuple():
            return any(_is_all_of(entry, one) for one in value)
        case _:
            return False
