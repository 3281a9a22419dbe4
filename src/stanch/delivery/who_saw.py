"""Who was ever sent an item that carried a secret, and in what form: receipts, read one after another.

Settles what follows from each receipt, and how much of it is kept. Does not settle how receipts are read, nor whether
the log that they stand in is whole (`storage.chain`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stanch.delivery.admit import Ended
from stanch.delivery.receipts import ADMITTED, DELIVERED, SENT
from stanch.delivery.source import Kind, State

MOST_SIGHTINGS = 10_000
MOST_CARRIERS = 10_000
MOST_OPERATIONS = 8
_BORDERS = "/#@"
"""What stands between an item's id and that of a part or a version of it."""
_FAMILIES = {
    one.value: frozenset(family)
    for family in (
        (Kind.FILE, Kind.VERSION),
        (Kind.DOCUMENT, Kind.CHUNK),
        (Kind.TABLE, Kind.ROW),
        (Kind.RUN, Kind.RUN_FILE),
    )
    for one in family
}
SEND = "send"
"""What stands for an operation where a conversation was sent."""


class Form(StrEnum):
    """In what form a model was sent an item, or a secret's name."""

    REDACTED = "redacted"  # its label stood in the secret's place
    LABEL = "by label only"  # the label came in words, such as a task or a summary, without an item
    UNRECORDED = "unrecorded"  # nobody had recorded what the item carries
    RAW = "raw in workbench"  # bytes, as they are, into a place whose every output is projected
    ERROR = "in an error"  # an operation on it failed, and the error was told
    WITHHELD = "withheld"  # the model did not get it
    AS_IT_IS = "as it is"  # it carried no secret; said of items alone


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about: a secret by its name, an item, or both; perhaps of one session alone.

    An item is a path, a folder for all that lies below it, or a kind and an id, such as `table:tab_1` with its rows.
    `places` are further spellings of a path, such as the canonical one.
    """

    secret: str | None = None
    item: str | None = None
    session: str | None = None
    places: tuple[str, ...] = ()


@dataclass(slots=True)
class Sighting:
    """What one model in one session was sent of one item in one form. `first` and `last` are moments as they are kept.

    `item` is None where a label came without one. `count` counts receipts.
    """

    session: str
    model: str
    item: str | None
    form: Form
    first: str
    last: str
    count: int = 1
    operations: list[str] = field(default_factory=list)


class _Wanted:
    """The item that is asked about, with whatever is a part of it: what lies below a folder, the rows of a table."""

    def __init__(self, item: str, places: set[str]) -> None:
        kind, colon, rest = item.partition(":")
        known = bool(colon) and kind in set(Kind)
        self.kinds = _FAMILIES.get(kind, frozenset({kind})) if known else frozenset(Kind)
        self.id, self.places = rest if known else item, set() if known else places

    def has(self, kind: str, name: str) -> bool:
        """True for this item, or a part of it."""
        return kind in self.kinds and _is_part(name, self.id)

    def lies(self, path: str) -> bool:
        """True for what lies there."""
        return path in self.places or any(_is_part(path, place) for place in self.places)


def _is_part(name: str, of: str) -> bool:
    return name == of or (name.startswith(of) and name[len(of)] in _BORDERS and bool(of))


class Sightings:
    """What receipts say of one secret or one item. Rows of the log are taken in their order, one after another.

    `items` are the answer, `more` counts sightings for which there was no room. `known` is true once anything names the
    secret. `unrecorded` counts how often a model got an item of which nobody had recorded what it carries.
    `unread` counts receipts that cannot be read.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._found: dict[tuple[str, str, str | None, Form], Sighting] = {}
        self.more = self.unrecorded = self.unread = 0
        self.known = asked.secret is None
        self._quoted = None if asked.secret is None else json.dumps(asked.secret)
        self._wanted = None if asked.item is None else _Wanted(asked.item, {asked.item, *asked.places})
        self._carriers: set[str] = set()

    @property
    def items(self) -> tuple[Sighting, ...]:
        """Every sighting, by when it was first."""
        return tuple(self._found.values())

    def take(self, row: Mapping[Any, Any]) -> None:
        """Takes the next row of the log, whatever it is about."""
        action, subject = row["action"], row["subject"]
        if action not in (DELIVERED, SENT):
            if subject == self.asked.secret and isinstance(action, str) and action.startswith("vault."):
                self.known = True
            return
        said = row["detail"]
        if not isinstance(said, str) or not self._may_matter(said):
            return
        try:
            detail = json.loads(said)
            self._delivered(row, detail) if action == DELIVERED else self._sent(row, detail)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.unread += 1

    def _may_matter(self, said: str) -> bool:
        """False where a receipt says nothing of what is asked about, by its text alone."""
        if self._quoted is None:
            return True
        return (
            self._quoted in said or '"state":"unrecorded"' in said or (bool(self._carriers) and '"withheld":' in said)
        )

    # --- deliveries --------------------------------------------------------------------------------------------------

    def _delivered(self, row: Mapping[Any, Any], detail: Mapping[str, Any]) -> None:
        secret, unexplained = self.asked.secret, detail.get("unexplained", ())
        ended, operation = Ended(detail["ended"]), str(detail["operation"])
        loose = secret is not None and secret in unexplained
        placed = False
        for item in detail["items"]:
            form = _form_of(item, ended, secret, loose=loose)
            if form is None:
                passed = item.get("state") == State.UNRECORDED and item["verdict"] == ADMITTED
                self.unrecorded += passed and ended is Ended.GIVEN and self._is_wanted(row) and self._is_asked(item)
                continue
            placed = placed or form is Form.UNRECORDED
            if secret is not None:
                self._carry(item)
            if self._is_asked(item):
                name = item.get("path") or f"{item['kind']}:{item['id']}"
                self._see(row, detail, name, form, operation)
        if loose and not placed:
            self.known = True
            if self.asked.item is None:
                self._see(row, detail, None, Form.LABEL if ended is Ended.GIVEN else Form.WITHHELD, operation)

    def _is_asked(self, item: Mapping[str, Any]) -> bool:
        if self._wanted is None:
            return True
        kind, name, path = item["kind"], item["id"], item.get("path")
        if self._wanted.has(kind, name) or (path is not None and self._wanted.lies(path)):
            if path is not None and len(self._wanted.places) < MOST_CARRIERS:
                # WHY: a send knows it by its path.
                self._wanted.places.add(path)
            return True
        return False

    def _is_asked_by_name(self, name: str) -> bool:
        """The same of a name that a source tag has."""
        if self._wanted is None:
            return True
        kind, colon, rest = name.partition(":")
        return self._wanted.lies(name) or (bool(colon) and kind in set(Kind) and self._wanted.has(kind, rest))

    def _is_wanted(self, row: Mapping[Any, Any]) -> bool:
        return self.asked.session in (None, row["subject"])

    def _carry(self, item: Mapping[str, Any]) -> None:
        self.known = True
        if len(self._carriers) < MOST_CARRIERS:
            self._carriers.add(item.get("path") or f"{item['kind']}:{item['id']}")

    # --- sends -------------------------------------------------------------------------------------------------------

    def _sent(self, row: Mapping[Any, Any], detail: Mapping[str, Any]) -> None:
        secret, item = self.asked.secret, self.asked.item
        for came in detail.get("new", ()):
            name, secrets = str(came["name"]), came.get("secrets", ())
            if secret is not None and secret not in secrets:
                continue
            if secret is not None:
                self._carry({"path": name})
            if self._is_asked_by_name(name):
                self._see(row, detail, name, Form.REDACTED if secrets else Form.AS_IT_IS, SEND)
        if secret is not None and item is None and secret in detail.get("labels", ()):
            self.known = True
            self._see(row, detail, None, Form.LABEL, SEND)
        for name in detail.get("withheld", ()):
            if self._is_asked_by_name(name) and (secret is None or name in self._carriers):
                self._see(row, detail, name, Form.WITHHELD, SEND)

    def _see(self, row: Mapping[Any, Any], detail: Mapping[str, Any], item: str | None, form: Form, what: str) -> None:
        if not self._is_wanted(row):
            return
        model, at = detail.get("model"), str(row["at"])
        key = (str(row["subject"]), "" if model is None else str(model), item, form)
        known = self._found.get(key)
        if known is None:
            if len(self._found) >= MOST_SIGHTINGS:
                self.more += 1
                return
            known = self._found[key] = Sighting(*key, at, at, 0)
        known.count += 1
        known.last = at
        if what not in known.operations and len(known.operations) < MOST_OPERATIONS:
            known.operations.append(what)


def _form_of(item: Mapping[str, Any], ended: Ended, secret: str | None, *, loose: bool) -> Form | None:
    """In what form a model got an item of a delivery; None where that says nothing of the secret.

    `loose`: the secret's label stands in the result, and no item is known to carry it.
    """
    secrets, state, admitted = item.get("secrets", ()), item.get("state"), item["verdict"] == ADMITTED
    unrecorded = state == State.UNRECORDED
    if secret is not None and secret not in secrets and not (unrecorded and loose and admitted):
        return None
    if not admitted or ended is Ended.REFUSED:
        return Form.WITHHELD
    if ended is Ended.FAILED:
        return Form.ERROR
    if unrecorded:
        return Form.UNRECORDED
    if item["view"] == "opaque" and (secrets or state == State.UNKNOWN):
        return Form.RAW
    return Form.REDACTED if secrets else Form.AS_IT_IS
