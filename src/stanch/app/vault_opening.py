"""How a sealed value of the vault is opened, and when the keys are read again.

Settles that a value opens in its own row alone, and that a key which was added meanwhile is found. Does not settle
where the keys are (`app.sealing_keys`) nor what becomes of a value (`app.vault`). No message holds a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from stanch.secrets.sealing import KeyRing, Place, Unopened
from stanch.secrets.text import Secret
from stanch.values.fault import BadInput, BrokenRow
from stanch.values.vault import SealedRecord

TABLE, COLUMN = "vault_values", "sealed"


class Opening:
    """Opens values with the keys of the moment. `ring` None: there are none, and nothing can be opened."""

    def __init__(self, ring: KeyRing | None, reread: Callable[[], KeyRing] | None) -> None:
        """`reread` gives the keys as they are now."""
        self.ring, self._reread = ring, reread

    def reread(self) -> None:
        """Takes the keys as they are now. Raises `BadInput` where there are none to be had."""
        if self._reread is not None:
            self.ring = self._reread()

    def read_again(self) -> bool:
        """True where the keys were read anew; where that cannot be, those of before go on."""
        if self._reread is None:
            return False
        try:
            self.reread()
        except BadInput:
            return False
        return True

    def all(self, values: Sequence[SealedRecord]) -> list[Secret]:
        """The value of each. Raises `BrokenRow` for the first that cannot be opened."""
        try:
            return [self._open(one) for one in values]
        except _KeyGone as gone:
            # WHY again: another node may have sealed it with a key that was added since this one read them.
            if not self.read_again():
                raise gone.row from None
        try:
            return [self._open(one) for one in values]
        except _KeyGone as gone:
            raise gone.row from None

    def some(self, values: Sequence[SealedRecord]) -> Iterator[Secret]:
        """The value of each that can be opened with the keys that were read last."""
        for one in values:
            with suppress(_KeyGone, BrokenRow):
                yield self._open(one)

    def problem(self, one: SealedRecord) -> str | None:
        """Why the value cannot be opened with the keys that were read last; None where it can."""
        try:
            self._open(one)
        except _KeyGone as gone:
            return gone.row.problem
        except BrokenRow as why:
            return why.problem
        return None

    def _open(self, one: SealedRecord) -> Secret:
        """The value. Raises `_KeyGone` and `BrokenRow`."""
        if self.ring is None:
            raise _KeyGone(BrokenRow(TABLE, one.id, "there is no key"))
        try:
            return self.ring.open(one.sealed, place_of(one.id))
        except Unopened as why:
            told = BrokenRow(TABLE, one.id, str(why))
            raise (_KeyGone(told) if why.key_gone else told) from None


class _KeyGone(Exception):
    """A row whose key is not there; it may be found where the keys are read again."""

    def __init__(self, row: BrokenRow) -> None:
        self.row = row
        super().__init__()


def place_of(row_id: str) -> Place:
    """What a value of this row is bound to."""
    return Place(TABLE, row_id, COLUMN)
