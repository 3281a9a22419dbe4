"""A text that may not be seen: a value that shows itself to nobody but whoever opens it by name.

Settles that no printing, formatting, comparing, copying or pickling of it gives the text away. Does not settle who may
open one: `opened` is the only way, and a test keeps the list of those who import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

SHOWN = "[secret]"


class Secret:
    """A secret's value.

    INVARIANT: whatever is done with it, short of `opened`, gives no letter of it, nor its length. It equals itself
    alone: comparing would tell a guess from the value.
    """

    __slots__ = ("__weakref__", "_reveal")
    _reveal: Callable[[], str]

    def __init__(self, value: str) -> None:
        """`value` may be any text but an empty one. Raises `TypeError` and `ValueError`, which do not repeat it."""
        if type(value) is not str:
            raise TypeError("a secret is a text")
        if not value:
            raise ValueError("a secret is not empty")
        object.__setattr__(self, "_reveal", lambda: value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __repr__(self) -> str:
        return SHOWN

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return SHOWN

    def __bytes__(self) -> NoReturn:
        raise TypeError("a secret has no bytes; `opened` gives its text to whoever may have it")

    def __bool__(self) -> NoReturn:
        raise TypeError("a secret has no truth value")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a secret cannot be pickled")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: Any) -> Secret:
        return self

    def __dir__(self) -> list[str]:
        return []


def opened(secret: Secret) -> str:
    """The text of a secret. Whoever imports this is on the list of those who may."""
    return secret._reveal()
