"""What is known of tables and their rows: sealed beside them, read again, and what a row may show of it.

Settles which knowledge belongs to which row, and what stands in the place of a cell with a secret that is too short to
be found. Does not settle which rows pass (`delivery.gates`).
INVARIANT: nothing here reads what is known but where a model asks, or where something is written that is made of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stanch.content.access import Access, Knowing
from stanch.content.table_cells import texts_in, texts_of
from stanch.delivery.source import COMPLETE, Batch, Derived, Kind, Source, View
from stanch.provenance.states import Cause, Entry, Exact, Provenance, Unknown, Unrecorded
from stanch.secrets.projection import Projector
from stanch.secrets.sealing import Place
from stanch.secrets.telling import is_short, mark_of
from stanch.secrets.text import Secret
from stanch.values.tables import RowRecord, TableRecord


def digest_of(written: str) -> str:
    """The version of what is written: the digest of its canonical JSON."""
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def place_of_row(table_id: str, row_id: int) -> Place:
    """Where what is known of a row is sealed for."""
    return Place("content_rows", f"{table_id}/{row_id}", "provenance")


def place_of_table(table_id: str) -> Place:
    """Where what is known of a table's name and columns is sealed for."""
    return Place("content_tables", table_id, "provenance")


def kept_of_row(access: Access, provenance: Provenance, table_id: str, row_id: int, written: str) -> str | None:
    """What is kept beside a row."""
    if isinstance(provenance, Unrecorded):
        return None
    return access.seals.kept(provenance, place_of_row(table_id, row_id), digest_of(written))


def known_of_row(access: Access, table: TableRecord, row_id: int, written: str, kept: str | None) -> Provenance:
    """What is known of a row that now reads so."""
    place = place_of_row(table.id, row_id)
    return access.seals.known(kept, place, digest_of(written), owner=table.owner)


def table_source(access: Access, table: TableRecord, view: View = COMPLETE) -> Source:
    """A table's name and columns, as they leave."""

    def known() -> Provenance:
        kept = access.stores.table_provenance(table.id)
        return access.seals.known(kept, place_of_table(table.id), digest_of(table.words), owner=table.owner)

    return Source(Kind.TABLE, table.id, known, view)


class Rows:
    """Some rows on their way out, of which what is known is read together, when somebody has to know."""

    def __init__(self, access: Access, table: TableRecord, rows: Sequence[RowRecord]) -> None:
        self._access, self._table = access, table
        self._rows = {str(row.id): row for row in rows}
        self._batch = Batch(self._read)

    def source(self, row: RowRecord, view: View = COMPLETE) -> Source:
        """One row as it leaves. Each of its cells is replaced whole where it carries a secret that is too short."""
        known, version = self._batch.of(str(row.id)), str(row.version)
        return Source(Kind.ROW, f"{self._table.id}/{row.id}", known, view, whole=True, version=version)

    def part(self, row: RowRecord, places: Sequence[int] | None) -> Source:
        """Some of a row's cells as they leave; None for all of them."""
        if places is None or len(places) == len(row.cells):
            return self.source(row)
        return self.source(row, Derived([row.cells[place] for place in places]))

    def cells(self, row: RowRecord) -> list[Any]:
        """The cells of a row that is admitted, without secrets that are too short to be found in a text."""
        if not self._access.delivery.classified:
            return list(row.cells)
        provenance = self._batch.of(str(row.id))()
        short = [one for one in provenance.entries if is_short(one.secret)] if isinstance(provenance, Exact) else []
        return _masked(row.cells, short) if short else list(row.cells)

    def _read(self) -> Mapping[str, Provenance]:
        kept = self._access.stores.row_provenance(self._table.id, [row.id for row in self._rows.values()])
        # ABSENT: a row that is gone by now, which is then of an unknown source.
        return {name: self._known(row, *kept[row.id]) for name, row in self._rows.items() if row.id in kept}

    def _known(self, row: RowRecord, version: int, kept: str | None) -> Provenance:
        """What is known of a row as it was loaded. WHY: somebody may have written another in its place since."""
        if version != row.version:
            return Unknown(Cause.VERSION_MISMATCH)
        return known_of_row(self._access, self._table, row.id, row.written, kept)


def known_of_cells(known: Knowing, cells: Sequence[Any], raw: Sequence[str]) -> Provenance:
    """What is known of a row that is written. `raw` are the texts that it was made of.

    Where a secret occurs in these, and not in the cells, the types of the columns have changed it: the row is unknown.
    """
    found = known(texts_of(cells))
    if not isinstance(found, Exact):
        return found
    # WHY the cells together: two columns may hold the two halves of a secret, side by side.
    before = known([*raw, together(cells)])
    if not isinstance(before, Exact):
        return before
    return found if before.entries <= found.entries else Unknown(Cause.REWRITTEN)


def together(cells: Sequence[Any]) -> str:
    """The texts of all cells, one behind the other. Line ends around it, so that it is never a short secret itself."""
    return f"\n{''.join(texts_of(cells))}\n"


def carried_in(cell: Any, entries: Iterable[Entry]) -> set[Entry]:
    """Those of a row's secrets that stand in one cell of it. A short one does where it is all of a text."""
    if cell is None:
        return set()
    texts = list(texts_in(cell))
    return {
        entry
        for entry in entries
        if (
            any(mark_of(Secret(text)) == entry.mark for text in texts if text)
            if is_short(entry.secret)
            else Projector({entry.name: entry.secret}).found_in(cell)
        )
    }


def _masked(cells: Sequence[Any], short: Sequence[Entry]) -> list[Any]:
    marks = {entry.mark: entry.name for entry in short}
    projector = Projector({entry.name: entry.secret for entry in short})
    names = [_carried(cell, marks) for cell in cells]
    if not any(names):
        # It is known to be in the row, and nobody can say where.
        first = short[0].name
        names = [None if cell is None or isinstance(cell, bool) else first for cell in cells]
    return [cell if name is None else projector.label(name) for cell, name in zip(cells, names, strict=True)]


def _carried(cell: Any, marks: Mapping[bytes, str]) -> str | None:
    """The name of a short secret that is all of a text in this cell; None where none is."""
    for text in texts_in(cell):
        if text and (name := marks.get(mark_of(Secret(text)))) is not None:
            return name
    return None
