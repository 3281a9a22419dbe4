"""Telling secrets apart without opening them where they are compared.

Settles that two secrets of the same text have the same mark within this process, and that the mark says nothing outside
of it. Does not settle what is done with it.
"""

from __future__ import annotations

import hashlib
import secrets

from stanch.secrets.text import Secret, opened

SHORTEST = 8
_KEY = secrets.token_bytes(32)


def mark_of(secret: Secret) -> bytes:
    """What tells the text of a secret from every other, in this process alone."""
    return hashlib.blake2b(opened(secret).encode("utf-8", "surrogatepass"), key=_KEY, digest_size=16).digest()


def is_short(secret: Secret) -> bool:
    """True for a text of fewer characters than can be told from an ordinary word."""
    return len(opened(secret)) < SHORTEST


def size_of(secret: Secret) -> int:
    """How many bytes the text of a secret takes."""
    return len(opened(secret).encode("utf-8", "surrogatepass"))
