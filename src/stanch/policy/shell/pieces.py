"""What a word of a command comes to: text that is known, holes, and names of files that lie below some directory.

Settles the records and how pieces become words: braces, splitting, wildcards. Does not settle what a variable or a
substitution holds (`policy.shell.expanding`), nor what a word means to a command (`policy.shell.operands`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from typing import NamedTuple

BARE, QUOTED, SPLIT = 0, 1, 2
MOST_WORDS = 1_000
MOST_BRACES = 40
WILD = frozenset("*?[")


class Lit(NamedTuple):
    """Known text. `kind`: as it stands in the source (wildcards count), quoted (nothing counts), or put in for a
    variable or substitution (blanks split it and wildcards count).
    """

    text: str
    kind: int = BARE


class Hole(NamedTuple):
    """Text that nobody knows before the command runs, and why.

    `quoted`: it is one word whatever it holds. `plain`: one word without blanks, slashes, wildcards or a leading dash.
    """

    why: str
    quoted: bool = False
    plain: bool = False


class Spot(NamedTuple):
    """A path as written, and the directories it may be read against. `only`: names below it that fit this glob.

    `splits` are the characters at which a name falls into several words by the time it is used, see `Found`. `files`:
    none of the names is a link.
    """

    path: str
    bases: tuple[str, ...]
    only: str = ""
    splits: str = ""
    files: bool = False


class Under(NamedTuple):
    """The name of a file that lies at or below one of these places: what a search prints, and what `{}` stands for."""

    spots: tuple[Spot, ...]


def split_at(under: Under, characters: str) -> Under:
    """The same name where it falls apart at these characters, too."""
    spots = (spot._replace(splits="".join(sorted({*spot.splits, *characters}))) for spot in under.spots)
    return Under(tuple(spots))


class Pattern(NamedTuple):
    """An extended glob, which stands for any name."""

    text: str


class Break(NamedTuple):
    """The border between two words of a list such as `"$@"`."""


Piece = Lit | Hole | Under | Pattern | Break
Value = tuple[Piece, ...]
"""What a variable may hold."""


class Word(NamedTuple):
    """One word of a command.

    `text` is the word where it is known, None where it is not; `head` what is known of its beginning. `parts` are its
    pieces of text with whether wildcards count in them; `wild` is true where some do. `under` are the places that it
    stands below. `why` says what is not known. `many`: it may be any number of words. `plain`: see `Hole`.
    """

    text: str | None
    head: str = ""
    parts: tuple[tuple[str, bool], ...] = ()
    wild: bool = False
    under: tuple[Spot, ...] = ()
    why: str = ""
    many: bool = False
    plain: bool = False

    @property
    def shown(self) -> str:
        """The word as a person is shown it."""
        if self.text is not None:
            return quoted(self.text)
        return f"{self.head}{{…}}" if self.under else f"{self.head}…"


_SAFE = re.compile(r"[\w@%+=:,./*?\[\]{}~^-]+")


def quoted(text: str) -> str:
    """The text as it may stand in a command."""
    if _SAFE.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def known(text: str) -> Word:
    """A word that is known and in which no wildcard counts."""
    return Word(text, text, ((text, False),))


def words_of(pieces: Sequence[Piece]) -> list[Word]:
    """The words that the pieces come to: split at blanks of what was put in, never within what stands in the source."""
    found: list[Word] = []
    here: list[Piece] = []
    open_word = False
    for piece in pieces:
        if isinstance(piece, Break):
            found.append(_word(here))
            here, open_word = [], False
        elif isinstance(piece, Lit) and piece.kind == SPLIT:
            first, *more = re.split(r"[ \t\n]+", piece.text)
            if first:
                here.append(Lit(first, SPLIT))
                open_word = True
            for text in more:
                if open_word:
                    found.append(_word(here))
                here, open_word = ([Lit(text, SPLIT)], True) if text else ([], False)
        else:
            here.append(piece)
            open_word = True
    if open_word:
        found.append(_word(here))
    return found


def _word(pieces: Sequence[Piece]) -> Word:
    parts: list[tuple[str, bool]] = []
    head, sure, many, why, plain = "", True, False, "", True
    wild = False
    under: tuple[Spot, ...] = ()
    for piece in pieces:
        if isinstance(piece, Lit):
            counts = piece.kind != QUOTED
            parts.append((piece.text, counts))
            wild = wild or (counts and not WILD.isdisjoint(piece.text))
            if sure:
                head += piece.text
        elif isinstance(piece, Pattern):
            parts.append(("*", True))
            wild = True
            if sure:
                head += piece.text
        elif isinstance(piece, Under):
            sure, under = False, under + piece.spots
        elif isinstance(piece, Hole):
            sure, why = False, why or piece.why
            many = many or not (piece.quoted or piece.plain)
            plain = plain and piece.plain
    if sure:
        return Word("".join(text for text, _ in parts), head, tuple(parts), wild)
    if under:
        return _below(pieces, head, under, why)
    return Word(None, head, tuple(parts), False, (), why or "a word that is not known", many, plain)


def _below(pieces: Sequence[Piece], head: str, under: tuple[Spot, ...], why: str) -> Word:
    """A name below some places, with an ending perhaps (`$f.bak`); with more about it, nobody knows what it names."""
    after = "".join(piece.text for piece in pieces if isinstance(piece, Lit))
    starts = isinstance(pieces[0], Under)
    if starts and not why and "/" not in after and ".." not in after and sum(type(p) is Under for p in pieces) == 1:
        return Word(None, "", (), False, under, "", False, False)
    return Word(None, head, (), False, (), why or "a name made from another name", False, False)


def braces(pieces: Sequence[Piece]) -> list[tuple[Piece, ...]]:
    """Every sequence that the braces in the source's own text stand for, in order; at most `MOST_WORDS` of them."""
    if not any(isinstance(piece, Lit) and piece.kind == BARE and "{" in piece.text for piece in pieces):
        return [tuple(pieces)]
    if sum(piece.text.count("{") for piece in pieces if isinstance(piece, Lit) and piece.kind == BARE) > MOST_BRACES:
        return [(Hole("braces that stand for too many words"),)]
    atoms: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Lit) and piece.kind == BARE:
            atoms.extend(Lit(char) for char in piece.text)
        else:
            atoms.append(piece)
    return [_joined(found) for found in _braces(atoms)]


def _braces(atoms: list[Piece]) -> list[list[Piece]]:
    for start, atom in enumerate(atoms):
        if not _is(atom, "{"):
            continue
        end, commas = _closing(atoms, start)
        if end < 0:
            continue
        inside = atoms[start + 1 : end]
        choices: list[list[Piece]] = []
        if commas:
            borders = [start, *commas, end]
            for one, other in pairwise(borders):
                choices.extend(_braces(atoms[one + 1 : other]))
        else:
            choices = _sequence(inside)
        if not choices:
            continue
        rest = _braces(atoms[end + 1 :])
        if len(choices) * len(rest) > MOST_WORDS:
            return [[Hole("braces that stand for too many words")]]
        return [[*atoms[:start], *choice, *tail] for choice, tail in product(choices, rest)]
    return [atoms]


def _closing(atoms: list[Piece], start: int) -> tuple[int, list[int]]:
    depth = 0
    commas: list[int] = []
    for place in range(start, len(atoms)):
        if _is(atoms[place], "{"):
            depth += 1
        elif _is(atoms[place], "}"):
            depth -= 1
            if depth == 0:
                return place, commas
        elif depth == 1 and _is(atoms[place], ","):
            commas.append(place)
    return -1, []


_RANGE = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?")


def _sequence(inside: list[Piece]) -> list[list[Piece]]:
    if not all(isinstance(atom, Lit) for atom in inside):
        return []
    found = _RANGE.fullmatch("".join(atom.text for atom in inside if isinstance(atom, Lit)))
    if found is None or found[1].isalpha() != found[2].isalpha():
        return []
    letters = found[1].isalpha()
    first, last = (ord(found[1]), ord(found[2])) if letters else (int(found[1]), int(found[2]))
    step = max(1, abs(int(found[3] or 1)))
    if abs(last - first) // step >= MOST_WORDS:
        return [[Hole("braces that stand for too many words")]]
    width = 0 if letters else max(len(text) for text in found.groups()[:2] if text[:1] in "-0" or text) * _padded(found)
    numbers = range(first, last + (1 if last >= first else -1), step if last >= first else -step)
    return [[Lit(chr(n) if letters else str(n).zfill(width))] for n in numbers]


def _padded(found: re.Match[str]) -> bool:
    return any(re.fullmatch(r"-?0\d+", text) for text in found.groups()[:2])


def _is(atom: Piece, char: str) -> bool:
    return isinstance(atom, Lit) and atom.kind == BARE and atom.text == char


def _joined(atoms: Iterable[Piece]) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for atom in atoms:
        last = found[-1] if found else None
        if isinstance(atom, Lit) and isinstance(last, Lit) and atom.kind == last.kind == BARE:
            found[-1] = Lit(last.text + atom.text)
        else:
            found.append(atom)
    return tuple(found)
