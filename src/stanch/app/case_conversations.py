"""The form of cases about conversations of other programs.

Settles their keys. Does not settle how such a case is carried out (`app.case_tags`).
"""

from __future__ import annotations

from stanch.app.case_records import Conversed
from stanch.app.case_yaml import Reading, Table

KEYS = ("given", "cwd", "shape", "tags", "without", "gives", "fault")


def read_conversation(reading: Reading, table: Table) -> Conversed:
    """The conversation of a case. Raises `BadInput` for what is wrong with its form."""
    reading.known(table, KEYS, "'conversation'")
    if "given" not in table:
        raise reading.wrong(table, "'given' is missing")
    if not any(key in table for key in ("tags", "gives", "shape", "fault")):
        raise reading.wrong(table, "a conversation expects 'tags', 'gives', 'shape' or 'fault'")
    reading.take(table, "tags", dict, "a table of tags by part")
    reading.texts(table, "without")
    reading.text(table, "shape", "")
    reading.text(table, "fault", "")
    reading.take(table, "cwd", (str, type(None)), "a path, or null")
    return Conversed(table, table.line)
