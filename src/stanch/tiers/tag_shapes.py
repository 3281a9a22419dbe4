"""How the results of tools look, and how agents write down what they add themselves: a table made of a data file.

Settles the records and what is wrong with such a file. Does not settle how a result is taken apart (`tiers.tag_lines`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stanch.values.fault import BadInput


class Look(StrEnum):
    """Whose text is whose in a result."""

    WHOLE = "whole"
    NOTHING = "nothing"
    NAMES = "names"
    TREE = "tree"
    LINES = "lines"
    HEADED = "headed"
    COUNTS = "counts"
    AGENT = "agent"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class ResultShape:
    """How one tool's results look; see the data file for what each says."""

    look: Look = Look.WHOLE
    numbered: bool | str = False
    line: re.Pattern[str] | None = None
    heading: re.Pattern[str] | None = None
    notes: tuple[re.Pattern[str], ...] = ()
    keeps: bool = False
    shows: bool = False
    when: Mapping[str, Mapping[str, ResultShape]] = field(default_factory=dict)

    def of_call(self, arguments: Mapping[str, Any]) -> ResultShape:
        """The shape of the result of a call with these arguments."""
        for argument, shapes in self.when.items():
            value = arguments.get(argument)
            if isinstance(value, str) and value in shapes:
                return shapes[value]
        return self

    def is_numbered(self, arguments: Mapping[str, Any]) -> bool:
        """True where each line is known to have its number."""
        return arguments.get(self.numbered) is True if isinstance(self.numbered, str) else self.numbered

    def is_note(self, line: str) -> bool:
        """True for a line that the tool says itself, of no file."""
        return any(note.fullmatch(line) for note in self.notes)


@dataclass(frozen=True, slots=True)
class Shapes:
    """The whole table."""

    tools: Mapping[str, ResultShape]
    summaries: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    named: tuple[re.Pattern[str], ...] = ()
    opening: re.Pattern[str] | None = None
    closing: re.Pattern[str] | None = None
    typed: tuple[re.Pattern[str], ...] = ()
    printed: tuple[re.Pattern[str], ...] = ()
    announced: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    told_by_user: tuple[re.Pattern[str], ...] = ()
    told_by_system: tuple[re.Pattern[str], ...] = ()

    def of(self, tool: str) -> ResultShape | None:
        """The shape of a tool's results; None for a tool that the table does not speak of."""
        return self.tools.get(tool)


WHOLE = ResultShape()
_KEYS = ("shape", "numbered", "line", "heading", "notes", "keeps", "shows", "when")


def shapes_of(*tables: Mapping[str, Any]) -> Shapes:
    """The table that the data files make, of which a later one replaces tools, and adds to all lists, of those before.

    Raises `BadInput` that names the key which cannot be used.
    """
    tools: dict[str, ResultShape] = {}
    lists: dict[tuple[str, str], list[str]] = {}
    for table in tables:
        for name, row in _table(table, "tools").items():
            tools[name] = _shape(row, f"tools.{name}")
        for part in ("summaries", "attached", "directory"):
            for key in _table(table, part):
                lists.setdefault((part, key), []).extend(_texts(table[part], key, part))

    def found(part: str, key: str) -> list[str]:
        return lists.get((part, key), [])

    names = "|".join(re.escape(one) for one in found("attached", "elements"))
    keys = "|".join(re.escape(one) for one in found("attached", "attributes"))
    opening = closing = None
    if names and keys:
        opening = re.compile(
            rf"<(?:{names})\b[^<>]*?\s(?:{keys})\s*=\s*(?:\"(?P<double>[^\"\n]+)\"|'(?P<single>[^'\n]+)')"
        )
        closing = re.compile(rf"</(?:{names})\s*>")
    return Shapes(
        tools,
        tuple(found("summaries", "begins")),
        tuple(found("summaries", "asks")),
        tuple(_expression(one, "attached.named") for one in found("attached", "named")),
        opening,
        closing,
        tuple(_expression(one, "attached.typed", re.DOTALL) for one in found("attached", "typed")),
        tuple(_expression(one, "attached.printed") for one in found("attached", "printed")),
        tuple(found("attached", "announced")),
        tuple(found("attached", "between")),
        tuple(_expression(one, "directory.user") for one in found("directory", "user")),
        tuple(_expression(one, "directory.system") for one in found("directory", "system")),
    )


def _shape(row: Any, where: str) -> ResultShape:
    if not isinstance(row, Mapping):
        raise BadInput(f"{where} must be a table")
    for key in row:
        if key not in _KEYS:
            raise BadInput(f"{where}.{key} is unknown (known: {', '.join(_KEYS)})")
    look = row.get("shape")
    if look not in list(Look):
        raise BadInput(f"{where}.shape must be one of {', '.join(Look)}")
    numbered = row.get("numbered", False)
    if not isinstance(numbered, (bool, str)):
        raise BadInput(f"{where}.numbered must be true, false or the name of an argument")
    line, heading = (_expression(row[key], f"{where}.{key}") if key in row else None for key in ("line", "heading"))
    if look == Look.HEADED and (line is None or heading is None):
        raise BadInput(f"{where} needs 'heading' and 'line'")
    if look == Look.TREE and line is None:
        raise BadInput(f"{where} needs 'line'")
    _needs_groups(look, line, heading, where)
    notes = tuple(_expression(one, f"{where}.notes") for one in _texts(row, "notes", where))
    when = {
        argument: {value: _shape(inner, f"{where}.when.{argument}.{value}") for value, inner in values.items()}
        for argument, values in _table(row, "when", where).items()
    }
    return ResultShape(Look(look), numbered, line, heading, notes, _flag(row, "keeps"), _flag(row, "shows"), when)


def _needs_groups(look: Any, line: re.Pattern[str] | None, heading: re.Pattern[str] | None, where: str) -> None:
    named = heading if look == Look.HEADED else line
    if named is not None and "path" not in named.groupindex:
        raise BadInput(f"{where}: the expression needs a group called 'path'")
    if look == Look.TREE and line is not None and "indent" not in line.groupindex:
        raise BadInput(f"{where}.line needs a group called 'indent'")


def _flag(row: Mapping[str, Any], key: str) -> bool:
    return row.get(key) is True


def _table(around: Mapping[str, Any], key: str, where: str = "") -> Mapping[str, Any]:
    value = around.get(key, {})
    if not isinstance(value, Mapping):
        raise BadInput(f"{where}.{key}".lstrip(".") + " must be a table")
    return value


def _texts(around: Mapping[str, Any], key: str, where: str) -> list[str]:
    value = around.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadInput(f"{where}.{key} must be a list of strings")
    return value


def _expression(text: Any, where: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    try:
        return re.compile(text, flags)
    except (re.error, TypeError):
        raise BadInput(f"{where} must hold expressions that can be read") from None
