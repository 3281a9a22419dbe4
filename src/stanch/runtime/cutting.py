"""Cutting a text that is too long for a model.

Settles what is left out: the middle, since the beginning says what it is and the end how it came out. Does not settle
how much a tool may show.
"""

from __future__ import annotations

from dataclasses import replace

from stanch.values.message import SourceTag, Tags

# How far a cut moves to fall between two lines, where what is kept is long enough for that.
_NEAR = 2_000


def cut(text: str, most: int) -> str:
    """The text, with its middle left out and a note in the place of it where there are more than `most` characters.

    What comes out has no more than `most` characters, unless the note alone has more.
    """
    return cut_tagged(text, (), most)[0]


def cut_tagged(text: str, tags: Tags, most: int) -> tuple[str, Tags]:
    """The cut text, and the tags with their spans where the same characters now stand.

    A tag of which no character is left is dropped; one without a span is kept as it is. A span that begins before the
    note and ends behind it holds the note.
    """
    missing = left_out(text, most)
    if missing is None:
        return text, tags
    head, tail = missing
    note = f"[… {tail - head:,} characters left out …]"
    if head and text[head - 1] == "\n":
        note += "\n"
    shift = head + len(note) - tail
    kept = tuple(moved for tag in tags if (moved := _moved(tag, head, tail, shift)) is not None)
    return text[:head] + note + text[tail:], kept


def left_out(text: str, most: int) -> tuple[int, int] | None:
    """Where what a cut leaves out begins and ends; None where it leaves out nothing.

    Both lie between two lines, where there is a line's end close by.
    """
    if len(text) <= most:
        return None
    room = max(0, most - len(f"[… {len(text):,} characters left out …]\n"))
    head, tail = room - room // 2, len(text) - room // 2
    near = min(_NEAR, room // 4)
    begin = text.rfind("\n", max(0, head - near), head) + 1
    end = text.find("\n", tail - 1, tail + near) + 1 if room // 2 > 0 else 0
    # WHY both or none: a half line in front of the note would seem to go on behind it.
    return (begin, end) if begin and 0 < end < len(text) else (head, tail)


def _moved(tag: SourceTag, head: int, tail: int, shift: int) -> SourceTag | None:
    if tag.span is None:
        return tag
    start, end = tag.span
    start = start if start < head else max(start, tail) + shift
    end = end if end <= head else head if end <= tail else end + shift
    return replace(tag, span=(start, end)) if start < end else None
