"""From a row to a record, strictly, and from a record to a row that can be read again.

Settles what each kind of column may hold. Does not settle which columns there are (`schema`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, Table

from stanch.policy import shapes
from stanch.policy.context_tables import context_of
from stanch.values.context import RunContext
from stanch.values.fault import BadInput, BrokenRow
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.records import Broken

Item = TypeVar("Item")
Word = TypeVar("Word", bound=Enum)
Row = Mapping[Any, Any]
"""The columns of a row by name."""

SMALLEST, LARGEST = -(1 << 31), (1 << 31) - 1
LARGEST_ID = (1 << 63) - 1
LONGEST_KEY = 512
DEEPEST = 32


class Unread(Exception):
    """A column holds what its reader does not know. The message names the column and the type, not the value."""

    def __init__(self, column: str, problem: str) -> None:
        self.column = column
        super().__init__(f"'{column}' {problem}")


class Fields:
    """One row, read column by column. Every method raises `Unread`."""

    def __init__(self, values: Row) -> None:
        self._values = values

    def text(self, name: str, *, empty: bool = False) -> str:
        """A string that both databases can hold."""
        value = self._values[name]
        if not isinstance(value, str):
            raise Unread(name, f"must be text, got {type(value).__name__}")
        if not is_storable(value):
            raise Unread(name, "holds a NUL, or what is no Unicode text")
        if not value and not empty:
            raise Unread(name, "is empty")
        return value

    def key(self, name: str) -> str:
        """A string short enough for an index of either database."""
        value = self.text(name)
        if len(value) > LONGEST_KEY:
            raise Unread(name, f"is longer than {LONGEST_KEY} characters")
        return value

    def maybe_key(self, name: str) -> str | None:
        """A string short enough for an index, or None."""
        return None if self._values[name] is None else self.key(name)

    def maybe(self, name: str, *, empty: bool = False) -> str | None:
        """A string, or None."""
        return None if self._values[name] is None else self.text(name, empty=empty)

    def whole(self, name: str, smallest: int = SMALLEST, largest: int = LARGEST) -> int:
        """A whole number within limits."""
        value = self._values[name]
        if type(value) is not int:
            raise Unread(name, f"must be a whole number, got {type(value).__name__}")
        if not smallest <= value <= largest:
            raise Unread(name, f"must be a whole number from {smallest} to {largest}")
        return value

    def maybe_whole(self, name: str, smallest: int = SMALLEST, largest: int = LARGEST) -> int | None:
        """A whole number within limits, or None."""
        return None if self._values[name] is None else self.whole(name, smallest, largest)

    def flag(self, name: str) -> bool:
        """True or false, kept as 1 or 0."""
        value = self._values[name]
        if type(value) is not int or value not in (0, 1):
            raise Unread(name, "must be 0 or 1")
        return value == 1

    def word(self, name: str, words: type[Word]) -> Word:
        """A word of a closed set."""
        try:
            return words(self.text(name))
        except ValueError:
            known = ", ".join(str(one.value) for one in words)
            raise Unread(name, f"is none of {known}") from None

    def maybe_word(self, name: str, words: type[Word]) -> Word | None:
        """A word of a closed set, or None."""
        return None if self._values[name] is None else self.word(name, words)

    def moment(self, name: str) -> datetime:
        """A moment as `written_moment` writes it."""
        value = self.text(name)
        try:
            found = datetime.fromisoformat(value)
            if found.tzinfo is not None and written_moment(found) == value:
                return found.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        raise Unread(name, "is no moment in UTC")

    def maybe_moment(self, name: str) -> datetime | None:
        """A moment, or None."""
        return None if self._values[name] is None else self.moment(name)

    def principal(self) -> Principal:
        """The principal of the three columns that keep one."""
        kind = self.word("principal_kind", PrincipalKind)
        return Principal(kind, self.text("principal_id"), self.maybe("principal_service"))

    def context(self, name: str = "run_context") -> RunContext | None:
        """The run context that a column holds as JSON; None where it holds none."""
        if self._values[name] is None:
            return None
        value = self.json(name)
        for _, message in shapes.violations(shapes.CONTEXT, value, shapes.ContextShape):
            raise Unread(name, f"is no run context: {message}")
        return context_of(value)

    def json(self, name: str, *, checked: bool = True) -> Any:
        """What a column holds as JSON, in which no key stands twice.

        `checked`: it can be repeated. Whoever leaves that out looks through all of it himself.
        """
        try:
            value = json.loads(self.text(name), object_pairs_hook=_once, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise Unread(name, "is no JSON, or has a key twice") from None
        if checked and not _is_repeatable(value, DEEPEST):
            raise Unread(name, "is no JSON that can be repeated: it holds what is no text or no number, or is too deep")
        return value


@dataclass(frozen=True, slots=True)
class Noun(Generic[Item]):
    """A kind of record: what messages call it, its table, and how a row of it is read."""

    kind: str
    table: Table
    decode: Callable[[Fields], Item]

    @property
    def key(self) -> Column[Any]:
        """The column that tells the rows apart."""
        (column,) = self.table.primary_key.columns
        return column

    def read(self, row: Row) -> Item | Broken:
        """The record of a row, or what is wrong with the row."""
        try:
            return self.decode(Fields(row))
        except Unread as why:
            return Broken(self.table.name, _shown(row[self.key.name]), str(why))

    def readable(self, row: Row) -> Item:
        """The record of a row. Raises `BrokenRow`."""
        found = self.read(row)
        if isinstance(found, Broken):
            raise BrokenRow(found.table, found.id, found.problem)
        return found

    def changed(self, row: Row, columns: Row) -> Item:
        """The record of a row once these columns are written.

        Raises `BadInput` where one of them could not be read, and `BrokenRow` where another one cannot be.
        """
        try:
            return self.decode(Fields({**row, **columns}))
        except Unread as why:
            if why.column in columns:
                raise BadInput(f"the {self.kind} cannot be stored: {why}") from None
            raise BrokenRow(self.table.name, _shown(row[self.key.name]), str(why)) from None

    def written(self, row: Row) -> Item:
        """The record that a row about to be written will be read as. Raises `BadInput` for one that would not be."""
        try:
            return self.decode(Fields(row))
        except Unread as why:
            raise BadInput(f"the {self.kind} cannot be stored: {why}") from None


def is_storable(text: str) -> bool:
    """True for text without NUL that has a form in UTF-8."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def written_moment(moment: datetime) -> str:
    """A moment in UTC, in a form whose order as text is its order in time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def written_context(context: RunContext | None) -> str | None:
    """A run context as JSON, every field written out; None stays None."""
    if context is None:
        return None
    fields = {
        "security_group": context.security_group,
        "system_prompt": list(context.system_prompt),
        "allow_fs_writes": list(context.allow_fs_writes),
        "allow_fs_reads": list(context.allow_fs_reads),
        "working_directory": context.working_directory,
    }
    return written_json(fields, "run_context")


def written_json(value: Any, name: str) -> str:
    """A value as JSON, the same text for equal values. Raises `BadInput` for what has no form in JSON."""
    try:
        if _is_repeatable(value, DEEPEST):
            return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        pass
    raise BadInput(f"'{name}' holds what JSON cannot say")


def principal_columns(principal: Principal) -> dict[str, str | None]:
    """A principal as the three columns that keep one."""
    return {
        "principal_kind": principal.kind.value,
        "principal_id": principal.id,
        "principal_service": principal.service_id,
    }


def context_places(context: RunContext | None) -> dict[str, Any]:
    """What an audit row says of a context: names and places, and how many prompts, never one of them."""
    if context is None:
        return {"run_context": None}
    return {
        "security_group": context.security_group,
        "prompts": len(context.system_prompt),
        "allow_fs_writes": list(context.allow_fs_writes),
        "allow_fs_reads": list(context.allow_fs_reads),
        "working_directory": context.working_directory,
    }


def _shown(key: object) -> str:
    return key.encode("utf-8", "backslashreplace").decode() if isinstance(key, str) else repr(key)


def _is_repeatable(value: object, levels: int) -> bool:
    """True where every text has a form in UTF-8, every number is finite, and nothing is nested deeper than `levels`.

    WHY: JSON escapes half a character, and takes 1e999 for a number; an answer could hold neither.
    """
    if isinstance(value, str):
        return value.isascii() or is_storable(value.replace("\0", ""))
    if isinstance(value, float):
        return math.isfinite(value)
    if not isinstance(value, (dict, list, tuple)):
        return True
    inside = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    return levels > 0 and all(_is_repeatable(one, levels - 1) for one in inside)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_: str) -> Any:
    raise ValueError
