"""The form of cases about stored content on its way to a model.

Settles their keys. Does not settle how such a case is carried out (`app.case_admission`).
"""

from __future__ import annotations

from typing import Any

from stanch.app.case_documents import DOCUMENT, read_documents
from stanch.app.case_records import Admitting
from stanch.app.case_yaml import Reading, Table
from stanch.delivery.operation import ContentDelivery
from stanch.provenance.states import Cause
from stanch.values.identity import PrincipalKind
from stanch.values.reason import Code

ADMITTED, GIVEN, UNDEFINED = "admitted", "given", "undefined"
GATES = ("registry", "session", "none")
VIEWS = ("complete", "opaque", "excerpt")
KEPT = ("nothing", "other bytes", "other place", "tampered", "no key", "no key when written")
_ADMISSION = (
    "to", "gate", "taints", "raw", "active", "latched", "most_entries", "most_bytes", "users", "sources", "registry",
    "after", "reads", "cuts", "written", "kept", "operations", "saves", "documents",
    "leaving", "receipt",
)  # fmt: skip
_SOURCE = ("id", "state", "view", "derived", "whole", "path", "is")
_CUT = ("text", "window", "becomes", "withheld", "budget")
_WRITTEN = ("value", "of", "by", "secrets", "complete", "latched", "is")
_KEPT = ("state", "owner", "then", "is")
_LEAVING = ("text", "receipts", "becomes", "saw", "is")
_OPERATION = ("declares", "tool", "accounts", "is")


def read_admission(reading: Reading, table: Table) -> Admitting:
    """What is admitted in a case, written and kept. Raises `BadInput` for what is wrong with its form."""
    reading.known(table, _ADMISSION, "'admission'")
    kinds = [*(kind.value for kind in PrincipalKind), "copilot"]
    _one_of(reading, table, "to", kinds)
    _one_of(reading, table, "gate", GATES)
    _one_of(reading, table, "after", [cause.value for cause in Cause])
    _one_of(reading, table, "latched", [cause.value for cause in Cause])
    for key in ("taints", "raw", "saves"):
        reading.take(table, key, bool, "true or false")
    for key in ("most_entries", "most_bytes", "reads"):
        reading.take(table, key, int, "a number")
    reading.texts(table, "active")
    reading.texts(table, "registry")
    verdicts = [ADMITTED, *(code.value for code in Code)]
    for row in _rows(reading, table, "sources", _SOURCE):
        reading.text(row, "id")
        _state(reading, row, "state")
        _one_of(reading, row, "view", VIEWS)
        _one_of(reading, row, "is", verdicts, needed=True)
    for row in _rows(reading, table, "cuts", _CUT):
        reading.text(row, "text")
        window = reading.take(row, "window", list, "a list of two numbers", [])
        if [type(one) for one in window] not in ([], [int, int]):
            raise reading.wrong(row, "'window' is a list of two numbers", "window")
    for row in _rows(reading, table, "leaving", _LEAVING):
        reading.text(row, "text")
        _one_of(reading, row, "receipts", ("kept", "lost"))
        reading.take(row, "saw", Table, "a table of secrets")
        _one_of(reading, row, "is", [GIVEN, *verdicts], needed=True)
    reading.take(table, "receipt", Table, "a table of items")
    for row in _rows(reading, table, "written", _WRITTEN):
        _one_of(reading, row, "by", ("nobody", "workflow", "model"))
        for state in reading.take(row, "of", list, "a list of states", []):
            _check_state(reading, row, state, "of")
        _state(reading, row, "is")
    for row in _rows(reading, table, "kept", _KEPT):
        _state(reading, row, "state")
        _one_of(reading, row, "then", KEPT)
        _state(reading, row, "is")
    for row in _rows(reading, table, "operations", _OPERATION):
        _one_of(reading, row, "declares", [*(one.value for one in ContentDelivery), "nothing"], needed=True)
        _one_of(reading, row, "is", [GIVEN, UNDEFINED, *verdicts], needed=True)
    read_documents(reading, _rows(reading, table, "documents", DOCUMENT), [GIVEN, *verdicts])
    return Admitting(table, table.line)


def _rows(reading: Reading, table: Table, key: str, known: tuple[str, ...]) -> list[Table]:
    rows: list[Table] = reading.take(table, key, list, "a list of tables", [])
    for row in rows:
        if not isinstance(row, Table):
            raise reading.wrong(table, f"'{key}' must be a list of tables", key)
        reading.known(row, known, f"a row of '{key}'")
    return rows


def _one_of(reading: Reading, table: Table, key: str, known: Any, *, needed: bool = False) -> None:
    if (needed or key in table) and table.get(key) not in known:
        raise reading.wrong(table, f"'{key}' is one of {', '.join(known)}", key)


def _state(reading: Reading, row: Table, key: str) -> None:
    if key not in row:
        raise reading.wrong(row, f"'{key}' is missing: a state")
    _check_state(reading, row, row[key], key)


def _check_state(reading: Reading, row: Table, state: Any, key: str) -> None:
    names = isinstance(state, list) and all(isinstance(one, str) for one in state)
    unknown = isinstance(state, Table) and list(state) == ["unknown"] and state["unknown"] in list(Cause)
    if state not in ("unrecorded", "clean") and not names and not unknown:
        raise reading.wrong(row, f"'{key}' is unrecorded, clean, a list of names, or {{unknown: CAUSE}}", key)
