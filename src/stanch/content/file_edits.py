"""What an edit makes of a stored text, and what a model is told where it cannot be made.

Settles that a model's edit is held against what the model may see, so that neither what it may replace nor a message
about it says anything of the rest. Does not settle how the text is kept (`file_writing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stanch.values.fault import BadFields

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after an edit, and where in it the pieces begin that are new."""

    text: str = field(repr=False)
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A text as whoever edits may see it: `text`, in which labels stand for what is `hidden` of the other one."""

    text: str = field(repr=False)
    hidden: tuple[tuple[int, int], ...] = ()


def edited(text: str, seen: Seen, old: str, new: str, *, everywhere: bool) -> Edited:
    """The text with `new` in the place of `old`, which is in it once, or is replaced `everywhere`.

    What is hidden of it stays as it is, and nothing that is raised or replaced tells of it. Raises `BadFields`.
    """
    if not old:
        raise BadFields(("old", "'old' is empty: say which text to replace"))
    if old == new:
        raise BadFields(("new", "'new' is the same as 'old': nothing would be changed"))
    visible = _places(seen.text, old, apart=everywhere)
    if not visible:
        raise BadFields(
            ("old", "'old' is not in the file: it has to be there letter for letter, with its spaces and line ends")
        )
    if len(visible) > 1 and not everywhere:
        lines = _lines(seen.text, visible)
        raise BadFields(
            ("old", f"'old' is in the file {len(visible)} times, at the lines {lines}: take in more, or set 'all'")
        )
    # INVARIANT: only what is seen is looked through: how often `old` is in what is hidden would tell what that is.
    places = [
        place
        for start, end in _open(text, seen.hidden)
        for place in _places(text[start:end], old, start, apart=everywhere)
    ]
    if len(places) != len(visible):
        raise BadFields(
            ("old", "'old' takes in a place where a secret was taken out of what you see: edit the text around it")
        )
    shift = len(new) - len(old)
    edges = [0, *(edge for place in places for edge in (place, place + len(old))), len(text)]
    kept = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    return Edited(new.join(kept), tuple(place + shift * count for count, place in enumerate(places)))


def line_of(before: str) -> int:
    """The number of the line, from 1, that the end of a text is in."""
    return before.count("\n") + 1


def _open(text: str, hidden: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What lies between the hidden places, each from where to where."""
    at = 0
    for start, end in hidden:
        yield at, start
        at = end
    yield at, len(text)


def _places(text: str, old: str, first: int = 0, *, apart: bool) -> list[int]:
    """Where `old` begins, the text itself at `first`; `apart`: of places that overlap, the first."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0:
        found.append(first + at)
        at = text.find(old, at + (len(old) if apart else 1))
    return found


def _lines(text: str, places: list[int]) -> str:
    told = ", ".join(str(line_of(text[:place])) for place in places[:_MOST_NAMED])
    return told + (", …" if len(places) > _MOST_NAMED else "")
