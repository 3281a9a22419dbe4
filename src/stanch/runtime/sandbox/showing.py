"""How the value of a snippet's last expression is shown.

Settles a text that is no longer than it may be. Does not settle how values come over from the interpreter.
WHY no `repr`: one list that holds another twice, thirty times over, is small as a value and takes all memory as a text.
"""

from __future__ import annotations

from collections.abc import Iterable

_PLAIN = (int, float, complex, bool, type(None), type(...))
_DEEPEST = 100


def shown(value: object, most: int) -> str:
    """The value as Python would write it, cut off with `...` before it has more than `most` characters and a few."""
    text = _Text(most)
    text.add(value, 0)
    return "".join(text.parts)


class _Text:
    def __init__(self, most: int) -> None:
        self._left = most
        self.parts: list[str] = []

    def add(self, value: object, depth: int) -> None:
        """Adds the value, as far as there is room."""
        if self._left <= 0:
            self._say("...")
        elif isinstance(value, str | bytes | bytearray):
            cut = value[: self._left]
            self._say(repr(cut) if len(cut) == len(value) else f"{cut!r}...")
        elif isinstance(value, _PLAIN):
            self._say(_plain(value))
        elif depth >= _DEEPEST:
            self._say("...")
        elif type(value) is list:
            self._several("[", value, "]", depth)
        elif type(value) is tuple:
            self._several("(", value, ",)" if len(value) == 1 else ")", depth)
        elif type(value) is set and value:
            self._several("{", value, "}", depth)
        elif type(value) is dict:
            self._pairs(value, depth)
        else:
            self._say(_named(value))

    def _several(self, opening: str, values: Iterable[object], closing: str, depth: int) -> None:
        self._say(opening)
        for at, value in enumerate(values):
            if at:
                self._say(", ")
            self.add(value, depth + 1)
            if self._left <= 0:
                break
        self._say(closing)

    def _pairs(self, values: dict[object, object], depth: int) -> None:
        self._say("{")
        for at, (key, value) in enumerate(values.items()):
            if at:
                self._say(", ")
            self.add(key, depth + 1)
            self._say(": ")
            self.add(value, depth + 1)
            if self._left <= 0:
                break
        self._say("}")

    def _say(self, text: str) -> None:
        self.parts.append(text)
        self._left -= len(text)


def _plain(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # a number of more digits than Python writes
        return "<a number of too many digits>"


def _named(value: object) -> str:
    kind = type(value)
    if kind.__module__ in {"datetime", "decimal", "pathlib", "uuid", "builtins"} and kind.__name__ not in {"frozenset"}:
        return repr(value)[:1000]
    name = getattr(value, "name", None)
    return f"<{name if isinstance(name, str) else kind.__name__}>"
