"""What a cell may hold: from what somebody gave, or a file had, to the value that is kept.

Settles the form of each type, and that a cell which does not fit is told by what was expected, never by what it held.
Does not settle which cells there are, nor what is known of them (`content.table_known`). It does no I/O.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from stanch.storage.rows import DEEPEST, is_storable
from stanch.values.tables import ColumnType

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
EXACT_FLOAT = 1 << 53
LONGEST_CELL = 4 << 20
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\Z", re.ASCII)
_WORDS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
EXPECTED = {
    ColumnType.TEXT: f"text of at most {LONGEST_CELL:,} characters, without NUL",
    ColumnType.INTEGER: "a whole number of at most 64 bits",
    ColumnType.NUMBER: "a number",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.DATE: "a date such as 2026-03-31",
    ColumnType.DATETIME: "a moment such as 2026-03-31T10:00:00Z",
    ColumnType.JSON: f"JSON without NUL, nested at most {DEEPEST} deep",
}
Convert = Callable[[Any], Any]


class BadCell(Exception):
    """A cell does not fit the type of its column; `expected` says what would."""

    def __init__(self, kind: ColumnType) -> None:
        self.expected = EXPECTED[kind]
        super().__init__(self.expected)


def given(value: Any, kind: ColumnType) -> Any:
    """A cell of a JSON body, as it is kept: it has to be of the column's type already. Raises `BadCell`."""
    if value is None:
        return None
    try:
        match kind:
            case ColumnType.TEXT if isinstance(value, str):
                return _text(value)
            case ColumnType.INTEGER if type(value) is int:
                return _integer(value)
            case ColumnType.NUMBER if type(value) in (int, float):
                return _number(value)
            case ColumnType.BOOLEAN if isinstance(value, bool):
                return value
            case ColumnType.DATE if isinstance(value, str):
                return _date(value)
            case ColumnType.DATETIME if isinstance(value, str):
                return _moment(value)
            case ColumnType.JSON:
                return _json(value)
    except (ValueError, OverflowError):
        pass
    raise BadCell(kind)


def read(kind: ColumnType) -> Convert:
    """What makes a cell of a text of a file that knows no types. No text is no value, but in a column of texts."""

    def converted(text: str) -> Any:
        if not text:
            return None
        try:
            return made(text)
        except (ValueError, OverflowError, RecursionError):
            raise BadCell(kind) from None

    def checked(text: str) -> str:
        try:
            return _text(text)
        except ValueError:
            raise BadCell(kind) from None

    made = _READERS[kind]
    return checked if kind is ColumnType.TEXT else converted


def taken(value: Any, kind: ColumnType) -> Any:
    """A cell of a file that has types of its own, as this column keeps it. Raises `BadCell`."""
    if value is None:
        return None
    try:
        if kind is ColumnType.JSON:
            return _json(_plain(value))
        if kind is ColumnType.TEXT:
            return _text(text_of(_plain(value)))
        if isinstance(value, str):
            return None if not value.strip() else _READERS[kind](value)
        if isinstance(value, Decimal):
            value = int(value) if kind is ColumnType.INTEGER and value == value.to_integral_value() else float(value)
        if isinstance(value, float) and kind is ColumnType.INTEGER and value.is_integer():
            value = int(value)
        if isinstance(value, datetime):
            return _of_moment(value, kind)
        if isinstance(value, date):
            moment = datetime.combine(value, time(), UTC)
            return value.isoformat() if kind is ColumnType.DATE else _of_moment(moment, kind)
        if kind is ColumnType.BOOLEAN and type(value) in (int, float) and value in (0, 1):
            return bool(value)
    except (ValueError, OverflowError, ArithmeticError, RecursionError, TypeError):
        raise BadCell(kind) from None
    return given(value, kind)


def text_of(value: Any) -> str:
    """A value as text: itself where it is one, else as JSON has it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a cell, at any depth: keys too, and numbers as they may be written."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)
    elif isinstance(value, float):
        yield repr(value)
        if value.is_integer():
            yield f"{value:.0f}"
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)


def texts_of(cells: Iterable[Any]) -> list[str]:
    """Every text in some cells, as `texts_in` gives them. WHY apart: most cells are texts and whole numbers."""
    found: list[str] = []
    for cell in cells:
        kind = type(cell)
        if kind is str:
            found.append(cell)
        elif kind is int:
            found.append(str(cell))
        elif cell is not None and kind is not bool:
            found.extend(texts_in(cell))
    return found


def _text(text: str) -> str:
    if len(text) > LONGEST_CELL or "\0" in text or not (text.isascii() or is_storable(text)):
        raise ValueError
    return text


def _integer(value: int) -> int:
    if not SMALLEST <= value <= LARGEST:
        raise ValueError
    return value


def _number(value: float) -> float:
    """A number that both databases hold as it is: whole up to 53 bits, else as near as a float comes."""
    if isinstance(value, int):
        return value if abs(value) <= EXACT_FLOAT else _number(float(value))
    if not math.isfinite(value):
        raise ValueError
    return value


def _read_integer(text: str) -> int:
    stripped = text.strip()
    if _INTEGER.match(stripped) is None:
        raise ValueError
    return _integer(int(stripped))


def _read_number(text: str) -> float:
    stripped = text.strip()
    if _NUMBER.match(stripped) is None:
        raise ValueError
    return _number(int(stripped) if _INTEGER.match(stripped) else float(stripped))


def _read_boolean(text: str) -> bool:
    try:
        return _WORDS[text.strip().lower()]
    except KeyError:
        raise ValueError from None


def _date(text: str) -> str:
    stripped = text.strip()
    if len(stripped) != 10:
        raise ValueError
    return date.fromisoformat(stripped).isoformat()


def _moment(text: str) -> str:
    return _of_moment(datetime.fromisoformat(text.strip()), ColumnType.DATETIME)


def _of_moment(moment: datetime, kind: ColumnType) -> str:
    # WHY UTC where nothing is said: one order over all rows, on every machine.
    known = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if kind is ColumnType.DATETIME:
        return known.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
    if kind is ColumnType.DATE and known.time() == time():
        return known.date().isoformat()
    raise ValueError


def _json(value: Any) -> Any:
    if not _is_plain(value, DEEPEST):
        raise ValueError
    return value


def _is_plain(value: Any, levels: int) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_CELL and is_storable(value)
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return SMALLEST <= value <= LARGEST
    if isinstance(value, float):
        return math.isfinite(value)
    if levels <= 0:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_storable(key) for key in value) and all(
            _is_plain(one, levels - 1) for one in value.values()
        )
    return isinstance(value, list | tuple) and all(_is_plain(one, levels - 1) for one in value)


def _plain(value: Any) -> Any:
    """A value of a typed file as JSON has it."""
    if isinstance(value, datetime):
        return _of_moment(value, ColumnType.DATETIME)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return str(value)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, for a reader of JSON. Raises `ValueError` where a key stands twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def no_number(_: str) -> Any:
    """Refuses NaN and Infinity, for a reader of JSON."""
    raise ValueError("that is no number of JSON")


def _read_json(text: str) -> Any:
    return _json(json.loads(text, object_pairs_hook=once, parse_constant=no_number))


_READERS: dict[ColumnType, Convert] = {
    ColumnType.TEXT: _text,
    ColumnType.INTEGER: _read_integer,
    ColumnType.NUMBER: _read_number,
    ColumnType.BOOLEAN: _read_boolean,
    ColumnType.DATE: _date,
    ColumnType.DATETIME: _moment,
    ColumnType.JSON: _read_json,
}
