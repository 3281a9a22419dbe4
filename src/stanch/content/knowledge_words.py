"""Which words a text is found by.

Settles it once for both databases, for what is kept and for what is asked, so that both find the same. Does not settle
where words are looked up (`storage.content_knowledge_chunks`).
WHY whole words only: whoever could ask for a beginning could spell out a secret letter by letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LONGEST = 60
# Scripts that put no blank between words: each character is one.
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Signs that belong to the letter before them, which Python takes for no part of a word.
_SIGNS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0963\u0966-\u0dff"
)
_WORD = re.compile(f"[{_ALONE}]|(?:[^\\W_{_ALONE}]|[{_SIGNS}])+")


def spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Each word of a text as it is looked up, with where it starts and ends. A word has `a` to `z`, `0` to `9`, `_`."""
    for found in _WORD.finditer(text):
        yield _word(found.group()), found.start(), found.end()


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in their order."""
    return tuple(word for word, _, _ in spans(text))


def _word(written: str) -> str:
    """A word whatever its case and however its letters are written; what is not ASCII as the digits of its bytes."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", written).casefold())[:LONGEST]
    return plain if plain.isascii() and plain.isalnum() else f"_{plain.encode('utf-8', 'surrogatepass').hex()}"
