"""What leaves this process, without a value of the vault: what models are sent, what is logged, what errors say.

Settles that the whole vault is looked for, as it is now, and what happens where it cannot be opened: a send stops, a
log line and an error lose their words. Does not settle what is found in a text (`secrets.projection`), nor what becomes
of each part of a message (`app.projected_messages`).
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stanch.app.told_records import TellsRecords
from stanch.app.vault import Vault
from stanch.secrets.encodings import FLOOR
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret
from stanch.values.fault import Fault

WITHHELD = "[withheld: nobody can tell whether it holds a secret]"
UNOPENED = "[withheld: the vault cannot be opened, so nobody can tell whether it holds a secret]"
_FORMATTER = logging.Formatter()
_OWN_NAME = re.compile("[a-z]{1,16}(?:_[a-z]{1,16}){0,3}")
_SHORT = 10**FLOOR
_DEEP = 50


class Projecting:
    """A projector over every value that the vault ever had, made anew when there is one more. Safe from any thread."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._made: tuple[object, Projector] | None = None
        self._making = threading.Lock()
        vault.on_change(self.prepare)

    def projector(self) -> Projector:
        """The projector of now. Raises `BrokenRow` and `StoreUnreadable` where a value cannot be had."""
        revision = self._vault.revision()
        made = self._made
        if made is not None and made[0] == revision:
            return made[1]
        with self._making:
            made = self._made
            if made is None or made[0] != revision:
                made = self._made = revision, _projector(self._vault)
        return made[1]

    def changes(self, text: str) -> bool:
        """True where the text holds a value of the vault, and where nobody can tell."""
        try:
            return self.projector().text(text) != text
        except Exception:
            return True

    def told(self, value: Any) -> Any:
        """A value of an error as it may be told. It raises nothing.

        WHY by what was known last, where the vault cannot be asked: the error may be just that.
        """
        return self.records().tell(value)

    def records(self, *, now: bool = True) -> TellsRecords:
        """What tells of records what may be told, by one look at the vault. It raises nothing.

        `now` False asks no store: then it is what this process knew last, such as every value that was set in it.
        """
        if not now:
            return TellsRecords(self._told)
        try:
            projector = self.projector()
        except Exception:
            return TellsRecords(self._told)
        return TellsRecords(lambda value: _projected(value, projector))

    def noted(self, value: Any) -> Any:
        """What an audit row may hold of a value. It asks no store, and raises nothing.

        WHY the value itself where the vault cannot be opened: who did what has to be known then, too. Whoever reads
        the row is told of it by `records`.
        """
        made = self._made
        return value if made is None else _projected(value, made[1])

    def line(self, record: logging.LogRecord) -> None:
        """Takes every value out of a log record: out of its words, and of the exception that it tells of.

        It asks no store: that may be what the record is about.
        """
        try:
            said = record.getMessage()
        except Exception:
            said = WITHHELD
        told = self._told(said)
        lost = told in (WITHHELD, UNOPENED)
        if told != said or lost:
            # WHY the form where the words are withheld: it is the code's own; what was to be put into it is not.
            form = record.msg if isinstance(record.msg, str) else ""
            record.msg, record.args = f"{form} {told}" if lost and record.args else told, None
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = self._told(_FORMATTER.formatException(record.exc_info))
            record.exc_info = None

    @contextmanager
    def logs(self) -> Iterator[None]:
        """Has every log record of this process told so, for as long as the block lasts. For a process of our own."""
        before = logging.getLogRecordFactory()
        inside = threading.local()

        def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
            record = before(*args, **kwargs)
            # WHY: what is done for one record may log, too.
            if getattr(inside, "here", False):
                return record
            inside.here = True
            try:
                self.line(record)
            finally:
                inside.here = False
            return record

        logging.setLogRecordFactory(factory)
        try:
            yield
        finally:
            if logging.getLogRecordFactory() is factory:
                logging.setLogRecordFactory(before)

    def _told(self, value: Any) -> Any:
        made = self._made
        return _emptied(value, UNOPENED) if made is None else _projected(value, made[1])

    def prepare(self) -> None:
        """Makes the projector, so that what is told without asking the store knows every value of now. Raises nothing.

        Where it cannot be made, whatever is told loses its words until it can be.
        """
        try:
            self.projector()
        except Fault:
            self._made = None


def _projector(vault: Vault) -> Projector:
    """Every value under its name. Of a name with several, the newest goes first: all of them are known under it."""
    first: dict[str, Secret] = {}
    further: list[tuple[str, Secret]] = []
    for entry in reversed(vault.entries()):
        if entry.name in first:
            further.append((entry.name, entry.value))
        else:
            first[entry.name] = entry.value
    made = Projector(first)
    for name, value in further:
        made = made.adding(name, value)
    return made.folded() if further else made


def _projected(value: Any, projector: Projector) -> Any:
    try:
        return projector.text(value) if isinstance(value, str) else projector.structure(value)
    except Exception:
        return _emptied(value, WITHHELD)


def _emptied(value: Any, word: str) -> Any:
    """The shape of a value with the word in place of whatever of it may hold a secret, or lies very deep."""
    return _shape(value, word, _DEEP)


def _shape(value: Any, word: str, deep: int) -> Any:
    if not deep:
        return word
    if isinstance(value, dict):
        # WHY not all keys: most are names that the code gives, and a person has to know what is missing.
        return {
            key if type(key) is str and _OWN_NAME.fullmatch(key) else _short(key, word): _shape(one, word, deep - 1)
            for key, one in value.items()
        }
    return [_shape(one, word, deep - 1) for one in value] if isinstance(value, (list, tuple)) else _short(value, word)


def _short(value: Any, word: str) -> Any:
    """A number that is too short to hold a secret, and what is none at all; the word for everything else."""
    if value is None or isinstance(value, bool):
        return value
    return value if isinstance(value, int | float) and abs(value) < _SHORT and len(repr(value)) < FLOOR else word
