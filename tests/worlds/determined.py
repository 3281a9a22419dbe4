"""The same ids and the same moments in two worlds, so that nothing of an answer has to be overlooked.

Each place in the program that draws an id has a row of its own, begun anew whenever a move begins: which thread draws
first changes nothing then. A moment lasts as long as a move.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from typing import Any

import pytest
import zipstream.ng  # type: ignore[import-untyped]

BEGINNING = datetime.fromisoformat("2031-05-06T07:08:09.123456+00:00")


class Determined:
    """What ids are drawn from, and what time it is."""

    def __init__(self) -> None:
        self._name, self._drawn, self._lock = "", Counter[str](), threading.Lock()
        self.now = BEGINNING

    def begin(self, name: str, number: int) -> None:
        """From now on ids are drawn for this move, and it is its moment."""
        with self._lock:
            self._name, self._drawn = f"{name}/{number}", Counter()
            self.now = BEGINNING + timedelta(seconds=number)

    def drawn(self, size: int, where: str) -> bytes:
        """So many bytes, the same for the same move and place in the program."""
        with self._lock:
            self._drawn[where] += 1
            seed = f"{self._name} {where} {self._drawn[where]}".encode()
        blocks = (hashlib.sha256(seed + str(at).encode()).digest() for at in itertools.count())
        found = b""
        while len(found) < size:
            found += next(blocks)
        return found[:size]


DETERMINED = Determined()


class _Clock(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> _Clock:
        moment = DETERMINED.now.astimezone(tz)
        return cls.fromtimestamp(moment.timestamp(), tz)


def _where() -> str:
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _hex(size: int | None = None) -> str:
    return DETERMINED.drawn(size or 32, _where()).hex()


def _urlsafe(size: int | None = None) -> str:
    return base64.urlsafe_b64encode(DETERMINED.drawn(size or 32, _where())).decode().rstrip("=")


class _Time:
    """The module `time`, where only the date of an entry of an archive is asked for."""

    @staticmethod
    def localtime(_: Any = None) -> tuple[int, ...]:
        return DETERMINED.now.timetuple()


@contextmanager
def determined() -> Iterator[Determined]:
    """Ids and moments are those of `DETERMINED` for as long as the block lasts."""
    patch = pytest.MonkeyPatch()
    patch.setattr(secrets, "token_hex", _hex)
    patch.setattr(secrets, "token_urlsafe", _urlsafe)
    patch.setattr(zipstream.ng, "time", _Time)
    for name, module in sorted(sys.modules.items()):
        if name.startswith("stanch.") and getattr(module, "datetime", None) is datetime:
            patch.setattr(module, "datetime", _Clock)
    try:
        yield DETERMINED
    finally:
        patch.undo()
