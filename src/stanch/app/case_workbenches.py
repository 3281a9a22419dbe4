"""The form of cases about a workbench.

Settles their keys. Does not settle how such a case is carried out (`app.case_workbench`).
"""

from __future__ import annotations

from typing import Any

from stanch.app.case_records import Benching
from stanch.app.case_yaml import Reading, Table
from stanch.provenance.states import Cause
from stanch.values.reason import Code

ADMITTED, SHOWN = "admitted", "shown"
GOES, STAYS, GOES_ON = "goes", "stays", "goes on"
DOES = ("mounts", "fetches", "asks", "runs", "removes", "loses", "reads", "ended")
LOSES = ("key", "bytes of its memory", "nothing")
_KNOWN = {
    "mounts": ("state", "is"),
    "fetches": ("state", "is"),
    "asks": ("state", "is"),
    "runs": ("makes", "changes", "takes_away", "moves", "dies", "is"),
    "removes": (),
    "loses": ("is",),
    "reads": ("becomes",),
    "ended": ("kept", "unread", "is"),
}
_ALWAYS = ("tainted", "history", "from")


def read_workbench(reading: Reading, rows: list[Table]) -> Benching:
    """What is done with a workbench in a case, step by step. Raises `BadInput` for what is wrong with its form."""
    for row in rows:
        does = [key for key in DOES if key in row]
        if len(does) != 1:
            raise reading.wrong(row, f"a step has one of {', '.join(DOES)}")
        kind = does[0]
        reading.known(row, (kind, *_KNOWN[kind], *_ALWAYS), f"a step with '{kind}'")
        for key in (*_ALWAYS, "makes", "changes", "takes_away"):
            reading.texts(row, key)
        moves = reading.take(row, "moves", dict, "a table of names", {})
        if not all(isinstance(one, str) for pair in moves.items() for one in pair):
            raise reading.wrong(row, "'moves' is a table of names", "moves")
        reading.take(row, "dies", bool, "true or false")
        if kind in ("mounts", "fetches", "asks"):
            _check_state(reading, row)
        if kind == "loses" and row[kind] not in LOSES:
            raise reading.wrong(row, f"'loses' is one of {', '.join(LOSES)}", kind)
        if kind == "ended":
            _check_end(reading, row)
        elif "is" in _KNOWN[kind] and row.get("is") not in (ADMITTED, SHOWN, *(code.value for code in Code)):
            raise reading.wrong(row, f"'is' is {ADMITTED}, {SHOWN} or a reason code", "is")
    return Benching(tuple(rows))


def _check_end(reading: Reading, row: Table) -> None:
    hours = (row.get("ended"), row.get("kept"))
    if row.get("ended") == GOES_ON:
        hours = (0, row.get("kept"))
    if not all(isinstance(one, int) for one in (*hours, row.get("unread", 0))):
        raise reading.wrong(row, f"'ended' is hours or '{GOES_ON}', 'kept' hours, and 'unread' a number", "ended")
    if row.get("is") not in (GOES, STAYS):
        raise reading.wrong(row, f"'is' is {GOES} or {STAYS}", "is")


def _check_state(reading: Reading, row: Table) -> None:
    state: Any = row.get("state")
    names = isinstance(state, list) and all(isinstance(one, str) for one in state)
    unknown = isinstance(state, Table) and list(state) == ["unknown"] and state["unknown"] in list(Cause)
    if state not in ("unrecorded", "clean") and not names and not unknown:
        raise reading.wrong(row, "'state' is unrecorded, clean, a list of names, or {unknown: CAUSE}", "state")
