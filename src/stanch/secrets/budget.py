"""How much a text may cost to look through, and what is said where that is spent or something breaks.

Settles the limits and the words for not having looked. They count bytes and steps rather than seconds, so that the same
text has the same answer on every machine. Does not settle what becomes of the item (whoever delivers it withholds it).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from stanch.values.fault import Fault


class Cause(StrEnum):
    """Why a text was not projected. It holds no content."""

    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    ENGINE_FAILED = "engine_failed"
    NOT_BUILT = "not_built"
    KEYS_COLLIDE = "keys_collide"
    NOT_JSON = "not_json"


_SAID = {
    Cause.TOO_LARGE: "it is larger than may be looked through",
    Cause.TOO_MANY: "it holds too much that is or resembles a secret",
    Cause.ENGINE_FAILED: "the search for secrets failed",
    Cause.NOT_BUILT: "the search for secrets could not be set up",
    Cause.KEYS_COLLIDE: "two keys of one object would become the same",
    Cause.NOT_JSON: "it holds something that JSON has no form for",
}


class Withheld(Fault):
    """A text could not be projected, so nothing of it may be shown; `cause` says why."""

    def __init__(self, cause: Cause) -> None:
        self.cause = cause
        super().__init__(_SAID[cause])


class Budget(NamedTuple):
    """What one text, one structure, or all of one stream's feeds may cost, each for itself.

    `size` is in bytes, `hits` counts places that hold a secret or part of one, `steps` comparisons made there.
    """

    size: int = 1 << 30
    hits: int = 1 << 20
    steps: int = 1 << 23
