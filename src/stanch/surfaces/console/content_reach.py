"""What the pages of stored content have in common: whose eyes look, and how a name gets into a page.

Settles that content is read as the person who is logged in, or as a model in their place, and that no name, address or
field holds a value of the vault. Does not settle what a page shows.
INVARIANT: whatever a page says of an item besides its content went through `say`; content as it is comes by `asks`
alone, on a page that a person asked for by its own word.
"""

from __future__ import annotations

import hmac
import os
import threading
from collections import OrderedDict
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from stanch.app.content_preview import as_model, preview
from stanch.app.permissions import Right
from stanch.content.access import Access
from stanch.delivery.admit import ContentRefused
from stanch.delivery.operation import Asked as Arguments
from stanch.delivery.operation import Operation
from stanch.explain import brief
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked
from stanch.values.decision import Effect

PAGE = "/console/content"
MOST_HIDDEN = 5_000
HIDDEN = "_hidden"
RAW = "raw"
A = TypeVar("A", bound=Arguments)
R = TypeVar("R")


class Hidden:
    """Words that an address may not hold, kept in this process under names that say nothing of them.

    A name is good for one login. Of too many, those that were used longest ago are forgotten.
    """

    def __init__(self) -> None:
        self._key, self._lock = os.urandom(32), threading.Lock()
        self._words: OrderedDict[str, str] = OrderedDict()

    def name_of(self, login: str, words: str) -> str:
        """The name of the words."""
        said = f"{login}\n{words}".encode("utf-8", "surrogatepass")
        name = hmac.new(self._key, said, "sha256").hexdigest()
        with self._lock:
            self._words[name] = words
            self._words.move_to_end(name)
            while len(self._words) > MOST_HIDDEN:
                self._words.popitem(last=False)
        return name

    def words_of(self, login: str, name: str) -> str:
        """The words of a name that this login was given. Raises `Refused`."""
        with self._lock:
            words = self._words.get(name)
        if words is None or self.name_of(login, words) != name:
            raise Refused(404, "This address is good no more. Look for the item in its list again.")
        return words


_HIDDEN = Hidden()


class Reach:
    """Reads content for one request. Raises `Refused` where this login may not."""

    def __init__(self, asked: Asked) -> None:
        if Right.CONTENT not in asked.login.caller.rights:
            raise Refused(403, "You may not see stored content.")
        self.asked = asked
        self._tell = asked.service.projecting.records().tell

    @cached_property
    def access(self) -> Access:
        """The access of the person who is logged in."""
        login = self.asked.login
        return self.asked.service.content.access(login.caller.principal, login.by)

    def asks(self, operation: Operation[Access, A, R], arguments: A) -> R:
        """What an operation gives the person: content as it is."""
        return operation(self.access, arguments)

    def as_model(self, operation: Operation[Access, A, R], arguments: A) -> Any:
        """What it would give a model that acts for this person, as JSON. Raises `ContentRefused`."""
        return preview(self.asked.service.content, self.access, operation, arguments)

    def as_model_with_names(self, operation: Operation[Access, A, R], arguments: A) -> tuple[R, Any]:
        """The same, behind a result that still has the names by which its items are asked for. Only these are used."""
        content = self.asked.service.content
        access = as_model(content, self.access)
        found: R = operation(access, arguments)
        return found, content.leaving(access, found)

    def say(self, words: object) -> str:
        """Words about an item, without a value of the vault."""
        return str(self._tell("" if words is None else str(words)))

    def get(self, name: str, otherwise: str = "") -> str:
        """A field of the address, also where it is hidden in it. Raises `Refused`."""
        hidden = self.asked.get(f"{name}{HIDDEN}")
        if hidden:
            return _HIDDEN.words_of(self.asked.login.form_key, hidden)
        return self.asked.get(name, otherwise)

    def number(self, name: str) -> int | None:
        """A field that is a whole number, None where it is left out. Raises `Refused`."""
        text = self.asked.get(name)
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise Refused(404, "There is nothing at this address.")
        return int(text)

    @property
    def raw(self) -> bool:
        """True where the person asked for content as it is."""
        return self.asked.get(RAW) == "1"

    def fields(self, **fields: object) -> dict[str, str]:
        """Fields as an address or a form may hold them. Those that are None or empty are left out."""
        held: dict[str, str] = {}
        for name, value in fields.items():
            text = "" if value is None else str(value)
            if not text:
                continue
            if self.say(text) == text:
                held[name] = text
            else:
                held[f"{name}{HIDDEN}"] = _HIDDEN.name_of(self.asked.login.form_key, text)
        return held

    def address(self, below: str = "", **fields: object) -> str:
        """An address below the pages of content."""
        query = urlencode(self.fields(**fields), quote_via=quote, errors="surrogatepass")
        return f"{PAGE}{below}{'?' if query else ''}{query}"


def made(model: type[A], **fields: Any) -> A:
    """The arguments of an operation, those that are None left out. Raises `Refused` for what they cannot be."""
    try:
        return model(**{name: value for name, value in fields.items() if value is not None})
    except ValidationError:
        raise Refused(404, "There is nothing at this address.") from None


def why_withheld(refused: ContentRefused) -> str:
    """Why a model is given nothing, without naming the item."""
    said = brief(refused.reason, Effect.DENY)
    return f"{said[:1].lower()}{said[1:]}"
