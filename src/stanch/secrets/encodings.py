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
from html.entities import codepoint2name
from itertools import combinations
from urllib.parse import quote, quote_plus, unquote

from stanch.secrets.spellings import spellings

FLOOR = 8
"""How many characters a value has at least to be looked for in texts, and how many bytes each of its forms."""

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_UNQUOTED = re.compile(r"([^\w@%+=:,./-])", re.ASCII)
_UNQUOTED_BY_BASH = re.compile(r"[^\w@%+=:./#~-]|(?<=[=:])~", re.ASCII)
_QUOTES = re.compile("'+")
_IN_DOUBLE_QUOTES = re.compile(r'(["$`\\])')
_MARKUP = re.compile("[<>&]")
_ESCAPED = (frozenset('"'), frozenset("\\"), frozenset("\b\f\n\r\t"))
"""Three kinds of what JSON has a short escape for; a program writes all of one kind in one way."""
_ALL_ESCAPED = frozenset[str]().union(*_ESCAPED)
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
        # WHY not space: a document may hold nothing else in one of its texts, and every indentation is that.
        if len(text) < FLOOR or (text.isspace() and text != value):
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
        if len(undone) >= FLOOR and not undone.isspace():
            yield undone


def _in_json(text: str) -> Iterator[str]:
    """As a string in JSON, and as one in JSON in JSON."""
    plain = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    plain |= {one.replace("/", "\\/") for one in plain}
    plain |= {_MARKUP.sub(_unit, one) for one in plain} | {_MARKUP.sub(_large_unit, one) for one in plain}
    for one in plain | {_as_net_does(text)}:
        yield one
        yield json.dumps(one)[1:-1]
    # Of what JSON has a short escape for, a program may write some as units all the same: a reading has those as they
    # are (`secrets.escapes`), and the others still escaped.
    for left in _some(["".join(kind & set(text)) for kind in _ESCAPED]):
        for times in (1, 2):
            some = text.translate({ord(one): _escaped(one, times) for one in _ALL_ESCAPED - set(left)})
            yield some
            yield some.replace("/", "\\/" if times == 1 else "\\\\/")


def _as_net_does(text: str) -> str:
    # WHY whole, and not by undoing its units: a backslash right before one would be taken for a part of it.
    return _UNITS.sub(_units, text.translate(_NET))


def _units(found: re.Match[str]) -> str:
    raw = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[at : at + 2].hex().upper()}" for at in range(0, len(raw), 2))


def _some(kinds: list[str]) -> Iterator[str]:
    """The letters of some of these kinds, not of all."""
    there = [kind for kind in kinds if kind]
    for count in range(1, len(there)):
        yield from map("".join, combinations(there, count))


def _escaped(letter: str, times: int) -> str:
    for _ in range(times):
        letter = json.dumps(letter, ensure_ascii=False)[1:-1]
    return letter


_NET = {ord(one): _escaped(one, 1) for one in _ALL_ESCAPED} | {ord(one): f"\\u{ord(one):04X}" for one in "\"&'+<>`"}
"""How .NET writes signs of ASCII in JSON. All letters that are not of ASCII it writes as units."""
_UNITS = re.compile(r"[^\x00-\x7f]")


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
    named = "".join(f"&{codepoint2name[ord(one)]};" if ord(one) in codepoint2name else one for one in text)
    yield named
    yield named.replace("&quot;", '"')
    for double in ("&quot;", "&#34;"):
        for single in ("&#x27;", "&#39;", "&apos;"):
            yield escaped.replace("&quot;", double).replace("&#x27;", single)


def _in_shells(text: str) -> Iterator[str]:
    yield text.replace("'", "'\\''")
    yield text.replace("'", "'\"'\"'")
    yield _QUOTES.sub(lambda found: f"'\"{found[0]}\"'", text)
    yield _UNQUOTED.sub(r"\\\1", text)
    yield _UNQUOTED_BY_BASH.sub(r"\\\g<0>", text)
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
