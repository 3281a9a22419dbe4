"""May this model see what this conversation already holds? A copy in which what it may not see is replaced.

Settles the whole of it for one send, with quotes and a report. Does not settle what a tier says of a path
(`tiers.tier`), what becomes of a part (`tiers.history_parts`) or of a quote (`tiers.history_quotes`), nor how a copy is
kept for the next send (`tiers.kept`).
INVARIANT: no message that was given is ever changed, and none is dropped; the cost is linear in messages and tags.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from stanch.tiers.history_parts import Withholding
from stanch.tiers.history_plain import short_way
from stanch.tiers.history_quotes import Quotes
from stanch.tiers.history_spans import Names
from stanch.tiers.history_verdicts import Read, Verdicts, reading
from stanch.tiers.history_words import tags_of
from stanch.tiers.report import Report, read_only
from stanch.values.message import Message, signer_mark

MANY = 10_000
NOBODY: frozenset[str] = frozenset()


class Redacted(NamedTuple):
    """The messages as a model may have them, in a new list, and what was kept back."""

    messages: list[Message]
    report: Report


def redact_history(
    messages: Sequence[Message],
    may_read: Read,
    label: str,
    *,
    model: str | None = None,
    answers: Container[str] = NOBODY,
    quotes: bool = True,
) -> Redacted:
    """A copy of the conversation, in its order, where a placeholder stands for whatever the tier does not let through.

    `may_read` says what the tier says of reading (`reading` makes it from a tier); each distinct path is asked about
    once. `label` is the tier's. `model`, as `provider/model`, is who will read the copy: reasoning that its provider
    cannot verify is left out. Where the tier asks, only names among `answers` pass: those that a person said yes to for
    this tier and session. `quotes`: what a model wrote is searched for runs of withheld text, too. Messages and parts
    of which nothing is replaced are the very same objects. Whatever `may_read` raises goes through.
    """
    look = Look(may_read, label, model=model, answers=answers, quotes=quotes)
    return Redacted(look.at(messages), look.report())


class Look:
    """One look at one conversation for one tier, as `redact_history` takes it. It can go on with further messages."""

    def __init__(self, may_read: Read, label: str, *, model: str | None, answers: Container[str], quotes: bool) -> None:
        self._label = label
        self._verdicts = Verdicts(may_read, label, answers)
        self._withholding = Withholding(self._verdicts, model, quotes=quotes)
        self._quotes = Quotes(self._verdicts) if quotes else None
        self._pieces: Counter[str] = Counter()
        self._quoted: Counter[str] = Counter()
        self._message = short_way(self._withholding)
        if model is not None:
            self._verdicts.open.add(signer_mark(model))

    def at(self, messages: Sequence[Message]) -> list[Message]:
        """The copy of the conversation."""
        out, taken = self._filtered(messages)
        return out if self._quotes is None else self._quotes.without(out, taken)

    def _filtered(self, messages: Sequence[Message]) -> tuple[list[Message], list[tuple[str, Names]]]:
        """The messages without what tags close, and the texts that were withheld for it."""
        passes, withheld = self._verdicts.open.issuperset, self._message
        with _uninterrupted() if len(messages) >= MANY else nullcontext():
            out = [message if passes(message.marks) else withheld(message) for message in messages]
        taken, self._withholding.taken = self._withholding.taken, []
        return out, taken

    def further(self, copy: Sequence[Message], messages: Sequence[Message]) -> list[Message] | None:
        """The copy of messages that came after those of `copy`; None where that would be another one by now.

        After None, and after whatever is raised, this look is of no more use.
        """
        out, taken = self._filtered(messages)
        if self._quotes is None:
            return out
        if not self._quotes.goes_on(out, taken):
            return None
        return self._quotes.further([*copy, *out], out)

    def touched(self, messages: Sequence[Message], copy: Sequence[Message]) -> Counter[str]:
        """In how many messages something of each name was withheld; `copy` is what this look has made of them."""
        quoting = {id(message): names for message, names in self._quotes.quoting} if self._quotes is not None else {}
        found: Counter[str] = Counter()
        for old, new in zip(messages, copy, strict=True):
            if new is not old:
                found.update({*self._verdicts.denied(tags_of(old.parts)), *quoting.get(id(new), ())})
        return found

    def report(self) -> Report:
        """What has been kept back so far."""
        pieces, quotes = self._withholding.pieces, self._quotes
        self._withholding.counted = self._withholding.counted or bool(pieces)
        self._pieces.update(pieces)
        pieces.clear()
        unsent = self._withholding.unsent
        if quotes is not None:
            self._quoted.update(quotes.replaced)
            quotes.replaced.clear()
            unsent += quotes.unsent
        return Report(self._label, read_only(self._pieces), read_only(self._quoted), tuple(self._verdicts.asks), unsent)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """WHY: nothing of a copy is garbage, yet making it sets off collections that go through the whole conversation."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


__all__ = ["Look", "Read", "Redacted", "Report", "reading", "redact_history"]
