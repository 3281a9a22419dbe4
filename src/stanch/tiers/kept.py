"""A copy that was made for one model, kept for the next time that it is sent the same conversation.

Settles when a kept copy still holds: for the same messages in the same places, the same tier and the same answers; more
messages may have come. Does not settle what is in it (`tiers.history`).
INVARIANT: what is handed out is what a fresh look would give.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, overload

from stanch.tiers.history import Look
from stanch.tiers.report import Report
from stanch.values.message import Message


class Sent(Sequence[Message]):
    """The first messages of a list to which its owner only ever adds: as they were when this was made."""

    __slots__ = ("_length", "_messages")

    def __init__(self, messages: list[Message]) -> None:
        self._messages, self._length = messages, len(messages)

    def goes_on(self, before: Sent) -> bool:
        """True where this list begins with the other one, by what it is made of; False says nothing."""
        return self._messages is before._messages and self._length >= before._length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return islice(self._messages, self._length)

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        if isinstance(at, slice):
            return [self._messages[place] for place in range(*at.indices(self._length))]
        return self._messages[range(self._length)[at]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_equal, self, other))

    __hash__ = None  # type: ignore[assignment]


class Resent(NamedTuple):
    """The messages as a model may have them, to be read only, and what was kept back of all of them."""

    messages: Sequence[Message]
    report: Report


class Kept:
    """One conversation's copy for one model."""

    __slots__ = ("_copy", "_key", "_look", "_report", "_said")

    def __init__(self) -> None:
        self._key: Hashable = None
        self._look: Look | None = None
        self._said: list[Message] = []
        self._copy: list[Message] = []
        self._report: Report | None = None

    def sent(self, messages: Sequence[Message], key: Hashable, look: Callable[[], Look]) -> Resent:
        """The conversation as the model may have it, of which only what is new since the last time was looked at.

        `key` is equal for the same tier, in the same version, with the same answers, and `look` begins a fresh look by
        them. Everything is looked at anew where the key is another, or an earlier message is.
        """
        known, self._look = self._look, None  # WHY: what raises half-way must not be gone on with
        if known is not None and key == self._key and self._goes_on(messages):
            fresh = messages[len(self._said) :]
            more = known.further(self._copy, fresh) if fresh else []
            if more is not None:
                self._said += fresh
                self._copy += more
                self._report = None if fresh else self._report
                self._look = known
                return self._done(known)
        fresh_look = look()
        said = list(messages)
        self._copy, self._said = fresh_look.at(said), said
        self._look, self._key, self._report = fresh_look, key, None
        return self._done(fresh_look)

    def _goes_on(self, messages: Sequence[Message]) -> bool:
        """True where the messages begin with those of the last time."""
        said = self._said
        if not isinstance(messages, list) or len(messages) < len(said):
            return list(messages[: len(said)]) == said
        more = len(messages) - len(said)
        if not more:
            return messages == said
        # WHY not a slice: it would touch every message; two lists of one length are compared without that.
        said += messages[-more:]
        same = messages == said
        del said[-more:]
        return same

    def _done(self, look: Look) -> Resent:
        if self._report is None:
            self._report = look.report()
        return Resent(Sent(self._copy), self._report)


def _equal(one: object, other: object) -> bool:
    return one is other or one == other
