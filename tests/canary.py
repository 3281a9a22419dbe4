"""Marked secrets in every vault that a test makes, and in the environment; nothing of Stanch's may let one out.

Whatever a test puts into a vault becomes a mark until that test ends. A mark in a log record of Stanch's, in the text
of one of its exceptions, in the body of an HTTP error or in a request that a stand-in for a model got, in any form that
`secrets.encodings` knows, fails the test. What is told of a mark is its name.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.responses import Response

from stanch.app.vault import Vault
from stanch.secrets.encodings import FLOOR, forms
from stanch.secrets.text import Secret, opened
from stanch.values.fault import Fault

VARIABLE = "STANCH_TEST_CANARY"
LOG, EXCEPTION, ANSWER, REQUEST = "a log record", "an exception", "an HTTP error", "a request to a model"


class Canary:
    """The marks of the moment, and where they were seen."""

    def __init__(self) -> None:
        self._always: dict[str, frozenset[bytes]] = {}
        self._marks: dict[str, frozenset[bytes]] = {}
        self._expected: frozenset[str] = frozenset()
        self.seen: list[str] = []

    def plant(self, name: str, value: str, *, always: bool = False) -> None:
        """Makes the value a mark, until the test ends unless it is for `always`."""
        if len(value) < FLOOR or not value.strip():
            return
        marks = self._always if always else self._marks
        marks[name] = marks.get(name, frozenset()) | frozenset(forms(value))

    def expect_in(self, *places: str) -> None:
        """Until the test ends, these places may hold marks: the test is about what comes of that."""
        self._expected = frozenset(places)

    def look(self, place: str, said: str | bytes) -> None:
        """Takes note of every mark in what was said there."""
        marks = {**self._always, **self._marks}
        if place in self._expected or not marks:
            return
        data = said.encode("utf-8", "surrogatepass") if isinstance(said, str) else said
        self.seen += [f"{place} holds {name}" for name, all_forms in marks.items() if any(f in data for f in all_forms)]

    def end(self) -> list[str]:
        """What was seen since the last test; the marks of the test are gone then."""
        seen, self.seen = list(dict.fromkeys(self.seen)), []
        self._marks, self._expected = {}, frozenset()
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
