"""The form of cases about the vault.

Settles their keys. Does not settle how such a case is carried out (`app.case_vault`).
"""

from __future__ import annotations

from typing import Any

from stanch.app.case_records import Vaulting, VaultStep
from stanch.app.case_yaml import Reading, Table
from stanch.values.vault import SecretScope

OUTCOMES = ("done", "unknown", "conflict", "invalid", "stopped")
KEY_WORDS = ("lost", "new", "alone", "back")
CHANGES = ("set", "revoke", "forget", "forget_unreadable", "key", "reseal", "restart", "move")
LOOKS = ("names", "revoked", "unreadable", "text")
FURTHER = {"set": ("value", "note", "owner", "scope"), "move": ("to",), "text": ("becomes", "stops")}


def read_vault(reading: Reading, rows: list[Table]) -> Vaulting:
    """The steps of a case. Raises `BadInput` for what is wrong with their form."""
    return Vaulting(tuple(_step(reading, row) for row in rows))


def _step(reading: Reading, row: Table) -> VaultStep:
    kinds = [key for key in (*CHANGES, *LOOKS) if key in row]
    if len(kinds) != 1:
        raise reading.wrong(row, f"a step of 'vault' has one of {', '.join((*CHANGES, *LOOKS))}")
    does = kinds[0]
    told = ("expect", "says") if does in CHANGES else ()
    reading.known(row, (does, *FURTHER.get(does, ()), *told), f"a step of 'vault' with '{does}'")
    for key in ("value", "to") if does in ("set", "move") else ():
        if key in FURTHER[does]:
            reading.text(row, key)
    if row.get("expect", "done") not in OUTCOMES:
        raise reading.wrong(row, f"'expect' is one of {', '.join(OUTCOMES)}", "expect")
    if row.get("scope", SecretScope.WORKSPACE) not in list(SecretScope):
        raise reading.wrong(row, f"'scope' is one of {', '.join(SecretScope)}", "scope")
    further: dict[str, Any] = {**row}
    if told:
        further["says"] = reading.texts(row, "says")
    return VaultStep(does, _named(reading, row, does), further, row.line)


def _named(reading: Reading, row: Table, does: str) -> Any:
    """What the step is about: a name, a number, or a list of names."""
    if does == "forget_unreadable":
        return reading.take(row, does, int, "a number")
    if does in ("names", "revoked", "unreadable"):
        return reading.texts(row, does)
    if does in ("reseal", "restart"):
        if row[does] is not True:
            raise reading.wrong(row, f"'{does}' is true", does)
        return True
    word = reading.text(row, does)
    if does == "key" and word not in KEY_WORDS:
        raise reading.wrong(row, f"'key' is one of {', '.join(KEY_WORDS)}", does)
    return word
