"""The forms of a value: what a program may print where it means that value, as bytes.

Settles which encodings are known, and that a form has at least eight bytes. What is not listed here is not found:
base32, reversal, other letter case, full-width letters, UTF-16, a value that is spelled out in pieces. Escapes in which
a program may choose freely what it escapes are undone on the side of the text instead (`secrets.escapes`).
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote

from stanch.secrets.spellings import spellings

FLOOR = 8
"""How many characters a value has at least to be looked for in texts, and how many bytes each of its forms."""

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_UNQUOTED = re.compile(r"([^\w@%+=:,./-])", re.ASCII)
_IN_DOUBLE_QUOTES = re.compile(r'(["$`\\])')
_MARKUP = re.compile("[<>&]")
_PERCENT = re.compile("%..")
_LEFT_ALONE = ("", "/", "/:", "!'()*~", "/!'()*~:@$&+,;=?#")
"""What programs do not percent-escape besides letters, digits and `-._~`: all of these are in use."""


def encoded(text: str) -> bytes:
    """The text in UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def forms(value: str) -> dict[bytes, bool]:
    """Every form of the value; True for those that programs break into lines. Empty for a value below the floor."""
    if len(value) < FLOOR:
        return {}
    found: dict[bytes, bool] = {}
    for text in spellings(value):
        if len(text) < FLOOR:
            continue
        for form in _as_text(text):
            found.setdefault(encoded(form), False)
        for raw in _as_code(encoded(text)):
            if len(raw) >= FLOOR:
                found[raw] = True
    return found


def _as_text(text: str) -> Iterator[str]:
    yield text
    yield from _in_json(text)
    yield from _in_urls(text)
    yield from _in_markup(text)
    yield from _in_shells(text)
    yield repr(text)[1:-1]
    yield from _meant(text)


def _meant(text: str) -> Iterator[str]:
    """What a value that holds escapes itself reads as, once they are undone."""
    for undone in (unquote(text), html.unescape(text)):
        if len(undone) >= FLOOR:
            yield undone


def _in_json(text: str) -> Iterator[str]:
    """As a string in JSON, and as one in JSON in JSON."""
    plain = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    plain |= {one.replace("/", "\\/") for one in plain}
    plain |= {_MARKUP.sub(_unit, one) for one in plain} | {_MARKUP.sub(_large_unit, one) for one in plain}
    for one in plain:
        yield one
        yield json.dumps(one)[1:-1]


def _unit(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _large_unit(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"


def _in_urls(text: str) -> Iterator[str]:
    raw = encoded(text)
    for form in {*(quote(raw, safe=safe) for safe in _LEFT_ALONE), quote_plus(raw), text.replace(" ", "+")}:
        yield form
        yield _PERCENT.sub(lambda found: found[0].lower(), form)


def _in_markup(text: str) -> Iterator[str]:
    yield html.escape(text, quote=False)
    escaped = html.escape(text)
    for double in ("&quot;", "&#34;"):
        for single in ("&#x27;", "&#39;", "&apos;"):
            yield escaped.replace("&quot;", double).replace("&#x27;", single)


def _in_shells(text: str) -> Iterator[str]:
    yield text.replace("'", "'\\''")
    yield text.replace("'", "'\"'\"'")
    yield _UNQUOTED.sub(r"\\\1", text)
    yield _IN_DOUBLE_QUOTES.sub(r"\\\1", text)
    yield text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")


def _as_code(raw: bytes) -> Iterator[bytes]:
    """In hex and in base64, whatever stands before and behind it there."""
    digits = raw.hex().encode()
    yield digits
    yield digits.upper()
    for before in range(3):
        # Letters that also depend on a neighbour are left out: at most eight bits at each end stay to be seen.
        first, last = (0, 2, 3)[before], (before + len(raw)) * 8 // 6
        letters = base64.b64encode(bytes(before) + raw)[first:last]
        yield letters
        yield letters.translate(_URL_SAFE)
