"""A tool call's arguments as a JSON text: read to an object, and written the same way again.

Settles in which spelling an unchanged text comes back. A text whose spelling would be lost stays a text: odd blanks,
a key that stands twice, numbers in a long form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stanch.tiers.dialects.checking import copied
from stanch.values.fault import BadInput

_STYLES: dict[str, dict[str, Any]] = {
    "spaced": {"ensure_ascii": False},
    "compact": {"ensure_ascii": False, "separators": (",", ":")},
    "spaced ascii": {},
    "compact ascii": {"separators": (",", ":")},
}
EMPTY = "empty"


def read_arguments(raw: str) -> tuple[Mapping[str, Any] | str, str]:
    """The arguments, and a word for how they were spelled; the text itself where it is no object, or spelled oddly."""
    if not raw:
        return {}, EMPTY
    value = decoded(raw)
    if value is None or not _can_be_copied(value):
        return raw, ""
    for style in _STYLES:
        if _encoded(value, style) == raw:
            return value, style
    return raw, ""


def write_arguments(arguments: Mapping[str, Any] | str, style: Any) -> str:
    """The arguments as a text, spelled as that word says where it is one that is known."""
    if isinstance(arguments, str):
        return arguments
    if style == EMPTY and not arguments:
        return ""
    return _encoded(copied(arguments, "arguments"), style if style in _STYLES else "spaced")


def decoded(raw: str) -> dict[str, Any] | None:
    """The object that a JSON text holds; None where it holds none."""
    try:
        value = json.loads(raw, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _can_be_copied(value: Any) -> bool:
    try:
        copied(value, "arguments")
    except BadInput:
        return False
    return True


def _refused(_: str) -> Any:
    raise ValueError("no JSON number")


def _encoded(value: Any, style: str) -> str:
    try:
        return json.dumps(value, **_STYLES[style])
    except (ValueError, RecursionError):  # WHY: what can be read may be too deep to be written
        return ""
