"""YAML with places: tables that remember the line of each of their keys.

Settles how the text of a case file becomes values. Does not settle what they mean (`app.case_files`). A key that stands
twice is refused, since the first one would be lost without a word.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml

from stanch.values.fault import BadInput

MAX_CASE_BYTES = 4 << 20
MAX_REPEATED = 1 << 20
REPEATED_KEYS = {"times", "text"}


class Table(dict[str, Any]):
    """A mapping with the line it begins on, and the line of each key."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class _Loader(yaml.SafeLoader):
    """The safe loader, with `Table` for mappings, and a repeated text for `{times: COUNT, text: TEXT}`."""


def load_table(path: Path) -> Table:
    """The table that a YAML file holds. Raises `BadInput` with the file and line of what is wrong."""
    try:
        if path.stat().st_size > MAX_CASE_BYTES:
            raise BadInput(f"{path}: larger than 4 MiB")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path}: no UTF-8 text") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {(error.strerror or 'unknown').lower()}") from None
    try:
        found = yaml.load(text, Loader=_Loader)  # noqa: S506  a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"{path}:{line}: this is not YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise BadInput(f"{path}: this is not YAML") from None
    if not isinstance(found, Table):
        raise BadInput(f"{path}:1: a case file is a table with 'cases'")
    return found


def _table(loader: _Loader, node: yaml.MappingNode) -> Table | str:
    table = Table(node.start_mark.line + 1)
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, "a key that is no text; quote it", key_node.start_mark)
        if key in table:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key '{key}' stands twice in one table", key_node.start_mark
            )
        table[key] = loader.construct_object(value_node, deep=True)
        table.lines[key] = key_node.start_mark.line + 1
    return _repeated(table, node) if table.keys() == REPEATED_KEYS else table


def _repeated(table: Table, node: yaml.MappingNode) -> str:
    count, text = table["times"], table["text"]
    if not isinstance(count, int) or not isinstance(text, str) or count * len(text) > MAX_REPEATED:
        raise yaml.constructor.ConstructorError(None, None, "'times' is a number, 'text' a text", node.start_mark)
    return text * count


class Reading:
    """Takes keys out of the tables of one file, and says with its place what is wrong with them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def wrong(self, table: Table, message: str, key: str = "") -> BadInput:
        """What is wrong, with the file and the line of the key, else of the table."""
        return BadInput(f"{self.path}:{table.lines.get(key, table.line)}: {message}")

    def known(self, table: Table, keys: tuple[str, ...], what: str) -> None:
        """Raises `BadInput` for a key that is none of these."""
        for key in table:
            if key not in keys:
                close = difflib.get_close_matches(key, keys, n=1, cutoff=0.7)
                hint = f"; did you mean '{close[0]}'?" if close else f" (known: {', '.join(keys)})"
                raise self.wrong(table, f"unknown key '{key}' in {what}{hint}", key)

    def take(self, table: Table, key: str, kind: type | tuple[type, ...], what: str, default: Any = None) -> Any:
        """The value of a key, or the default. Raises `BadInput` for one of another type."""
        if key not in table:
            return default
        value = table[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise self.wrong(table, f"'{key}' must be {what}, got {type(value).__name__}", key)
        return value

    def text(self, table: Table, key: str, default: str | None = None) -> str:
        """A text. Raises `BadInput` where it is missing and has no default."""
        value = self.take(table, key, str, "a text", default)
        if value is None:
            raise self.wrong(table, f"'{key}' is missing")
        return str(value)

    def texts(self, table: Table, key: str) -> tuple[str, ...]:
        """The texts of a list, or the one text."""
        value = self.take(table, key, (str, list), "a text or a list of texts", ())
        found = (value,) if isinstance(value, str) else tuple(value)
        if not all(isinstance(one, str) for one in found):
            raise self.wrong(table, f"'{key}' must be a text or a list of texts", key)
        return found

    def tables(self, table: Table, key: str) -> list[Table]:
        """The tables of a list."""
        found = self.take(table, key, list, "a list of tables", [])
        if not all(isinstance(one, Table) for one in found):
            raise self.wrong(table, f"'{key}' must be a list of tables", key)
        return list(found)


_Loader.add_constructor("tag:yaml.org,2002:map", _table)
