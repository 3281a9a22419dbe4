"""What a page says of a failure.

Settles the status and the words of each, and that these hold no value of the vault: there is no way to them but through
`Failing`. INVARIANT: they hold names of fields and places, never a value that was sent.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from stanch.paths.grants import BadGrant
from stanch.values.fault import (
    BadCall,
    BadContext,
    BadFields,
    BadInput,
    BrokenRow,
    Conflict,
    NotFound,
    NotInstalled,
    StoreUnreadable,
)

_LOG = logging.getLogger(__name__)


class Refused(Exception):
    """A request that is not answered with what it wanted, but with this status and these words."""

    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words
        super().__init__(words)


class Failing:
    """Says what is said of a failure; `tell` makes of words what may be told, and raises nothing."""

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[str], str]) -> None:
        self._tell = tell

    def said_of(self, fault: Exception) -> tuple[int, str]:
        """The status and the words for an exception. One that nobody expects is noted in the log, without its words."""
        status, words = _said_of(fault)
        return status, self._tell(words)

    def sentence(self, fault: Exception) -> str:
        """A fault's message as a sentence."""
        return self._tell(_sentence(fault))

    def fields(self, fault: BadFields) -> dict[str, str]:
        """What is wrong with each field, by its name."""
        return {field: self._tell(message) for field, message in fault.fields}


def _said_of(fault: Exception) -> tuple[int, str]:
    match fault:
        case Refused():
            return fault.status, fault.words
        case NotFound():
            return 404, _sentence(fault)
        case Conflict():
            return 409, _sentence(fault)
        case NotInstalled():
            return 503, _sentence(fault)
        case BadCall() | BadInput() | BadContext() | BadGrant():
            return 422, _sentence(fault)
        case BrokenRow():
            return 500, _sentence(fault)
        case StoreUnreadable():
            return 503, f"The store cannot be read: {fault}."
        case _:
            places = traceback.extract_tb(fault.__traceback__)[-3:]
            where = ", ".join(f"{place.filename.rpartition('/')[2]}:{place.lineno}" for place in places)
            _LOG.error("a page failed with %s (%s)", type(fault).__name__, where)
            return 500, f"The server failed with {type(fault).__name__}."


def _sentence(fault: Exception) -> str:
    text = str(fault)
    first = text.partition(" ")[0]
    if first.isalpha():  # and no name, which is written as it is
        text = f"{text[:1].upper()}{text[1:]}"
    return f"{text}{'' if text.endswith(('.', '!', '?')) else '.'}"
