"""What a session has of further layers, as columns of its row.

Settles how skills and rows that narrow are written and read. Does not settle what they mean (`app.further`).
INVARIANT: what cannot be read is no smaller list: the row as a whole cannot be read then.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from stanch.policy import shapes
from stanch.policy.layer_shapes import ROW, RowShape
from stanch.policy.rule import ACTIONS
from stanch.storage.rows import LARGEST_ID, Fields, Unread
from stanch.values.narrowing import NONE, Narrowing, Row

_ROW_KEYS = ("tool", "path", "command", "note", "real_approval", "frozen")


def written_skills(skills: Sequence[str]) -> str:
    """The names of skills as a column keeps them."""
    return json.dumps(list(skills), ensure_ascii=False)


def skills_in(fields: Fields) -> tuple[str, ...]:
    """The names of the skills of a row. Raises `Unread`."""
    found = fields.json("skills")
    if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
        raise Unread("skills", "is no list of names")
    return tuple(found)


def written_narrowing(narrowing: Narrowing) -> str | None:
    """The rows of a session as a column keeps them; None for a session that never had any."""
    if narrowing == NONE:
        return None
    rows = [_written(row) for row in narrowing.rows]
    return json.dumps({"next": narrowing.next, "rows": rows}, ensure_ascii=False)


def narrowing_in(fields: Fields) -> Narrowing:
    """The rows of a session. Raises `Unread`."""
    if fields.maybe("narrowing") is None:
        return NONE
    found = fields.json("narrowing")
    if not isinstance(found, dict) or found.keys() != {"next", "rows"} or not isinstance(found["rows"], list):
        raise Unread("narrowing", "is no list of rows")
    rows = tuple(_read(row) for row in found["rows"])
    last = max((row.id for row in rows), default=0)
    if type(found["next"]) is not int or not last < found["next"] <= LARGEST_ID:
        raise Unread("narrowing", "has a number that is none")
    return Narrowing(rows, found["next"])


def _written(row: Row) -> dict[str, Any]:
    return {"id": row.id, "action": row.action.value, **{key: getattr(row, key) for key in _ROW_KEYS}}


def _read(row: Any) -> Row:
    if not isinstance(row, dict) or type(row.get("id")) is not int or row["id"] < 1:
        raise Unread("narrowing", "has a row without a number")
    given = {key: value for key, value in row.items() if key != "id"}
    for _, message in shapes.violations(ROW, given, RowShape):
        raise Unread("narrowing", f"has a row that is none: {message}")
    return Row(
        row["id"],
        given["tool"],
        ACTIONS[given["action"]],
        given.get("path"),
        given.get("command"),
        given.get("note"),
        given.get("real_approval", False),
        given.get("frozen", False),
    )
