"""A tool's result taken apart into lines, each with the file that it came from.

Settles whose line is whose. INVARIANT: the file that a line did come from is always among the tags of that line, or the
whole result is in doubt; so text of one file is never said to be another's alone. That a line of a file looks as if it
came from another one adds a tag, and takes none away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from stanch.tiers.tag_shapes import Look, ResultShape
from stanch.values.message import Tags

Resolve = Callable[[str], Tags]
"""The files that a name in a result can stand for, all below what was searched; none where it stands for none."""

# ABSENT: a name that holds a line break. Its second half begins a line, and can look like any other name.
MOST_READINGS = 16
# WHY ahead: in `a:1:2:3` there are two places where a number may begin.
_NUMBERED, _PLAIN = re.compile(r":(?=\d+:)"), re.compile(":")
_NUMBERED_AROUND, _PLAIN_AROUND = re.compile(r"-(?=\d+-)"), re.compile("-")
_COUNT = re.compile(r"(?P<path>.+):\d+")
_GAP = "--"


class Doubt(Exception):
    """A line that nobody can say the file of."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a result: its place in the text, without the break behind it."""

    start: int
    end: int
    text: str


Placed = tuple[Line, Tags]


def spans(text: str, shape: ResultShape, resolve: Resolve, whole: Tags, *, numbered: bool) -> Tags | None:
    """A tag with its span for each line; None where the whole result is in doubt.

    `whole` are the tags of all that was searched, for a line that may be of any of it.
    """
    try:
        match shape.look:
            case Look.NAMES | Look.COUNTS:
                found = list(_names(text, shape, resolve))
            case Look.TREE:
                found = list(_tree(text, shape, resolve))
            case Look.HEADED:
                found = list(_headed(text, shape, resolve))
            case Look.LINES:
                found = list(_lines(text, shape, resolve, whole, numbered=numbered))
            case _:
                return None
    except Doubt:
        return None
    return tuple(replace(tag, span=span) for span, tags in _merged(found) for tag in tags)


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a text. Only a line feed ends one: all other breaks may stand in a file's own line."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield Line(start, end, text[start:end])
        start = end + 1


def _merged(found: Sequence[Placed]) -> Iterator[tuple[tuple[int, int], Tags]]:
    """Lines of the same files that follow one another, as one span, with the line breaks between them."""
    for tags, placed in groupby(found, key=lambda one: one[1]):
        if tags:
            lines = [line for line, _ in placed]
            yield (lines[0].start, lines[-1].end), tags


def _said(line: Line, shape: ResultShape) -> bool:
    plain = line.text.removesuffix("\r")
    return not plain or shape.is_note(plain)


def _needed(tags: Tags) -> Tags:
    if not tags:
        raise Doubt
    return tags


def _names(text: str, shape: ResultShape, resolve: Resolve) -> Iterator[Placed]:
    pattern = _COUNT if shape.look is Look.COUNTS else shape.line
    for line in lines_of(text):
        if _said(line, shape):
            yield line, ()
            continue
        plain = line.text.removesuffix("\r")
        found = pattern.fullmatch(plain) if pattern is not None else None
        if pattern is not None and found is None:
            raise Doubt
        yield line, _needed(resolve(found["path"] if found is not None else plain))


def _tree(text: str, shape: ResultShape, resolve: Resolve) -> Iterator[Placed]:
    above: list[tuple[int, str]] = []
    for line in lines_of(text):
        found = None if _said(line, shape) or shape.line is None else shape.line.fullmatch(line.text)
        if found is None:
            if not _said(line, shape):
                raise Doubt
            yield line, ()
            continue
        depth = len(found["indent"])
        while above and above[-1][0] >= depth:
            above.pop()
        name = f"{above[-1][1]}/{found['path']}" if above else found["path"]
        if len(above) > 200 or len(name) > 8192:
            raise Doubt
        above.append((depth, name.rstrip("/") or "/"))
        yield line, _needed(resolve(name))


def _headed(text: str, shape: ResultShape, resolve: Resolve) -> Iterator[Placed]:
    current: Tags = ()
    for line in lines_of(text):
        if shape.line is not None and current and shape.line.match(line.text):
            yield line, current
        elif _said(line, shape):
            yield line, ()
        else:
            found = shape.heading.fullmatch(line.text.removesuffix("\r")) if shape.heading is not None else None
            if found is None:
                raise Doubt
            current = _needed(resolve(found["path"]))
            yield line, current


def _lines(text: str, shape: ResultShape, resolve: Resolve, whole: Tags, *, numbered: bool) -> Iterator[Placed]:
    group: list[Line] = []
    for line in lines_of(text):
        group.append(line)
        if line.text == _GAP:
            yield from _group(group, shape, resolve, whole, numbered=numbered)
            group = []
    yield from _group(group, shape, resolve, whole, numbered=numbered)


def _group(
    group: Sequence[Line], shape: ResultShape, resolve: Resolve, whole: Tags, *, numbered: bool
) -> Iterator[Placed]:
    """Lines between two gaps: those that were found, and around them others of the same files."""
    mark, around = (_NUMBERED, _NUMBERED_AROUND) if numbered else (_PLAIN, _PLAIN_AROUND)
    read = [(line, None if line.text == _GAP or _said(line, shape) else _readings(line.text, mark)) for line in group]
    names = {name for _, readings in read for name in readings or ()}
    sizes = {len(name) for name in names}
    for line, readings in read:
        if readings is None:
            yield line, ()
            continue
        ends = [found.start() for found in around.finditer(line.text) if found.start() in sizes]
        if len(ends) > MOST_READINGS or len(readings) > MOST_READINGS:
            yield line, whole
            continue
        others = [line.text[:end] for end in ends if line.text[:end] in names]
        candidates = list(dict.fromkeys([*readings, *others]))
        if not candidates:
            raise Doubt
        _needed(resolve(min(candidates, key=len)))
        yield line, tuple(dict.fromkeys(tag for name in candidates for tag in resolve(name)))


def _readings(text: str, mark: re.Pattern[str]) -> list[str]:
    """All that the line's file could be called, one more than are looked at where there are more."""
    found = islice(mark.finditer(text), MOST_READINGS + 1)
    return [text[: one.start()] for one in found if one.start()]
