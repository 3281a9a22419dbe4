"""Text as a person is shown it: nothing in it is taken for markup, and nothing in it is out of sight.

Settles how invisible and bidirectional characters are marked, and how long texts are laid out in lines. Does not settle
which characters those are (`explain.visible`). INVARIANT: what was given comes out escaped, whoever wrote it.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from stanch.explain import visible

MOST_LINES = 2_000
MOST_CHARACTERS = 200_000
# So many empty lines in a row are shown as they are; more could push what comes after them out of sight.
_EMPTY = 3
_MORE = "more than is shown here; `stanch inbox list --json` prints all of it"
_MARK = Markup('<span class="odd" title="{}">{}</span>')


class Line(NamedTuple):
    """One line of a text: how it is meant (`add`, `del`, `at`, `file`, `note` or nothing), and its marked text."""

    kind: str
    text: Markup


def shown(text: str) -> Markup:
    """The text with each character that would not be seen written as an escape, and marked."""
    if text.isascii() and text.isprintable():
        return escape(text)
    return Markup("").join(_pieces(text))


def _pieces(text: str) -> Iterator[Markup]:
    plain: list[str] = []
    for char in text:
        said = visible(char)
        if said == char:
            plain.append(char)
            continue
        if plain:
            yield escape("".join(plain))
            plain.clear()
        yield _MARK.format(f"U+{ord(char):04X} {unicodedata.name(char, 'control character')}", said)
    if plain:
        yield escape("".join(plain))


def lines(text: str) -> list[Line]:
    """A command, or any other text of several lines."""
    return _bounded(text, ((Line("", _line(one))) for one in text[:MOST_CHARACTERS].split("\n")))


def diff_lines(diff: str, *, is_patch: bool = False) -> list[Line]:
    """A unified diff; or a patch in any form, which may hold several."""
    return _bounded(diff, _diff_lines(diff[:MOST_CHARACTERS].split("\n"), is_patch))


def _diff_lines(rows: list[str], is_patch: bool) -> Iterator[Line]:
    in_hunk = is_patch
    for row in rows:
        if is_patch and row.startswith(("*** ", "diff ", "--- ", "+++ ")):
            yield Line("file", _line(row))
        elif row.startswith("@@"):
            in_hunk = True
            yield Line("at", _line(row))
        elif row.startswith("…") and not is_patch:
            yield Line("note", _line(row))  # what `app.diffs` says itself: a line of a diff has a sign before it
        elif not in_hunk:
            yield Line("file", _line(row))
        else:
            yield Line({"+": "add", "-": "del"}.get(row[:1], ""), _line(row))


def _line(text: str) -> Markup:
    """One line; a tab stays one."""
    return Markup("\t").join(shown(piece) for piece in text.split("\t"))


def _bounded(text: str, found: Iterator[Line]) -> list[Line]:
    kept: list[Line] = []
    empty = 0
    for line in found:
        if not line.text.strip() and not line.kind:
            empty += 1
            if empty <= _EMPTY:
                kept.append(line)
            continue
        if empty > _EMPTY:
            kept.append(_note(f"{empty - _EMPTY} more empty lines"))
        empty = 0
        kept.append(line)
        if len(kept) >= MOST_LINES:
            kept.append(_note(_MORE))
            return kept
    if len(text) > MOST_CHARACTERS:
        kept.append(_note(_MORE))
    return kept


def _note(said: str) -> Line:
    return Line("note", escape(f"… {said}"))


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """A value as JSON that can be edited: what would not be seen in it is written as an escape of JSON."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=dict)
    return "".join(c if c == "\n" or visible(c) == c else json.dumps(c)[1:-1] for c in text)


def has_odd(value: Any) -> bool:
    """True where there is a character in it that would not be seen. Line ends and tabs are seen."""
    if isinstance(value, str):
        return any(visible(line) != line for line in value.replace("\t", " ").split("\n"))
    if isinstance(value, Mapping):
        return any(has_odd(one) for pair in value.items() for one in pair)
    return isinstance(value, (list, tuple)) and any(map(has_odd, value))
