"""The form of cases about secrets in texts.

Settles their keys. Does not settle how such a case is carried out (`app.case_projection`).
"""

from __future__ import annotations

from stanch.app.case_records import Projected, Projection
from stanch.app.case_yaml import Reading, Table
from stanch.secrets.budget import Budget, Cause

FORMS = ("text", "value", "excerpt", "pieces", "short")
KEYS = (*FORMS, "becomes", "window", "found", "hides", "withheld", "budget")


def read_projection(reading: Reading, rows: list[Table]) -> Projection:
    """The texts of a case. Raises `BadInput` for what is wrong with their form."""
    found = []
    for row in rows:
        reading.known(row, KEYS, "a text of 'projection'")
        forms = [key for key in FORMS if key in row]
        if len(forms) != 1:
            raise reading.wrong(row, f"a text of 'projection' has one of {', '.join(FORMS)}")
        if forms[0] in ("text", "excerpt"):
            reading.text(row, forms[0])
        if forms[0] in ("pieces", "short"):
            reading.texts(row, forms[0])
        if row.get("withheld", Cause.NOT_JSON) not in list(Cause):
            raise reading.wrong(row, f"'withheld' is one of {', '.join(Cause)}", "withheld")
        budget = reading.take(row, "budget", dict, "a table of numbers", {})
        if not all(name in Budget._fields and type(most) is int for name, most in budget.items()):
            raise reading.wrong(row, f"'budget' holds numbers: {', '.join(Budget._fields)}", "budget")
        window = reading.take(row, "window", list, "a list of two numbers", [])
        if window and ([type(one) for one in window] != [int, int] or forms[0] != "text"):
            raise reading.wrong(row, "'window' is a list of two numbers, for a text", "window")
        for key in ("found", "hides"):
            reading.texts(row, key)
        found.append(Projected(forms[0], row, row.line))
    return Projection(tuple(found))


def read_secrets(reading: Reading, given: Table) -> None:
    """Raises `BadInput` where the secrets that are given are no texts by name."""
    secrets = reading.take(given, "secrets", dict, "a table of texts by name", {})
    if not all(isinstance(value, str) and value for value in secrets.values()):
        raise reading.wrong(given, "'secrets' must hold texts only, and none that is empty", "secrets")
