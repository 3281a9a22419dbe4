"""What a call of a tool that nobody has described may touch: whatever in its arguments looks like a path.

Settles which strings are looked at. That something of a name exists is for the caller to find out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stanch.paths import uri


def strings_of(value: Any) -> Iterator[str]:
    """Every string in the arguments of a call, at any depth, the keys of objects among them."""
    todo = [value]
    while todo:
        here = todo.pop()
        if isinstance(here, str):
            yield here
        elif isinstance(here, Mapping):
            todo.extend(reversed([part for pair in here.items() for part in pair]))
        elif isinstance(here, (list, tuple)):
            todo.extend(reversed(here))


def looks_like_path(text: str) -> bool:
    """True for a string that an unknown tool may use as a path, by its looks.

    That something of that name exists is for the caller to find out.
    """
    if not text or uri.is_web_url(text):
        return False
    return "/" in text or text.startswith(("~", ".")) or uri.is_file_uri(text)
