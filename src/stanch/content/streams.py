"""Bytes that an operation gives, one block after another.

Settles the record. Does not settle how a door sends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stream:
    """Some bytes, their name and type. `size` counts them where that is known before.

    `text`: secrets are taken out of them on their way to a model; else they go as they are, which is admitted only
    where they carry none.
    """

    chunks: Iterator[bytes] = field(repr=False)
    name: str
    media_type: str = "application/octet-stream"
    size: int | None = None
    text: bool = False
