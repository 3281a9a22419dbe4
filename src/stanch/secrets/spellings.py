"""The texts that give a value away: the value, the same printed otherwise, and the long pieces that it is made of.

Settles what becomes of a value that has several lines or is a JSON document. Does not settle how any of these texts may
be encoded (`secrets.encodings`).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

LONG_PIECE = 16
"""How many characters a line or a JSON text within a value has at least, to be looked for by itself."""

_BREAK = re.compile(r"\r\n|\r|\n")
_ARMOUR = re.compile(r"-{4,}.*-{4,}")
_RULE = re.compile(r"([^\w\s])(?: ?\1)*")
"""A line that is drawn, such as one of number signs: every other text has the same."""
_JSON_BEGINS = ("{", "[")


def spellings(value: str) -> frozenset[str]:
    """The value and every other text that is looked for in its place; some may be too short to be of use."""
    found = {value, value.strip()}
    lines = _BREAK.split(value.strip())
    if len(lines) > 1:
        found |= _whole(lines) | _pieces(lines)
    if value.lstrip().startswith(_JSON_BEGINS):
        found |= set(_of_document(value))
    for text in tuple(found):
        if not text.isascii():
            found |= {unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}
    return frozenset(found)


def _whole(lines: list[str]) -> set[str]:
    """All of the lines, as they are and without their indentation, with every other way to print a line break."""
    bare = [line.strip() for line in lines]
    return {between.join(each) for each in (lines, bare) for between in ("\n", "\r\n", " ", r"\n")}


def _pieces(lines: list[str]) -> set[str]:
    """The lines that say something: long ones that are no armour, which is the same in every key."""
    return {line for line in map(str.strip, lines) if _says_something(line) and not _ARMOUR.fullmatch(line)}


def _says_something(text: str) -> bool:
    return len(text) >= LONG_PIECE and not _RULE.fullmatch(text)


def _of_document(value: str) -> Iterator[str]:
    """Of a value that is a JSON document: the document as other programs write it, and its long texts."""
    try:
        document = json.loads(value)
        yield json.dumps(document, ensure_ascii=False)
        yield json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        texts = list(_texts(document))
    except (ValueError, RecursionError):
        return
    for text in texts:
        if _says_something(text):
            yield text
        lines = _BREAK.split(text.strip())
        if len(lines) > 1:
            yield from _pieces(lines)


def _texts(document: Any) -> Iterator[str]:
    left = [document]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
