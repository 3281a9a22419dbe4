"""What is kept of a command's output: its beginning and its end.

Settles how much that is. Does not settle where the output comes from.
WHY not `runtime.cutting`: that cuts a text that is there; this one must never be there whole.
"""

from __future__ import annotations

HEAD = 16 * 1024
TAIL = 48 * 1024
# How far a cut moves to fall between two lines.
_NEAR = 400


class Kept:
    """The output of a command, of which no more is held than is shown."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._most_head = head
        self._most_tail = tail
        self._dropped = 0

    def add(self, piece: bytes) -> None:
        """Takes the next piece."""
        room = self._most_head - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        over = len(self._tail) - self._most_tail
        if over > self._most_tail:  # WHY not at once: each cut moves all that is kept
            self._drop(over)

    def text(self) -> str:
        """The output as a text, a note in the place of what was left out. What is no UTF-8 is a replacement character,
        and so is a NUL, which not every store can hold.
        """
        self._drop(len(self._tail) - self._most_tail)
        if not self._dropped:
            return _decoded(bytes(self._head + self._tail))
        head, tail = bytes(self._head), bytes(self._tail)
        end = head.rfind(b"\n", len(head) - _NEAR) + 1
        start = tail.find(b"\n", 0, _NEAR) + 1
        if end and start:
            head, tail, dropped = head[:end], tail[start:], self._dropped + len(head) - end + start
            return f"{_decoded(head)}[… {dropped:,} bytes left out …]\n{_decoded(tail)}"
        head, broken = _whole(head)
        half = _continuing(tail)
        return f"{_decoded(head)}[… {self._dropped + broken + half:,} bytes left out …]{_decoded(tail[half:])}"

    def _drop(self, over: int) -> None:
        if over > 0:
            del self._tail[:over]
            self._dropped += over


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace").replace("\0", "\ufffd")


def _whole(data: bytes) -> tuple[bytes, int]:
    """The bytes without the beginning of a letter at their end, and the length of that."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return (data[:-back], back) if back < length else (data, 0)
        if byte < 0x80:
            break
    return data, 0


def _continuing(data: bytes) -> int:
    """The number of bytes at the beginning that belong to the letter before them."""
    count = 0
    while count < min(3, len(data)) and 0x80 <= data[count] < 0xC0:
        count += 1
    return count
