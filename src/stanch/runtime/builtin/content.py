"""The bytes of a file that is open, and whether they are a text.

Settles how much is read, and what counts as text. Does not settle what of it is shown.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

MOST_BYTES = 10 * 1024 * 1024
BLOCK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of some bytes. `odd` counts the places that are no UTF-8; a replacement character stands for each."""

    text: str
    odd: int


def read_block(descriptor: int, most: int = BLOCK) -> bytes:
    """The next bytes of the file, none at its end. Raises `OSError`, also where it would have to wait for them.

    WHY: some files of the kernel look like any other, and have nothing to read for hours.
    """
    if os.get_blocking(descriptor):
        os.set_blocking(descriptor, False)
    return os.read(descriptor, most)


def read_whole(descriptor: int, most: int = MOST_BYTES) -> bytes | None:
    """All that is in the file now, None where that is more than `most` bytes. Raises `OSError`."""
    blocks: list[bytes] = []
    left = most
    while block := read_block(descriptor, min(BLOCK, left + 1)):
        left -= len(block)
        if left < 0:
            return None
        blocks.append(block)
    return b"".join(blocks)


def is_binary(data: bytes) -> bool:
    """True where the bytes are no text: there is a NUL among them."""
    return b"\0" in data


def decoded(data: bytes) -> Decoded:
    """The text of the bytes, read as UTF-8."""
    try:
        return Decoded(data.decode(), 0)
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        return Decoded(text, text.count("\ufffd") - data.count("\ufffd".encode()))
