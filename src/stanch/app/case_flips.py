"""Cases about what would change an answer, as they are written.

Settles the keys. Does not settle which change it is (`app.flipping`), nor when a case fails (`app.case_flipping`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stanch.app.case_yaml import Reading, Table
from stanch.values.decision import Effect

KEYS = ("to", "recorded", "kind", "does", "toml", "place", "warns", "others", "in_the_way", "cannot", "hides")


def read_flips(reading: Reading, row: Table) -> Mapping[str, Any] | None:
    """What a case says of the change that would give its call another answer; None where it says nothing of it."""
    if "flips" not in row:
        return None
    flips = reading.take(row, "flips", Table, "a table")
    reading.known(flips, KEYS, "'flips'")
    if flips.get("to", "allow") not in [one.value for one in Effect]:
        raise reading.wrong(row, "'to' is one of allow, ask and deny", "flips")
    if ("does" in flips) is ("in_the_way" in flips or "cannot" in flips):
        raise reading.wrong(row, "'flips' says what a change 'does', or what is 'in_the_way' or 'cannot' be", "flips")
    return dict(flips)
