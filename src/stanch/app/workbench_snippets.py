"""What a snippet may call: the same that code in a sandbox may ask for, as functions.

Settles their names and what is raised inside of a snippet. Does not settle what is answered (`app.workbench_inside`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from stanch.app.workbench_inside import Inside, Unanswered

MOST_BYTES = 64 << 20
T = TypeVar("T")


class Refused(RuntimeError):
    """What a snippet asked for was refused or failed. It holds a sentence without content."""


def functions_for(inside: Inside) -> Mapping[str, Callable[..., Any]]:
    """`files_get(path, version=None)` gives bytes, `call(tool, arguments)` what the tool gives."""

    def files_get(path: str, version: int | None = None) -> bytes:
        return _asked(lambda: _bytes(inside, path, version))

    def call(tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
        return _asked(lambda: inside.call(str(tool), dict(arguments or {})))

    return {"files_get": files_get, "call": call}


def _bytes(inside: Inside, path: str, version: int | None) -> bytes:
    data = bytearray()
    for chunk in inside.get(path, version).chunks:
        data += chunk
        if len(data) > MOST_BYTES:
            raise Unanswered(413, "unusable", f"a snippet takes files of up to {MOST_BYTES >> 20} MiB")
    return bytes(data)


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except Unanswered as why:
        raise Refused(why.words) from None
    except Exception as why:  # whatever it fails with, its words may hold content
        raise Refused(f"it failed with {type(why).__name__}") from None
