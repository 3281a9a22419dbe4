"""Secrets and texts for random trials: small alphabets, so that much overlaps, and all that resembles an escape."""

from __future__ import annotations

import base64
import html
import json
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote

ALPHABETS = (
    "ab",
    "ab",
    "abc%4",
    "a\\u0061",
    "a&#97;",
    "a%2",
    "ab\n",
    "a b",
    "{}a",
    '"\\a',
    "ab/+",
    "0123456789abcdef",
    "é✓a",
    "a\U0001f600b",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
)
STRAY = (
    "%",
    "%4",
    "\\",
    "\\u",
    "\\u00",
    "&",
    "&#",
    "&am",
    "\n",
    "\r",
    "\r\n",
    "A" * 30 + "\n",
    "A" * 23 + "\n",
    "{{",
    "}}",
)
BREAKS = ("\n", "\r\n", "\n  ", "\\n", "\\r\\n", "\n\t\t", "\n         ")


TEXTS = 5


class Trial(NamedTuple):
    """Values under their names, and texts that hold some of them in some form."""

    values: dict[str, str]
    texts: tuple[str, ...]


def trial(drawn: random.Random) -> Trial:
    """A trial out of a random generator."""
    alphabet = drawn.choice(ALPHABETS)

    def letters(count: int) -> str:
        return "".join(drawn.choices(alphabet, k=count))

    values = [letters(drawn.randint(8, drawn.choice((9, 12, 20, 40)))) for _ in range(drawn.randint(1, 4))]
    if drawn.random() < 0.4:
        first = values[0]
        values += [first[drawn.randrange(len(first)) :] + letters(8), first[:9]]
    makers: tuple[Callable[[], str], ...] = (
        lambda: letters(drawn.randrange(6)),
        lambda: printed(drawn, drawn.choice(values)),
        lambda: drawn.choice(STRAY),
    )
    texts = tuple("".join(drawn.choice(makers)() for _ in range(drawn.randrange(6))) for _ in range(TEXTS))
    return Trial({f"N{at}": value for at, value in enumerate(values)}, texts)


def printed(drawn: random.Random, value: str) -> str:
    """The value as some program would print it, or a part of it."""
    ways: tuple[Callable[[], str], ...] = (
        lambda: value,
        lambda: json.dumps(value)[1:-1],
        lambda: json.dumps(json.dumps(value)),
        lambda: quote(value),
        lambda: html.escape(value),
        lambda: "".join(_percent(drawn, byte) for byte in value.encode("utf-8", "surrogatepass")),
        lambda: "".join(_unit(letter) if drawn.random() < 0.5 else letter for letter in value),
        lambda: "".join(drawn.choice((f"&#{ord(one)};", f"&#x{ord(one):x};", one)) for one in value),
        lambda: _base64(drawn, value),
        lambda: _hex(drawn, value),
        lambda: value[: drawn.randrange(len(value))],
        lambda: value[drawn.randrange(len(value)) :],
    )
    return drawn.choice(ways)()


def pieces(drawn: random.Random, text: str) -> Sequence[str]:
    """The text cut somewhere, or into its letters."""
    if drawn.random() < 0.5:
        return list(text)
    cuts = sorted(drawn.randint(0, len(text)) for _ in range(4))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _percent(drawn: random.Random, byte: int) -> str:
    if byte < 128 and drawn.random() < 0.5:
        return chr(byte)
    return f"%{byte:02X}" if drawn.random() < 0.5 else f"%{byte:02x}"


def _unit(letter: str) -> str:
    raw = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{raw[at : at + 4]}" for at in range(0, len(raw), 4))


def _base64(drawn: random.Random, value: str) -> str:
    before = bytes(drawn.randrange(256) for _ in range(drawn.randrange(80)))
    lines = base64.encodebytes(before + value.encode("utf-8", "surrogatepass") + b"zz" * drawn.randrange(40))
    return lines.decode().replace("\n", drawn.choice(BREAKS))


def _hex(drawn: random.Random, value: str) -> str:
    digits = (b"x" * drawn.randrange(30) + value.encode("utf-8", "surrogatepass")).hex()
    return drawn.choice(BREAKS).join(digits[at : at + 60] for at in range(0, len(digits), 60))
