"""Marked secrets in every vault that a test makes, and in the environment; nothing of Stanch's may let one out.

Whatever a test puts into a vault becomes a mark until that test ends. A mark in a log record of Stanch's, in the text
of one of its exceptions, in the body of an HTTP error, in an audit row, in what a webhook is told or in a request that
a stand-in for a model got fails the test: in any spelling that Stanch itself looks for, or that the short list here
has, which knows nothing of Stanch's own. What is told of a mark is its name.
"""

from __future__ import annotations

import base64
import html
import json
import logging
import secrets
import shlex
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from starlette.responses import Response

from stanch.app import notifying
from stanch.app.vault import Vault
from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret, opened
from stanch.storage import transactions
from stanch.values.fault import Fault

VARIABLE = "STANCH_TEST_CANARY"
LOG, EXCEPTION, ANSWER, REQUEST = "a log record", "an exception", "an HTTP error", "a request to a model"
AUDIT, WEBHOOK = "an audit row", "what a webhook is told"
SHORTEST = 8


def spellings(value: str) -> frozenset[bytes]:
    """The value in the ways in which it gets out most easily, by the standard library alone."""
    raw = value.encode("utf-8", "surrogatepass")
    found = {raw, raw.hex().encode(), raw.hex().upper().encode()}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before, letters in ((0, 0), (1, 2), (2, 3)):
            whole = encode(b"x" * before + raw).rstrip(b"=")
            found.add(whole[letters : len(whole) - bool((before + len(raw)) % 3)])
    for text in (
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(raw),
        quote(raw, safe=""),
        "".join(f"%{byte:02x}" for byte in raw),
        html.escape(value),
        html.escape(value, quote=False),
        "".join(f"&#{ord(one)};" for one in value),
        shlex.quote(value).strip("'"),
    ):
        found.add(text.encode("utf-8", "surrogatepass"))
    return frozenset(found)


class _Marks:
    """Values by name, and what looks for them. WHY lazily: most tests that make a vault look at nothing."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[str, ...]] = {}
        self._spellings: dict[str, frozenset[bytes]] = {}
        self._projector: Projector | None = None

    def __bool__(self) -> bool:
        return bool(self._values)

    def add(self, name: str, value: str) -> None:
        self._values[name] = (*self._values.get(name, ()), value)
        self._spellings[name] = self._spellings.get(name, frozenset()) | spellings(value)
        self._projector = None

    def found(self, data: bytes) -> set[str]:
        """The names of those that are in it."""
        seen = {name for name, all_forms in self._spellings.items() if any(one in data for one in all_forms)}
        projector = self._projector
        if projector is None:
            projector = Projector({})
            for name, values in {**self._values}.items():
                for value in values:
                    projector = projector.adding(name, Secret(value))
            self._projector = projector
        try:
            return seen | projector.found(data)
        except Withheld:
            return seen


class Canary:
    """The marks of the moment, and where they were seen."""

    def __init__(self) -> None:
        self._always, self._marks = _Marks(), _Marks()
        self._expected: frozenset[str] = frozenset()
        self._looking = threading.local()
        self.seen: list[str] = []

    def plant(self, name: str, value: str, *, always: bool = False) -> None:
        """Makes the value a mark, until the test ends unless it is for `always`."""
        if len(value) >= SHORTEST and value.strip():
            (self._always if always else self._marks).add(name, value)

    def expect_in(self, *places: str) -> None:
        """Until the test ends, these places may hold marks: the test is about what comes of that."""
        self._expected = frozenset(places)

    def look(self, place: str, said: str | bytes) -> None:
        """Takes note of every mark in what was said there."""
        # WHY not within itself: to look may raise a fault, which is looked at.
        if place in self._expected or getattr(self._looking, "here", False):
            return
        self._looking.here = True
        try:
            data = said.encode("utf-8", "surrogatepass") if isinstance(said, str) else said
            for marks in (self._always, self._marks):
                self.seen += [f"{place} holds {name}" for name in sorted(marks.found(data))] if marks else []
        finally:
            self._looking.here = False

    def end(self) -> list[str]:
        """What was seen since the last test; the marks of the test are gone then."""
        seen, self.seen = list(dict.fromkeys(self.seen)), []
        self._marks, self._expected = _Marks(), frozenset()
        return seen


CANARY = Canary()


@contextmanager
def watching() -> Iterator[None]:
    """Looks at all that leaves, for as long as the block lasts."""
    patch = pytest.MonkeyPatch()
    mark = f"canary-{secrets.token_hex(16)}"
    patch.setenv(VARIABLE, mark)
    CANARY.plant(VARIABLE, mark, always=True)
    patch.setattr(Vault, "set", _planting(Vault.set))
    patch.setattr(Fault, "__init__", _looking_after(Exception.__init__, _exception), raising=False)
    patch.setattr(transactions, "record", _looking_at_rows(transactions.record))
    patch.setattr(notifying, "_sent", _looking_at_bodies(notifying._sent))
    patch.setattr(Response, "__init__", _looking_after(Response.__init__, _answer))
    before = logging.getLogRecordFactory()

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = before(*args, **kwargs)
        if record.name.partition(".")[0] == "stanch":
            _record(record)
        return record

    logging.setLogRecordFactory(factory)
    try:
        yield
    finally:
        logging.setLogRecordFactory(before)
        patch.undo()


def _planting(real: Callable[..., Any]) -> Callable[..., Any]:
    def planting(self: Vault, name: str, value: Secret, **given: Any) -> Any:
        CANARY.plant(name, opened(value))
        return real(self, name, value, **given)

    return planting


def _looking_after(real: Callable[..., None], look: Callable[[Any], None]) -> Callable[..., None]:
    def made(self: Any, *args: Any, **given: Any) -> None:
        real(self, *args, **given)
        look(self)

    return made


def _looking_at_rows(real: Callable[..., None]) -> Callable[..., None]:
    def recorded(change: transactions.Change, *args: Any, **given: Any) -> None:
        real(change, *args, **given)
        CANARY.look(AUDIT, f"{change.written['subject']} {change.written['detail']}")

    return recorded


def _looking_at_bodies(real: Callable[..., str | None]) -> Callable[..., str | None]:
    def sent(url: str, secret: str, said: Any) -> str | None:
        CANARY.look(WEBHOOK, json.dumps(said))
        return real(url, secret, said)

    return sent


def _exception(fault: Fault) -> None:
    CANARY.look(EXCEPTION, "\n".join([*map(str, fault.args), repr(fault.args)]))


def _answer(answer: Response) -> None:
    if answer.status_code >= 400:
        CANARY.look(ANSWER, bytes(getattr(answer, "body", b"")))


def _record(record: logging.LogRecord) -> None:
    said = record.getMessage()
    if record.exc_info and record.exc_info[1] is not None:
        said += repr(record.exc_info[1])
    CANARY.look(LOG, said)
