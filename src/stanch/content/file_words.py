"""Words in names and texts.

Settles what a word is, and that only whole ones are found. WHY whole: whoever may ask for parts of words can spell out,
letter by letter, a word of a text that they may not see.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from stanch.values.fault import BadFields

MOST_WORDS = 20
_WORD = re.compile(r"\w+")


def words_of(query: str) -> frozenset[str]:
    """The words of a query. Raises `BadFields` where there is none, or too many."""
    found = frozenset(_WORD.findall(_plain(query)))
    if not 1 <= len(found) <= MOST_WORDS:
        raise BadFields(("query", f"'query' has 1 to {MOST_WORDS} words"))
    return found


def in_name(path: str, words: frozenset[str]) -> bool:
    """True where all of the words are in a path, `_` and `-` being between words there."""
    return words <= set(_WORD.findall(_plain(path).replace("_", " "))) | set(_WORD.findall(_plain(path)))


def place_of_words(text: str, words: frozenset[str]) -> int | None:
    """Where the first of the words begins in a text that has all of them; else None."""
    plain = _plain(text)
    if not all(word in plain for word in words):
        return None
    left, first = set(words), None
    for line_start, line in _lines(text):
        for match in _WORD.finditer(line):
            word = _plain(match.group())
            if word in words:
                first = line_start + match.start() if first is None else first
                left.discard(word)
        if not left:
            return first
    return None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with the place where it begins."""
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
