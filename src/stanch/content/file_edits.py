"""What an edit makes of a stored text, and what a model is told where it cannot be made.

Settles that a model's edit is held against what the model may see, so that neither what it may replace nor a message
about it says anything of the rest. Does not settle how the text is kept (`file_writing`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stanch.values.fault import BadFields

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after an edit, and where in it the pieces begin that are new."""

    text: str = field(repr=False)
    places: tuple[int, ...]


def edited(text: str, seen: str, old: str, new: str, *, everywhere: bool) -> Edited:
    """The text with `new` in the place of `old`, which is in it once, or is replaced `everywhere`.

    `seen` is the text as whoever edits may see it. Raises `BadFields`, whose words are about `seen` alone.
    """
    if not old:
        raise BadFields(("old", "'old' is empty: say which text to replace"))
    if old == new:
        raise BadFields(("new", "'new' is the same as 'old': nothing would be changed"))
    visible = _places(seen, old, apart=everywhere)
    if not visible:
        raise BadFields(
            ("old", "'old' is not in the file: it has to be there letter for letter, with its spaces and line ends")
        )
    if len(visible) > 1 and not everywhere:
        lines = _lines(seen, visible)
        raise BadFields(
            ("old", f"'old' is in the file {len(visible)} times, at the lines {lines}: take in more, or set 'all'")
        )
    places = _places(text, old, apart=everywhere)
    if len(places) != len(visible):
        raise BadFields(
            ("old", "'old' takes in a place where a secret was taken out of what you see: edit the text around it")
        )
    shift = len(new) - len(old)
    return Edited(text.replace(old, new), tuple(place + shift * count for count, place in enumerate(places)))


def line_of(before: str) -> int:
    """The number of the line, from 1, that the end of a text is in."""
    return before.count("\n") + 1


def _places(text: str, old: str, *, apart: bool) -> list[int]:
    """Where `old` begins; `apart`: of places that overlap, the first."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + (len(old) if apart else 1))
    return found


def _lines(text: str, places: list[int]) -> str:
    told = ", ".join(str(line_of(text[:place])) for place in places[:_MOST_NAMED])
    return told + (", …" if len(places) > _MOST_NAMED else "")
