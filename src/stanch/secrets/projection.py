"""Texts as others may see them: every occurrence of a secret replaced by a label with its name.

Settles what comes of a text, of bytes, of a structure, of a window and of an excerpt. Does not settle what is looked
for (`secrets.encodings`), nor who may see what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar, cast

from stanch.secrets import structures
from stanch.secrets.anchors import Hit
from stanch.secrets.budget import Budget
from stanch.secrets.encodings import encoded
from stanch.secrets.engines import Engine
from stanch.secrets.known import is_short
from stanch.secrets.labels import Labels
from stanch.secrets.levels import Level, added, folded, level
from stanch.secrets.matcher import Matcher
from stanch.secrets.streams import DataStream, TextStream
from stanch.secrets.tails import torn
from stanch.secrets.text import Secret

T = TypeVar("T")


class Projector:
    """Some secrets under their names, and texts without them. Never changes; any threads may use one together.

    Whatever it is asked for, it raises `Withheld` where it cannot say for certain that no secret is left.
    """

    __slots__ = ("_engine", "_find", "_labels", "_levels", "_matcher")

    def __init__(
        self, entries: Mapping[str, Secret], *, budget: Budget | None = None, engine: Engine | None = None
    ) -> None:
        """`engine` is for tests; else the best one that is installed is taken."""
        self._take((level(tuple(entries.items()), engine),), budget or Budget(), engine)

    def _take(self, levels: tuple[Level, ...], budget: Budget, engine: Engine | None) -> None:
        self._levels = levels
        self._engine = engine
        layers = [one.layer for one in levels if one.layer]
        causes = [one.cause for one in levels]
        self._matcher = Matcher(layers, budget, causes, engine)
        self._find = self._matcher.find
        # WHY not within the budget: that is for what is given, and a label may be longer than all of it.
        unbounded = self._matcher if budget == Budget() else Matcher(layers, Budget(), causes, engine)
        self._labels = Labels(self._matcher.layers, unbounded.find)

    def __repr__(self) -> str:
        return f"Projector({len(self.names)} names)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("what holds the forms of secrets cannot be pickled")

    @property
    def names(self) -> frozenset[str]:
        """The names of all secrets."""
        return frozenset(name for one in self._levels for name, _ in one.entries)

    @property
    def short(self) -> frozenset[str]:
        """The names of those whose value has too few characters to be looked for: no text is changed for them."""
        return frozenset(name for one in self._levels for name, secret in one.entries if is_short(secret))

    def adding(self, name: str, secret: Secret) -> Projector:
        """A projector that knows one secret more, also where one of this name is known already."""
        return self._with(added(self._levels, (name, secret), self._engine))

    def folded(self) -> Projector:
        """One that knows the same, and finds it as fast as if all had been known from the beginning. Takes a while."""
        return self._with(folded(self._levels, self._engine))

    def _with(self, levels: tuple[Level, ...]) -> Projector:
        new = Projector.__new__(Projector)
        new._take(levels, self._matcher.budget, self._engine)
        return new

    def label(self, name: str) -> str:
        """What stands in the place of this secret."""
        return self._labels.of(name)

    def text(self, text: str) -> str:
        """The text without secrets; the very same object where there are none."""
        data = encoded(text)
        hits = self._find(data)
        return self._cut(text, data, hits, 0, len(data)) if hits else text

    def data(self, data: bytes) -> bytes:
        """The bytes without secrets; the very same object where there are none."""
        hits = self._find(data)
        return self._pieces(data, hits, 0, len(data)) if hits else data

    def structure(self, value: T) -> T:
        """The JSON-like value with every string, key and number projected; the same object where nothing changed."""
        return cast("T", structures.projected(value, self.text))

    def found(self, text: str | bytes) -> frozenset[str]:
        """The names of all secrets that occur, those inside of others too, and all that have the same value."""
        hits = self._find(encoded(text) if isinstance(text, str) else text)
        return frozenset(name for _, _, names in hits for name in names)

    def found_in(self, value: Any) -> frozenset[str]:
        """The names of all secrets that occur in a JSON-like value."""
        found: set[str] = set()

        def note(text: str) -> str:
            found.update(self.found(text))
            return text

        structures.projected(value, note)
        return frozenset(found)

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where in the text a label takes the place of some characters, in order: from which one up to which."""
        data = encoded(text)
        found = [(begin, stop) for begin, stop, _ in _spans(self._find(data), 0, len(data))]
        if text.isascii() or not found:
            return tuple(found)
        at = count = 0
        places: list[int] = []
        for edge in (edge for span in found for edge in span):
            count += len(data[at:edge].decode("utf-8", "surrogatepass"))
            at = edge
            places.append(count)
        return tuple(zip(places[::2], places[1::2], strict=True))

    def window(self, text: str, start: int, end: int) -> str:
        """What `text[start:end]` is without secrets, after all of the text was looked through.

        A secret that reaches over an edge of the window is replaced like any other, so no part of it is in there.
        """
        start, end, _ = slice(start, end).indices(len(text))
        data = encoded(text)
        hits = self._find(data)
        if not hits:
            return text[start:end]
        if not text.isascii():
            start, end = len(encoded(text[:start])), len(encoded(text[:end]))
        return self._cut(text, data, hits, start, max(start, end))

    def excerpt(self, text: str) -> str:
        """The same for a text that somebody has cut: its ends are replaced too where they may be parts of a secret."""
        data = encoded(text)
        hits = sorted([*self._find(data), *torn(self._matcher.layers, data)])
        return self._cut(text, data, hits, 0, len(data)) if hits else text

    def stream(self, *, bulk: bool = False) -> TextStream:
        """A text that arrives in pieces. `bulk` is for large amounts that nobody waits for."""
        return TextStream(self.data_stream(bulk=bulk))

    def data_stream(self, *, bulk: bool = False) -> DataStream:
        """Bytes that arrive in pieces."""
        return DataStream(self._matcher, self._labels, bulk=bulk)

    def _cut(self, text: str, data: bytes, hits: Sequence[Hit], start: int, end: int) -> str:
        """`data[start:end]` without the hits; `data` is the text in UTF-8."""
        if not text.isascii():
            return self._pieces(data, hits, start, end).decode("utf-8", "surrogatepass")
        parts: list[str] = []
        at = start
        for begin, stop, name in _spans(hits, start, end):
            parts += (text[at : max(at, begin)], self._labels.of(name))
            at = stop
        parts.append(text[at : max(at, end)])
        return "".join(parts)

    def _pieces(self, data: bytes, hits: Sequence[Hit], start: int, end: int) -> bytes:
        parts: list[bytes] = []
        at = start
        for begin, stop, name in _spans(hits, start, end):
            parts += (data[at : max(at, begin)], encoded(self._labels.of(name)))
            at = stop
        parts.append(data[at : max(at, end)])
        return b"".join(parts)


def _spans(hits: Sequence[Hit], start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """What the hits cover together, as far as it meets this stretch: hits that overlap are one, named by the first."""
    begin = stop = -1
    name = ""
    for first, last, names in hits:
        if first < stop:
            stop = max(stop, -last)
            continue
        if start < stop and begin < end:
            yield begin, stop, name
        begin, stop, name = first, -last, names[0]
    if start < stop and begin < end:
        yield begin, stop, name
