"""How forms begin: which of them the end of a text may be the beginning of.

Settles that question alone. What is done with the answer is said in `secrets.tails`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from stanch.secrets.encodings import FLOOR


class Beginnings:
    """Some forms, by how they begin. Never changes."""

    __slots__ = ("_first", "_forms", "_short", "longest")

    def __init__(self, forms: Iterable[bytes]) -> None:
        """Each form has at least as many bytes as the floor."""
        self._forms: Sequence[bytes] = sorted(forms)
        self.longest = max(map(len, self._forms), default=0)
        self._first = {form[:FLOOR] for form in self._forms if len(form) > FLOOR}
        self._short = [{form[:length] for form in self._forms} for length in range(FLOOR)]

    def begun(self, data: bytes, start: int) -> int:
        """The first place from `start` on from which the rest is how a form begins and goes on; else the end."""
        size = len(data)
        start = max(start, size - self.longest + 1, 0)
        first = self._first
        for at in range(start, size - FLOOR + 1):
            if data[at : at + FLOOR] in first and self.beginning_with(data[at:]) is not None:
                return at
        for at in range(max(start, size - FLOOR + 1), size):
            if data[at:] in self._short[size - at]:
                return at
        return size

    def beginning_with(self, rest: bytes) -> bytes | None:
        """A form that begins with this and goes on."""
        at = bisect_left(self._forms, rest)
        if at < len(self._forms) and self._forms[at] == rest:
            at += 1
        form = self._forms[at] if at < len(self._forms) else b""
        return form if form.startswith(rest) and form else None
