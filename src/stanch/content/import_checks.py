"""What is known of rows that are imported, some at a time.

Settles that a row is unknown where the types of its columns changed a secret, where a secret reached over its borders
in the file, and where nobody can say how the file has it. Does not settle what is known of the file.
WHY together: nearly always no secret is in many rows, which one look at the text of all of them tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stanch.content.access import Knowing
from stanch.content.table_cells import texts_of
from stanch.content.table_known import known_of_cells, together
from stanch.provenance.states import CLEAN, Cause, Exact, Provenance, Unknown
from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.secrets.telling import SHORTEST, is_short

HELD_BACK = 64
"""How many rows wait for those behind them: a secret may reach over so many borders."""
_REWRITTEN = Unknown(Cause.REWRITTEN)


@dataclass(slots=True)
class Parsed:
    """A row that is to be written: its cells, as the file `gave` them and as they are kept, and their canonical JSON.

    `raw` is the text that it stood in, None for unsaid. `torn`: a secret reached over its borders.
    """

    gave: Sequence[Any] = field(repr=False)
    cells: Sequence[Any] = field(repr=False)
    written: str = field(repr=False)
    raw: str | None = field(repr=False)
    torn: bool = False


class Checking:
    """Says of each row what is known of it, in order."""

    def __init__(self, known: Knowing, *, unsaid_is_clean: bool = True) -> None:
        """`unsaid_is_clean`: no secret is in the file, in whatever form it has rows that nobody can say the text of."""
        self._known, self._unsaid_is_clean = known, unsaid_is_clean
        # What is known of every value alike, as of those of an unknown source; None where it depends on the value.
        probe = known("")
        self._always = None if isinstance(probe, Exact) else probe
        self._held: list[Parsed] = []

    def of(self, rows: Sequence[Parsed], *, last: bool = False) -> Iterator[tuple[Parsed, Provenance]]:
        """Rows with what is known of each. Some of the newest may wait for the next call, unless it is the `last`."""
        if self._always is not None:
            yield from ((row, self._always) for row in rows)
            return
        both = [*self._held, *rows]
        keep = 0 if last else min(HELD_BACK, len(both))
        found = self._found(both)
        self._held = both[len(both) - keep :]
        yield from zip(both[: len(both) - keep], found, strict=False)

    def _found(self, rows: Sequence[Parsed]) -> list[Provenance]:
        if not rows:
            return []
        texts = [row.raw or "" for row in rows]
        whole = "".join(texts)
        cells = "".join(together(row.cells) for row in rows)
        small: set[str] = set()
        for row in rows:
            # A short secret is found where it is all of a text, which it is in a cell or nowhere.
            small.update(text for text in texts_of(row.gave) if len(text) < SHORTEST)
            small.update(text for text in texts_of(row.cells) if len(text) < SHORTEST)
        glance = self._known([whole, cells, *small])
        if isinstance(glance, Exact) and not glance.entries:
            return [_REWRITTEN if row.torn else CLEAN for row in rows]
        self._tear(rows, texts, whole, glance)
        return [self._one(row) for row in rows]

    def _one(self, row: Parsed) -> Provenance:
        if row.raw is None and not self._unsaid_is_clean:
            return _REWRITTEN
        found = known_of_cells(self._known, row.cells, [row.raw or "", *texts_of(row.gave)])
        return _REWRITTEN if row.torn and isinstance(found, Exact) else found

    def _tear(self, rows: Sequence[Parsed], texts: Sequence[str], whole: str, glance: Provenance) -> None:
        """Marks the rows that a secret reaches into over a border."""
        entries = glance.entries if isinstance(glance, Exact) else frozenset()
        long = {str(place): one.secret for place, one in enumerate(entries) if not is_short(one.secret)}
        try:
            projector = Projector(long)
            if projector.text(whole) == "".join(map(projector.text, texts)) and isinstance(glance, Exact):
                return
            at = 0
            for row, text in zip(rows, texts, strict=True):
                row.torn |= projector.window(whole, at, at + len(text)) != projector.text(text)
                at += len(text)
        except Withheld:
            for row in rows:
                row.torn = True
