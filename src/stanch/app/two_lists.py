"""Two lists paged as one: what is in memory first, then what the store pages itself.

Settles where each page starts. Does not settle what is listed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from stanch.values.fault import BadInput
from stanch.values.records import Page

Item = TypeVar("Item")
LARGEST_PAGE = 500
_FIRST, _SECOND = "a.", "b."


def joined(
    first: Sequence[Item], second: Callable[[int, str | None], Page[Item]], *, limit: int, cursor: str | None
) -> Page[Item]:
    """A page of the first list, then of the second, which is asked with a limit and a cursor of its own.

    Raises `BadInput` for a cursor that no such page has given, and for a limit not in 1 to 500.
    """
    if not 1 <= limit <= LARGEST_PAGE:
        raise BadInput(f"'limit' must be a whole number from 1 to {LARGEST_PAGE}")
    if cursor is not None and cursor.startswith(_SECOND):
        page = second(limit, cursor.removeprefix(_SECOND) or None)
        return Page(page.items, len(first) + page.total, _behind(page.next))
    start = _start(cursor)
    items = tuple(first[start : start + limit])
    if start + limit < len(first):
        return Page(items, len(first) + second(1, None).total, f"{_FIRST}{start + limit}")
    if len(items) == limit:
        total = second(1, None).total
        return Page(items, len(first) + total, _SECOND if total else None)
    page = second(limit - len(items), None)
    return Page((*items, *page.items), len(first) + page.total, _behind(page.next))


def _behind(following: str | None) -> str | None:
    return None if following is None else _SECOND + following


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    number = cursor.removeprefix(_FIRST)
    if not cursor.startswith(_FIRST) or not number.isascii() or not number.isdigit() or len(number) > 9:
        raise BadInput("'cursor' is none that this list has given")
    return int(number)
