"""Single values of a message as JSON has them, read and written strictly.

Settles which values there are and how a wrong one is named. Does not settle which keys hold them (`ours`). What is
wrong raises `BadFields` with its place, its type and what was expected; nothing of it is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar

from stanch.values.fault import BadFields

DEEPEST = 200
"""How many levels a table of a provider's or a model's own may have."""
Word = TypeVar("Word", bound=Enum)
_NAMES: dict[type, str] = {
    bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object",
    type(None): "null",
}  # fmt: skip


def wrong(where: str, problem: str) -> BadFields:
    """The fault of a value at this place."""
    return BadFields((where, f"'{where}' {problem}"))


def expected(value: Any, where: str, what: str) -> BadFields:
    """The fault of a value that is of another type than `what`."""
    return wrong(where, f"must be {what}, got {_NAMES.get(type(value), type(value).__name__)}")


def text(value: Any, where: str) -> str:
    """A string that has a form in UTF-8."""
    if not isinstance(value, str):
        raise expected(value, where, "a string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise wrong(where, "holds what is no Unicode text") from None
    return value


def maybe_text(value: Any, where: str) -> str | None:
    """A string, or None."""
    return None if value is None else text(value, where)


def flag(value: Any, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise expected(value, where, "true or false")
    return value


def plain(value: Any, where: str, levels: int = DEEPEST) -> Any:
    """The value again, made of nothing but what JSON has."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return text(value, where)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise wrong(where, "holds a number that is not finite")
        return value
    if levels == 0:
        raise wrong(where, f"is nested deeper than {DEEPEST} levels")
    if isinstance(value, Mapping):
        return {text(key, where): plain(one, where, levels - 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one, where, levels - 1) for one in value]
    raise expected(value, where, "made of what JSON has")


def written_table(value: Any, where: str) -> dict[str, Any]:
    """A table of a provider's or a model's own, its keys in their order."""
    if not isinstance(value, Mapping):
        raise expected(value, where, "an object")
    found: dict[str, Any] = plain(value, where)
    return found


def table(value: Any, where: str) -> Mapping[str, Any]:
    """The same, to be read only."""
    return MappingProxyType(written_table(value, where))


def arguments(value: Any, where: str) -> Mapping[str, Any] | str:
    """The arguments of a call: a table, or a string where they are none."""
    return text(value, where) if isinstance(value, str) else table(value, where)


def written_arguments(value: Any, where: str) -> dict[str, Any] | str:
    """The same, to be written."""
    return text(value, where) if isinstance(value, str) else written_table(value, where)


def each(value: Any, where: str, read: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    """What `read` makes of each value of a list."""
    if not isinstance(value, (list, tuple)):
        raise expected(value, where, "a list")
    return tuple([read(one, f"{where}[{at}]") for at, one in enumerate(value)])


def texts(value: Any, where: str) -> tuple[str, ...]:
    """Strings."""
    return each(value, where, text)


def span(value: Any, where: str) -> tuple[int, int] | None:
    """Where something begins and ends, in characters; None for all of it."""
    if value is None:
        return None
    pair = each(value, where, whole)
    if len(pair) != 2 or not 0 <= pair[0] <= pair[1]:
        raise wrong(where, "must be two whole numbers from 0, the second not below the first")
    return pair[0], pair[1]


def whole(value: Any, where: str) -> int:
    """A whole number."""
    if type(value) is not int:
        raise expected(value, where, "a whole number")
    return value


def word(words: type[Word]) -> Callable[[Any, str], Word]:
    """What reads a word of a closed set."""
    known = {one.value: one for one in words}

    def read(value: Any, where: str) -> Word:
        found = known.get(text(value, where))
        if found is None:
            raise wrong(where, f"must be one of {', '.join(known)}")
        return found

    return read
