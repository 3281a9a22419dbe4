"""Which runs of a text also occur in texts that are withheld, and in none that may be seen?

Settles that for texts alone. A run is LEAST characters, each stretch of blanks counted as one; what is found is all
that such runs cover. Does not settle whose texts these are (`tiers.history_quotes`).
The time is linear in the texts, whatever they hold. Any run holds a whole block of BLOCK characters that begins at a
multiple of BLOCK in its text: so of two texts that are compared, one is looked up at each character, and the other at
each block only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from stanch.tiers.history_spans import Names, Span

LEAST = 24
BLOCK = 12
_WORD = re.compile(r"\S+")


def folded(text: str) -> str:
    """The text with one blank for each stretch of white space, and none at its ends."""
    return " ".join(text.split())


class Shared:
    """Runs that occur on both sides of a comparison. `blocks` are all pieces of BLOCK characters in them."""

    __slots__ = ("blocks", "runs")

    def __init__(self) -> None:
        self.runs: set[str] = set()
        self.blocks: set[str] = set()

    def places(self, text: str) -> Iterator[tuple[int, str]]:
        """Where any of the runs begins in a folded text, in order, with the run."""
        runs, blocks = self.runs, self.blocks
        last, following = len(text) - LEAST, 0
        for block in range(0, len(text) - BLOCK + 1, BLOCK):
            if text[block : block + BLOCK] in blocks:
                for start in range(max(block - BLOCK, following), min(block, last) + 1):
                    run = text[start : start + LEAST]
                    if run in runs:
                        yield start, run
                following = block + 1


class Withheld:
    """Texts that are withheld, each with the names of where it came from. Those too short to be quoted do not count."""

    def __init__(self, texts: Iterable[tuple[str, Names]]) -> None:
        self._texts: dict[str, Names] = {}
        for text, names in texts:
            plain = folded(text)
            if len(plain) >= LEAST:
                self._texts.setdefault(plain, names)
        self._blocks: set[str] | None = None

    def __bool__(self) -> bool:
        return bool(self._texts)

    def runs(self, texts: Iterable[str], seen: Callable[[], Iterable[str]]) -> tuple[dict[str, list[Span]], Shared]:
        """For each of the texts that quotes, the stretches of it that do, none of which overlap; and all their runs.

        `seen` gives the texts that may be seen; it is asked only where something is quoted.
        """
        plain = {text: folded(text) for text in texts if len(text) >= LEAST}
        shared = self._shared([one for one in dict.fromkeys(plain.values()) if len(one) >= LEAST])
        if shared.runs:
            known: set[str] = set()
            for text in seen():
                if len(text) >= LEAST:
                    known.update(run for _, run in shared.places(folded(text)))
                    if len(known) == len(shared.runs):
                        break
            shared.runs -= known
        if not shared.runs:
            return {}, Shared()
        owners: dict[str, Names] = {}
        for text, names in self._texts.items():
            for _, run in shared.places(text):
                owners.setdefault(run, names)
        found = {text: _stretches(text, one, shared, owners) for text, one in plain.items()}
        return {text: spans for text, spans in found.items() if spans}, shared

    def _shared(self, texts: Sequence[str]) -> Shared:
        own = list(self._texts)
        if self._blocks is None and sum(map(len, own)) < sum(map(len, texts)):
            return _common(own, texts, _blocks(texts))
        if self._blocks is None:
            self._blocks = _blocks(own)
        return _common(texts, own, self._blocks)


def _blocks(texts: Iterable[str]) -> set[str]:
    return {text[at : at + BLOCK] for text in texts for at in range(0, len(text) - BLOCK + 1, BLOCK)}


def _common(fine: Iterable[str], coarse: Iterable[str], blocks: set[str]) -> Shared:
    """The runs that occur in a text of either side; `blocks` are the blocks of the coarse one."""
    candidates, met = Shared(), set()
    for text in fine:
        last, following = len(text) - LEAST, 0
        for at in [at for at in range(len(text) - BLOCK + 1) if text[at : at + BLOCK] in blocks]:
            met.add(text[at : at + BLOCK])
            for start in range(max(at - BLOCK, following), min(at, last) + 1):
                candidates.runs.add(text[start : start + LEAST])
            following = at + 1
    found = Shared()
    if not candidates.runs:
        return found
    candidates.blocks = met
    for text in coarse:
        following = 0
        for start, run in candidates.places(text):
            found.runs.add(run)
            for at in range(max(start, following), start + LEAST - BLOCK + 1):
                found.blocks.add(text[at : at + BLOCK])
            following = start + LEAST - BLOCK + 1
    return found


def _stretches(text: str, plain: str, shared: Shared, owners: dict[str, Names]) -> list[Span]:
    """What the shared runs cover of a text, with the names of where they are withheld."""
    found: list[tuple[int, int, dict[str, None]]] = []
    for start, run in shared.places(plain):
        names = owners[run]
        if found and start <= found[-1][1]:
            begun, _, known = found[-1]
            known.update(dict.fromkeys(names))
            found[-1] = (begun, start + LEAST, known)
        else:
            found.append((start, start + LEAST, dict.fromkeys(names)))
    if not found:
        return []
    spans = [Span(start, end, tuple(names)) for start, end, names in found]
    return spans if text == plain else _unfolded(text, plain, spans)


def _unfolded(text: str, plain: str, spans: Sequence[Span]) -> list[Span]:
    """The spans of the folded text, as they are in the text itself."""
    words = [found.span() for found in _WORD.finditer(text)]
    starts = list(accumulate((ended - begun + 1 for begun, ended in words), initial=0))[:-1]

    def place(position: int) -> int:
        word = bisect_right(starts, position) - 1
        begun, ended = words[word]
        return min(begun + position - starts[word], ended)

    return [Span(place(start), place(end - 1) + (plain[end - 1] != " "), names) for start, end, names in spans]
