"""Secrets that become known one after another: each in a small layer, until there are enough for a larger one.

Settles how many layers there are, so that adding a secret is quick and looking for many stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stanch.secrets.budget import Cause
from stanch.secrets.engines import Engine, engines
from stanch.secrets.known import joined
from stanch.secrets.matcher import Layer
from stanch.secrets.text import Secret

Entry = tuple[str, Secret]
_TOGETHER = 8
"""So many levels of one size become one."""


class Level(NamedTuple):
    """Some entries and what looks for them: no layer where all are too short, a cause where none could be made."""

    entries: Sequence[Entry]
    layer: Layer | None
    cause: Cause | None = None


def level(entries: Sequence[Entry], engine: Engine | None) -> Level:
    """The level of these entries."""
    try:
        forms = joined(entries)
        return Level(entries, Layer(forms, engine or engines()[0]) if forms else None)
    except Exception:  # whatever an engine raises, nothing of it is passed on: it may hold what it was made of
        return Level(entries, None, Cause.NOT_BUILT)


def added(levels: Sequence[Level], entry: Entry, engine: Engine | None) -> tuple[Level, ...]:
    """The levels with one more entry. The first level is never made anew."""
    first, later = tuple(levels[:1]), [*levels[1:], level((entry,), engine)]
    while len(later) >= _TOGETHER and len({len(one.entries) for one in later[-_TOGETHER:]}) == 1:
        together = [entry for one in later[-_TOGETHER:] for entry in one.entries]
        later[-_TOGETHER:] = [level(together, engine)]
    return (*first, *later)


def folded(levels: Sequence[Level], engine: Engine | None) -> tuple[Level, ...]:
    """One level with all entries."""
    return (level([entry for one in levels for entry in one.entries], engine),)
