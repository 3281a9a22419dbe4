"""Cases about files that nobody has asked for, as they are written.

Settles which keys such a case has. Does not settle what must come of it (`app.case_judging`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stanch.app.case_records import Judged, Probed
from stanch.app.case_yaml import Reading, Table
from stanch.judge.notices import Consumer
from stanch.values.reason import LayerId
from stanch.values.verdict import Cause, Face, State

KEYS = ("path", "cwd", "offset", "limit", "face", "deadline_ms", "ended")
VERDICT_KEYS = ("verdict", "layer", "cause", "judged", "says", "hides", "fault")
FACES = tuple(face.value for face in Face)
_STATES = {face: [state.value for state in State] for face in FACES}
_STATES["read"].remove(State.ASK.value)
_STATES["write"].remove(State.MANDATED_ASK.value)


def read_probe(reading: Reading, row: Table) -> Probed:
    """The probe of a case: `probe`, a path or a table, and what must come of it as a `read` and as a `write`."""
    probe = reading.take(row, "probe", (str, Table), "a path, or a table")
    if isinstance(probe, Table):
        reading.known(probe, KEYS, "'probe'")
    given: Mapping[str, Any] = probe if isinstance(probe, Table) else {"path": probe}
    wanted = {Face(face): _judged(reading, row, face) for face in FACES if face in row}
    if not wanted and "goes_on" not in row:
        raise reading.wrong(row, "a case with 'probe' says what comes of it: 'read', 'write', or both, or 'goes_on'")
    path = given.get("path")
    if not isinstance(path, str):
        raise reading.wrong(row, "'probe' names a 'path'")
    options = {key: value for key, value in given.items() if key != "path"}
    return Probed(path, options, wanted, row.line, _going(reading, row))


def _going(reading: Reading, row: Table) -> frozenset[str] | None:
    if "goes_on" not in row:
        return None
    names = row["goes_on"]
    known = list(Consumer)
    if not isinstance(names, list) or any(name not in known for name in names):
        raise reading.wrong(row, f"'goes_on' is a list of some of {', '.join(known)}", "goes_on")
    return frozenset(names)


def _judged(reading: Reading, row: Table, face: str) -> Judged:
    said = reading.take(row, face, (str, Table), "a verdict, or a table")
    if isinstance(said, Table):
        reading.known(said, VERDICT_KEYS, f"'{face}'")
    table: Mapping[str, Any] = said if isinstance(said, Table) else {"verdict": said}
    for key, known in (("verdict", _STATES[face]), ("layer", list(LayerId)), ("cause", list(Cause))):
        if table.get(key, known[0]) not in known:
            raise reading.wrong(row, f"'{key}' is one of {', '.join(known)}, not '{table[key]}'", face)
    if ("verdict" in table) is ("fault" in table):
        raise reading.wrong(row, f"'{face}' has either 'verdict' or 'fault'", face)
    texts = {
        key: (table[key],) if isinstance(table.get(key), str) else tuple(table.get(key, ()))
        for key in ("says", "hides")
    }
    wanted = {key: table[key] for key in ("verdict", "layer", "cause", "judged") if key in table}
    return Judged(wanted, texts["says"], texts["hides"], table.get("fault"))
