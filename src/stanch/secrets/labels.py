"""What stands in the place of a secret: its name between two marks, or something that says nothing.

Settles that what stands there neither holds a secret nor completes one, whatever is beside it. That is why a projected
text has nothing left to find, and why projecting it again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from stanch.secrets.anchors import Forms
from stanch.secrets.encodings import encoded

_NAME = "[A-Za-z0-9_.-]"
_PLAIN_NAME = re.compile(_NAME + "{1,200}")
OPAQUE = "secret"


class Marks(NamedTuple):
    """What a label opens and closes with."""

    opening: str
    closing: str


PAIRS = (Marks("{{", "}}"), Marks("⟦", "⟧"), Marks("⟪", "⟫"), Marks("❰", "❱"))
"""The marks, in the order in which they are tried."""


def _meeting(marks: Marks) -> re.Pattern[bytes]:
    """What a form looks like that overlaps a label with these marks, over either edge or both."""
    opening, closing = map(re.escape, marks)
    name = _NAME + "*"
    half_open, half_closed = (f"(?:{re.escape(text[:1])})" if len(text) > 1 else "(?!)" for text in marks)
    ends = rf"(?:{opening}{name}(?:{half_closed})?|{half_open})\Z"
    begins = rf"\A(?:{half_closed}|(?:{half_open})?{name}{closing})"
    return re.compile(encoded(f"{opening}{name}{closing}|{ends}|{begins}"))


_MEETING = tuple(_meeting(marks) for marks in PAIRS)
_ANY = tuple((encoded(marks.opening[0]), encoded(marks.closing[0])) for marks in PAIRS)


class LabelledForms(Protocol):
    """Some forms, and the marks whose labels none of them can overlap."""

    forms: Forms
    clear: frozenset[Marks]


def clear_of(forms: Collection[bytes]) -> frozenset[Marks]:
    """The marks whose labels none of the forms can overlap."""
    return frozenset(
        marks
        for marks, meeting, (first, last) in zip(PAIRS, _MEETING, _ANY, strict=True)
        if not any(meeting.search(form) for form in forms if first in form or last in form)
    )


class Labels:
    """The labels of some secrets. Never changes, but for what it remembers."""

    __slots__ = ("_forms", "_holds", "_made", "_marks")

    def __init__(self, forms: Sequence[LabelledForms], holds: Callable[[bytes], object]) -> None:
        """`holds` says whether any form occurs in a text."""
        self._forms = forms
        self._marks = [marks for marks in PAIRS if all(marks in one.clear for one in forms)]
        self._holds = holds
        self._made: dict[str, str] = {}

    def of(self, name: str) -> str:
        """What stands in the place of this secret."""
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(name)
        return made

    def _make(self, name: str) -> str:
        for text in (name, OPAQUE) if _PLAIN_NAME.fullmatch(name) else (OPAQUE,):
            for marks in self._marks:
                label = f"{marks.opening}{text}{marks.closing}"
                if not self._holds(encoded(label)):
                    return label
        return self._lone()

    def _lone(self) -> str:
        """One character that stands in no form. There is one: forms are fewer than characters."""
        used = {letter for one in self._forms for form in one.forms for letter in form.decode("utf-8", "surrogatepass")}
        return next(letter for letter in map(chr, range(0x2588, 0x110000)) if letter not in used)
