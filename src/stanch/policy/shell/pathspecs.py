"""git's own way of naming paths: words with magic such as `:(top)docs`, and wildcards that git looks up itself.

Settles which places such a word may name. Does not settle what git does to them (`policy.shell.special`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from stanch.policy.shell.pieces import WILD, Spot, Word, known
from stanch.policy.shell.touching import is_there
from stanch.policy.shell.walk import Call

_MAGIC = re.compile(r":(?:\((?P<words>[^)]*)\)|(?P<signs>[/!^]+:?))(?P<path>.*)", re.DOTALL)
# A last name of which some name on the way down to what is found must be one: its star stands for no more than a part.
_PLAIN = re.compile(r"\*[^*?\[\]\\{}]*|[^*?\[\]\\{}]+\*?")
_MOST_UP = 40


def is_magic(text: str) -> bool:
    """True for a word that begins with git's own signs."""
    return _MAGIC.fullmatch(text) is not None


def is_looked_up(text: str) -> bool:
    """True for a word that git does not take for one path as it is written."""
    return is_magic(text) or not WILD.isdisjoint(text)


def is_left_out(text: str) -> bool:
    """True for a word that says what is not meant."""
    found = _MAGIC.fullmatch(text)
    return found is not None and (
        "exclude" in (found["words"] or "") or not {"!", "^"}.isdisjoint(found["signs"] or "")
    )


def are_all_left_out(words: Sequence[Word]) -> bool:
    """True where all that is said of paths is what is not meant: then all else is."""
    left_out = [word.text is not None and is_left_out(word.text) for word in words]
    return any(left_out) and all(left_out)


def may_be_one(call: Call, text: str) -> bool:
    """True for a word that is no branch: something of that name is there, or the directory that it would be in."""
    if is_magic(text) or is_there(call.run, text, call.state):
        return True
    if not WILD.isdisjoint(text):
        return "tag" not in call.use.verb.names
    folder = posixpath.dirname(text.rstrip("/"))
    return bool(folder) and is_there(call.run, folder, call.state)


def places(call: Call, word: Word) -> list[Word]:
    """The paths that the word may name; a wildcard stands for names below the directory before it."""
    if word.text is None:
        return [word]
    found = _MAGIC.fullmatch(word.text)
    if found is None:
        return [_looked_up(call, word.text, plain=True)]
    if is_left_out(word.text):
        return []
    said, path = found["words"] or "", found["path"] or "."
    paths = [path]
    if "top" in said or "/" in (found["signs"] or ""):
        paths += [posixpath.join(top, path) for top in _tops(call)]
    if "literal" in said:
        return [known(one) for one in paths]
    return [_looked_up(call, one, plain="icase" not in said) for one in paths]


def _looked_up(call: Call, text: str, *, plain: bool) -> Word:
    if plain and WILD.isdisjoint(text):
        return known(text)
    folder = posixpath.dirname(re.split(r"[*?\[]", text, maxsplit=1)[0]) if plain else ""
    last = posixpath.basename(text)
    only = last if plain and _PLAIN.fullmatch(last) else ""
    return Word(None, under=(Spot(folder or ".", call.state.cwds, only, "" if folder else "-"),))


def _tops(call: Call) -> list[str]:
    """The directories above in which a repository is."""
    found: list[str] = []
    for cwd in call.state.cwds:
        here = cwd
        for _ in range(_MOST_UP):
            if is_there(call.run, posixpath.join(here, ".git"), call.state):
                found.append(here)
            if here == posixpath.dirname(here):
                break
            here = posixpath.dirname(here)
    return found
