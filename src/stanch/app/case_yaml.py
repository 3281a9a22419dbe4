"""YAML with places: tables that remember the line of each of their keys.

Settles how the text of a case file becomes values. Does not settle what they mean (`app.case_files`). A key that stands
twice is refused, since the first one would be lost without a word.
"""

from __future__ import annotations

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


_Loader.add_constructor("tag:yaml.org,2002:map", _table)
