"""Texts that are projected while they arrive, in any pieces.

Settles that the pieces that come out make the same text as if the whole had been projected at once, and that no more
is held back than may still become a secret. Does not settle what a secret is (`secrets.matcher`).
"""

from __future__ import annotations

from stanch.secrets.budget import Withheld
from stanch.secrets.encodings import encoded
from stanch.secrets.escapes import CONTEXT
from stanch.secrets.labels import Labels
from stanch.secrets.matcher import Matcher
from stanch.secrets.tails import held

BULK = 1 << 16
"""In bulk, so many bytes are gathered before they are looked through."""


class DataStream:
    """One stream of bytes. Not for several threads at once."""

    def __init__(self, matcher: Matcher, labels: Labels, *, bulk: bool) -> None:
        self._matcher = matcher
        self._labels = labels
        self._least = BULK if bulk else 1
        self._before = b""
        self._pending: list[bytes] = []
        self._size = 0
        self._covered = 0
        self._found: set[str] = set()
        self._shut: Withheld | None = None

    @property
    def found(self) -> frozenset[str]:
        """The names of the secrets that occurred in what came out so far."""
        return frozenset(self._found)

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return self._size

    def feed(self, chunk: bytes) -> bytes:
        """What of the text is certain by now. Raises `Withheld`, then and ever after, where it cannot be projected."""
        self._pending.append(chunk)
        self._size += len(chunk)
        return self._passed(final=False) if self._size >= self._least else b""

    def end(self) -> bytes:
        """All that was held back. The stream begins anew after it. Raises `Withheld`."""
        left = self._passed(final=True)
        self._before, self._covered = b"", 0
        return left

    def _passed(self, *, final: bool) -> bytes:
        if self._shut is not None:
            raise self._shut
        data = self._before + b"".join(self._pending)
        start = len(self._before)
        try:
            hits = self._matcher.find(data)
            cut = len(data) if final else held(self._matcher.layers, data, start, hits)
        except Withheld as why:
            self._shut = why
            raise
        parts: list[bytes] = []
        at = start + self._covered
        for begin, end, names in hits:
            if begin < start:
                continue
            if begin >= cut:
                break
            self._found.update(names)
            if begin >= at:
                parts += (data[at:begin], encoded(self._labels.of(names[0])))
                at = -end
            else:
                at = max(at, -end)
        if at < cut:
            parts.append(data[at:cut])
            at = cut
        self._covered = at - cut
        self._before = data[max(0, cut - CONTEXT) : cut]
        self._pending = [data[cut:]]
        self._size = len(data) - cut
        return b"".join(parts)


class TextStream:
    """One stream of text: one for each field of a message. Not for several threads at once."""

    def __init__(self, stream: DataStream) -> None:
        self._stream = stream

    @property
    def found(self) -> frozenset[str]:
        """The names of the secrets that occurred in what came out so far."""
        return self._stream.found

    def feed(self, chunk: str) -> str:
        """What of the text is certain by now. Raises `Withheld`, then and ever after, where it cannot be projected."""
        return self._stream.feed(encoded(chunk)).decode("utf-8", "surrogatepass")

    def end(self) -> str:
        """All that was held back. The stream begins anew after it. Raises `Withheld`."""
        return self._stream.end().decode("utf-8", "surrogatepass")
