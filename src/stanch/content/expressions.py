"""Searching lines for a regular expression that a model wrote, in time that goes with the text.

Settles which line matches, and where. Does not settle what is searched.
WHY RE2: the standard library can be kept busy for years by a line of ten letters. Where RE2 is not installed, only a
pattern that means itself is searched for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from stanch.values.fault import BadFields

MOST_PATTERN = 4_096
_MEMORY = 1 << 20
_LOOK = 1_000
_SPECIAL = frozenset(".^$*+?{}[]\\|()")
Search = Callable[[str], int | None]


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matches: its number from 1, its text, and where in it the first match begins."""

    line: int
    text: str = field(repr=False)
    start: int


def searching(pattern: str) -> Search:
    """Says where in a line the pattern first matches. Raises `BadFields` for one that cannot be read."""
    if not pattern or len(pattern) > MOST_PATTERN:
        raise BadFields(("pattern", f"'pattern' has 1 to {MOST_PATTERN:,} characters"))
    try:
        return _with_re2(pattern)
    except ImportError:
        return _without(pattern)


def hits(search: Search, lines: list[str], go_on: Callable[[], bool]) -> Iterator[Hit]:
    """Each line that matches, for as long as `go_on` says so, which is asked now and then."""
    for number, line in enumerate(lines, 1):
        if number % _LOOK == 0 and not go_on():
            return
        start = search(line)
        if start is not None:
            yield Hit(number, line, start)


def _with_re2(pattern: str) -> Search:
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        found = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        raise BadFields(("pattern", "'pattern' is no regular expression (RE2 syntax)")) from None

    def search(line: str) -> int | None:
        match = found.search(line)
        return None if match is None else int(match.start())

    return search


def _without(pattern: str) -> Search:
    if _SPECIAL & set(pattern):
        raise BadFields(
            (
                "pattern",
                "'pattern' is a regular expression, and google-re2 is not installed: pip install 'stanch[agent]'",
            )
        )
    literal = re.compile(re.escape(pattern))

    def search(line: str) -> int | None:
        match = literal.search(line)
        return None if match is None else match.start()

    return search
