"""Two texts of one item: what a model gets of it, and what it is.

Settles how each is laid out, and that labels in what a model gets stand out. Does not settle what either holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from markupsafe import Markup

from stanch.surfaces.console.cutting import Cut, cut, whole
from stanch.surfaces.console.showing import Line, as_json, shown

FEW_LINES = 60
SOME_LINES = 400
_LABEL = re.compile(r"\{\{[A-Za-z_][A-Za-z0-9_]{0,127}\}\}")
_MARK = Markup('<mark class="withheld">{}</mark>')


class Sides(NamedTuple):
    """What a model gets, None where nothing, with why; and what it is, None where nobody asked for that."""

    got: Cut | None
    why: str = ""
    stored: Cut | None = None

    @property
    def is_cut(self) -> bool:
        """True where there is more than is shown."""
        return any(one is not None and one.is_cut for one in (self.got, self.stored))


def got(text: str, most: int | None = FEW_LINES) -> Cut:
    """A text as a model gets it, its labels marked; None for as many lines as a page can hold."""
    found = stored(text, most)
    return found._replace(lines=[Line(one.kind, _marked(one.text)) for one in found.lines])


def stored(text: str, most: int | None = FEW_LINES) -> Cut:
    """A text as it is."""
    text = text.removesuffix("\n")
    return whole(text) if most is None else cut(text, most)


def written(value: Any) -> str:
    """A value as a text: a text as it is, anything else as JSON; lines of a log below each other."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return as_json(value)


def cell(value: Any) -> str:
    """A cell on one line."""
    return "" if value is None else value if isinstance(value, str) else as_json(value, indent=None)


def marked(text: str) -> Markup:
    """A text of one line with its labels marked."""
    return _marked(shown(text))


def _marked(line: Markup) -> Markup:
    """Braces stay what they are where a text is escaped."""
    pieces: list[Markup] = []
    at = 0
    for found in _labels(line):
        pieces.append(Markup(line[at : found.start()]))  # noqa: S704 - a piece of what is escaped already
        pieces.append(_MARK.format(Markup(found[0])))  # noqa: S704 - letters and braces
        at = found.end()
    pieces.append(Markup(line[at:]))  # noqa: S704 - as above
    return Markup("").join(pieces)


def _labels(line: Markup) -> Iterable[re.Match[str]]:
    return _LABEL.finditer(str(line))
