"""What a snippet may call: the same that code in a sandbox may ask for, as functions.

Settles their names and what is raised inside of a snippet. Does not settle what is answered (`app.workbench_inside`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from stanch.app.workbench_inside import Inside, Unanswered

MOST_BYTES = 64 << 20
MOST_VALUES, MOST_CHARACTERS = 500_000, 16 << 20
"""What a call's arguments may have, counted as often as they are written out."""
T = TypeVar("T")


class Refused(RuntimeError):
    """What a snippet asked for was refused or failed. It holds a sentence without content."""


def functions_for(inside: Inside) -> Mapping[str, Callable[..., Any]]:
    """`files_get(path, version=None)` gives bytes, `call(tool, arguments)` what the tool gives."""

    def files_get(path: str, version: int | None = None) -> bytes:
        return _asked(lambda: _bytes(inside, path, version))

    def call(tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
        return _asked(lambda: inside.call(*_written(tool, arguments or {})))

    return {"files_get": files_get, "call": call}


def _bytes(inside: Inside, path: str, version: int | None) -> bytes:
    data = bytearray()
    for chunk in inside.get(path, version).chunks:
        data += chunk
        if len(data) > MOST_BYTES:
            raise Unanswered(413, "unusable", f"a snippet takes files of up to {MOST_BYTES >> 20} MiB")
    return bytes(data)


def _written(tool: Any, arguments: Any) -> tuple[str, dict[str, Any]]:
    """The tool's name and its arguments, which can be written out as JSON.

    WHY counted: one list that holds another twice, thirty times over, is small as a value and huge as a text.
    """
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        raise Unanswered(422, "unusable", "a call has a name, and its arguments by their names")
    values, characters = MOST_VALUES, MOST_CHARACTERS
    left: list[Any] = [arguments]
    while left:
        one = left.pop()
        values -= 1
        if isinstance(one, str | bytes):
            characters -= len(one)
        elif isinstance(one, int):
            characters -= one.bit_length() // 8
        elif isinstance(one, dict):
            values -= len(one)
            left += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
        if values < len(left) or characters < 0:
            raise Unanswered(413, "unusable", "the arguments are too large")
    return tool, arguments


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except Unanswered as why:
        raise Refused(why.words) from None
    except Exception as why:  # whatever it fails with, its words may hold content
        raise Refused(f"it failed with {type(why).__name__}") from None
