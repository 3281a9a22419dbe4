"""What a conversation in another program's shape must hold at each place, and the fault where it does not.

Settles how a wrong type is told of: the field by its place, what was expected, never what stood there. Does not settle
what a value means (`tiers.dialects.chat` and its neighbours).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stanch.values.fault import BadInput, quoted

DEEPEST = 200
Json = dict[str, Any]


def bad(where: str, wanted: str, value: Any) -> BadInput:
    """The fault for a value of the wrong type at this place."""
    return BadInput(f"{where} must be {wanted}, got {type_name(value)}")


def table(value: Any, where: str) -> Json:
    """The value, which must be an object. Raises `BadInput`."""
    if not isinstance(value, dict):
        raise bad(where, "an object", value)
    return value


def rows(value: Any, where: str) -> list[Any]:
    """The value, which must be a list. Raises `BadInput`."""
    if not isinstance(value, list):
        raise bad(where, "a list", value)
    return value


def words(value: Any, where: str) -> str:
    """The value, which must be a string. Raises `BadInput`."""
    if not isinstance(value, str):
        raise bad(where, "a string", value)
    return value


def optional_words(value: Any, where: str) -> str | None:
    """The value, which must be a string or null. Raises `BadInput`."""
    return None if value is None else words(value, where)


def held(block: Json, key: str, where: str) -> Any:
    """What the object holds under the key, which must be there. Raises `BadInput`."""
    if key not in block:
        raise BadInput(f"{where}.{key} is missing")
    return block[key]


def copied(value: Any, where: str, depth: int = 0) -> Any:
    """A copy of a JSON value that shares nothing with it which could change. Raises `BadInput` for any other value."""
    if depth > DEEPEST:
        raise BadInput(f"{where} is nested more than {DEEPEST} deep")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise bad(f"a key in {where}", "a string", key)
        return {key: copied(inner, where, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(inner, where, depth + 1) for inner in value]
    raise bad(f"a value in {where}", "JSON", value)


def type_name(value: Any) -> str:
    """What JSON calls the type of a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), quoted(type(value).__name__))
