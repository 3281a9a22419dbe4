"""JSON as a person types it after an option: itself, out of a file, or on standard input.

Settles how it is read, and how what is wrong with it is said. Does not settle what it means (`question`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from stanch.values.fault import BadCall


def read_text(text: str, option: str = "--args") -> str:
    """The text of an option: itself, what the file after `@` holds, or standard input for `-`. Raises `BadCall`."""
    if text != "-" and not text.startswith("@"):
        return text
    where = "standard input" if text == "-" else f"the file {text[1:]}"
    try:
        raw = sys.stdin.buffer.read() if text == "-" else Path(text[1:]).read_bytes()
        return raw.decode()
    except UnicodeDecodeError:
        raise BadCall(f"{option}: {where} is no UTF-8 text") from None
    except OSError as error:
        raise BadCall(f"{option}: {where} cannot be read: {(error.strerror or 'unknown').lower()}") from None


def read_json(option: str, text: str, hint: str = "") -> Any:
    """The value of a JSON text; `hint` ends the message where it is none. Raises `BadCall`."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except _Twice as twice:
        raise BadCall(f"{option} names '{twice}' twice; which of them a tool takes cannot be known") from None
    except json.JSONDecodeError as why:
        place = f"line {why.lineno}, column {why.colno}"
        raise BadCall(f"{option} is no JSON: {why.msg[:1].lower()}{why.msg[1:]} at {place}{hint}") from None
    except ValueError:
        raise BadCall(f"{option} holds a number that is too long to be read") from None
    except RecursionError:
        raise BadCall(f"{option} is nested too deeply") from None


class _Twice(Exception):
    """An object names a key twice; the argument is the key."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return found


def type_name(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "null")
