"""How names get into pages that tell of things other people, or code, have named.

Settles that no name, address or field holds a value of the vault, and that an address names whatever there is. Does not
settle what a page shows.
"""

from __future__ import annotations

import hmac
import os
import threading
from collections import OrderedDict
from urllib.parse import quote, urlencode

from stanch.explain import visible
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked

MOST_HIDDEN = 5_000
HIDDEN = "_hidden"


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


class Naming:
    """Names for one request."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._tell = asked.service.projecting.records().tell

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

    def fields(self, **fields: object) -> dict[str, str]:
        """Fields as an address or a form may hold them. Those that are None or empty are left out."""
        held: dict[str, str] = {}
        for name, value in fields.items():
            text = "" if value is None else str(value)
            if not text:
                continue
            if _is_plain(text) and self.say(text) == text:
                held[name] = text
            else:
                held[f"{name}{HIDDEN}"] = _HIDDEN.name_of(self.asked.login.form_key, text)
        return held

    def at(self, path: str, /, **fields: object) -> str:
        """The address of this path with these fields."""
        query = urlencode(self.fields(**fields), quote_via=quote, errors="surrogatepass")
        return f"{path}{'?' if query else ''}{query}"


def _is_plain(text: str) -> bool:
    """True where an address and a form give the text back as it was, and nothing in it is out of sight.

    WHY: a browser sends other ends of lines than a form holds, and what is no text at all cannot be sent.
    """
    return visible(text) == text
