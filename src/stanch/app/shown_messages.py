"""What of a conversation a model was not sent before: where it came from, and whose labels stand in it.

Settles what is new in a send, and that messages which were sent before are not looked at again. Does not settle what a
model may see (`tiers.history`), nor how it is told (`delivery.receipts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from stanch.delivery.receipts import Came
from stanch.secrets.labelled import Labelled
from stanch.tiers.history_values import strings
from stanch.tiers.history_words import tags_of, words_of
from stanch.tiers.kept import Sent
from stanch.tiers.report import Report
from stanch.values.message import Call, File, Fragment, Message, Part, Result

MOST_NAMES = 20_000
"""How many names are remembered of one session and model; after that, all of them are told again."""
Pair = tuple[str, str, str]
"""A name, its kind, and a secret whose label stands there; nothing for none."""


@dataclass(frozen=True, slots=True)
class News:
    """What is new in a send. `labels` are those that stand in what came from nowhere that is known."""

    messages: Sequence[Message]
    pairs: frozenset[Pair]
    labels: tuple[str, ...]
    withheld: tuple[str, ...]
    came: tuple[Came, ...] = field(default=())


class Shown:
    """What one model of one session was sent so far. Not for two threads at a time."""

    __slots__ = ("_labels", "_last", "_pairs", "_withheld")

    def __init__(self) -> None:
        self._last: Sequence[Message] = ()
        self._pairs: set[Pair] = set()
        self._labels: set[str] = set()
        self._withheld: set[str] = set()

    def news(
        self,
        filtered: Sequence[Message],
        outgoing: Sequence[Message],
        labelled: Labelled,
        report: Report,
        beside: Any = None,
    ) -> News:
        """What is new. `filtered` are the messages with their source tags, `outgoing` the very ones that are sent.

        `beside` is what is sent besides messages, as JSON has it.
        """
        pairs: dict[Pair, None] = {}
        labels = dict.fromkeys(labelled.in_value(beside))
        closed = {*report.pieces, *report.quotes}
        for at in self._new(outgoing):
            for names, secrets in _parts(filtered[at], outgoing[at], labelled):
                open_ = [name for name in names if name[0] not in report.pieces]
                if not open_:
                    labels.update(dict.fromkeys(secrets))
                for name, kind in open_:
                    pairs[name, kind, ""] = None
                    pairs.update(((name, kind, secret), None) for secret in secrets)
        new = frozenset(pairs.keys() - self._pairs)
        return News(
            outgoing,
            new,
            tuple(name for name in labels if name not in self._labels),
            tuple(sorted(closed - self._withheld)),
            tuple(_came(pair for pair in pairs if pair in new)),
        )

    def told(self, news: News) -> None:
        """Says that what is new was told."""
        if len(self._pairs) + len(self._labels) + len(self._withheld) > MOST_NAMES:
            self._pairs.clear()
            self._labels.clear()
            self._withheld.clear()
        self._last = news.messages
        self._pairs |= news.pairs
        self._labels.update(news.labels)
        self._withheld.update(news.withheld)

    def _new(self, outgoing: Sequence[Message]) -> Iterator[int]:
        """The places of messages that were not among the last ones, at their place."""
        last = self._last
        if isinstance(last, Sent) and isinstance(outgoing, Sent) and outgoing.goes_on(last):
            return iter(range(len(last), len(outgoing)))
        return (at for at, (new, old) in enumerate(zip_longest(outgoing, last)) if new is not None and new is not old)


def _came(pairs: Iterator[Pair]) -> Iterator[Came]:
    found: dict[tuple[str, str], list[str]] = {}
    for name, kind, secret in pairs:
        found.setdefault((name, kind), []).extend([secret] if secret else ())
    return (Came(name, kind, tuple(secrets)) for (name, kind), secrets in found.items())


def _parts(
    filtered: Message, outgoing: Message, labelled: Labelled
) -> Iterator[tuple[list[tuple[str, str]], frozenset[str]]]:
    """Where each part came from, and whose labels stand in it."""
    extra = _labels(strings(dict(outgoing.extra)), labelled) if outgoing.extra else frozenset[str]()
    if len(filtered.parts) == len(outgoing.parts):
        for old, new in zip(filtered.parts, outgoing.parts, strict=True):
            yield _names((old,)), _labels(_texts(new), labelled)
    else:
        # WHY together: texts that stand one behind the other may be one text now.
        found = frozenset[str]().union(*(_labels(_texts(new), labelled) for new in outgoing.parts))
        yield _names(filtered.parts), found
    if extra:
        yield [], extra


def _names(parts: Sequence[Part]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((tag.name, tag.origin.value) for tag in tags_of(parts)))


def _labels(texts: Iterator[str], labelled: Labelled) -> frozenset[str]:
    found: set[str] = set()
    for text in texts:
        found |= labelled.in_text(text)
    return frozenset(found)


def _texts(part: Part) -> Iterator[str]:
    """Every text of a part in which a label may stand."""
    yield from words_of(part)
    if part.extra:
        yield from strings(dict(part.extra))
    match part:
        case Call():
            yield from (part.id, part.tool)
        case Result():
            yield from (part.call_id, part.tool)
            for one in part.content:
                if one.extra:
                    yield from strings(dict(one.extra))
                if isinstance(one, File):
                    yield from (text for text in (one.url, one.name) if text)
        case File():
            yield from (text for text in (part.url, part.name) if text)
        case Fragment():
            yield part.name
        case _:
            return
