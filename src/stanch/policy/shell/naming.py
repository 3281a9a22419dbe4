"""Which names a word with wildcards stands for: what is there, and what the command itself has made before.

Settles the names and what follows where they are too many. Does not settle what is done to them
(`policy.shell.touching`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from stanch.policy.shell.outcome import Draft
from stanch.policy.shell.pieces import QUOTED, Lit, Piece, Spot, Under, Word, known
from stanch.policy.shell.state import State
from stanch.policy.shell.walk import Walk
from stanch.policy.shell.wildcards import expression, plain_tokens

MOST_NAMES = 400
_LOOPED = 6
_LONGEST = 1_000


def texts(run: Walk, word: Word, state: State) -> list[str]:
    """The names that a word with wildcards stands for; where there are none, the word as it is."""
    if not word.wild:
        return [word.text or ""]
    found: list[str] = []
    for cwd in state.cwds:
        names = run.world.names(word.parts, cwd, wide=state.wide)
        if names is None or len(names) > MOST_NAMES:
            run.note("a wildcard that stands for too many names")
            return [_before_wildcard(word)]
        found.extend(names)
    made = [name for name in _made(run, word, state) if name not in found]
    return list(dict.fromkeys([*found, *made])) or [word.text or ""]


def _before_wildcard(word: Word) -> str:
    return posixpath.dirname(re.split(r"[*?\[]", word.text or "", maxsplit=1)[0]) or "."


def _made(run: Walk, word: Word, state: State) -> list[str]:
    """Names that the command itself has made before, and that the wildcards would find."""
    paths = [*run.disk.written, *run.disk.links]
    if not paths:
        return []
    if any(wild and "[" in piece for piece, wild in word.parts):
        return paths
    tokens: list[str | None] = []
    for piece, wild in word.parts:
        tokens += plain_tokens(piece, "[^/]") if wild else [re.escape(char) for char in piece]
    if len(tokens) > _LONGEST:
        return paths
    test = re.compile(expression(tokens, "[^/]"))
    shorts = [(path, posixpath.relpath(path, cwd)) for path in paths for cwd in state.cwds]
    return [path for path, short in shorts if test.fullmatch(path) or test.fullmatch(short)]


def pieces_for(run: Walk, word: Word, state: State) -> list[Piece]:
    """What a loop over a word with wildcards runs over: pieces, one for each name."""
    names = texts(run, word, state)
    if len(names) > _LOOPED or run.notes:
        return [Under((Spot(_before_wildcard(word), state.cwds),))]
    return [Lit(text, QUOTED) for text in names]


def spread(run: Walk, words: Sequence[Word], state: State, draft: Draft) -> list[Word]:
    """The words with wildcards put in; a name that begins with a dash would be taken for an option."""
    found: list[Word] = []
    for word in words:
        if not word.wild:
            found.append(word)
            continue
        before = len(run.notes)
        names = texts(run, word, state)
        if len(run.notes) > before:
            run.notes.pop()
            found.append(Word(None, under=(Spot(names[0], state.cwds),), many=True))
            continue
        if any(name.startswith("-") for name in names) and not (word.text or "").startswith("-"):
            draft.say_unread("a wildcard that finds a name which begins with a dash")
        found.extend(known(name) for name in names)
    return found
