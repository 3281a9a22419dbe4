"""A row that narrows a session: what it may not do, or not without a person, beside the rules.

Settles the record. Does not settle what a row says of a call (`policy.rows`), nor who may take one away.
"""

from __future__ import annotations

from dataclasses import dataclass

from stanch.values.decision import Effect


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `id` is its number in the session, from 1 and never given twice.

    `action` is deny or ask. `real_approval`: its ask is one that only a person may answer. `frozen`: nobody takes it
    away for as long as the session lasts.
    """

    id: int
    tool: str
    action: Effect
    path: str | None = None
    command: str | None = None
    note: str | None = None
    real_approval: bool = False
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The rows of a session, and the number that the next one is given."""

    rows: tuple[Row, ...] = ()
    next: int = 1


NONE = Narrowing()
