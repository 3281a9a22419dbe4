"""The JSON of a request, read strictly.

Settles what is no JSON here: a key that stands twice, since nobody can tell which of the two is meant, a number that is
none, and a text that is nested without end. Does not settle what a request may hold (`bodies`).
"""

from __future__ import annotations

import json
from typing import Any


class BadJson(Exception):
    """The text is no JSON; the message says why, and holds nothing of it but the name of a key."""


class _Twice(ValueError):
    """An object names a key twice; the argument is the key."""


def read(raw: bytes) -> Any:
    """The value of a JSON text. Raises `BadJson`."""
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise BadJson("it is no UTF-8 text") from None
    except _Twice as twice:
        raise BadJson(f"it names {twice.args[0]!r} twice in one object") from None
    except json.JSONDecodeError as why:
        message = why.msg[:1].lower() + why.msg[1:]
        raise BadJson(f"{message} at line {why.lineno}, column {why.colno}") from None
    except ValueError:
        raise BadJson("it holds a number that cannot be read") from None
    except RecursionError:
        raise BadJson("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key[:100])
            seen.add(key)
    return found


def _no_number(_: str) -> Any:
    raise ValueError
