"""Searching a text for a regular expression that a model wrote, in bounded time and memory.

Settles how lines that match are found. Does not settle what is searched.
WHY RE2: it takes time in proportion to the text whatever the expression. The standard library, and every engine that
tries one way after another, can be kept busy for years by a line of ten letters, or made to fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import re2  # type: ignore[import-untyped]

from stanch.explain.sentences import visible
from stanch.runtime.builtin.asked import CannotDo

MOST_PATTERN = 4096
# WHY so little: an expression that needs more is searched for at a thousandth of the speed.
_MEMORY = 1024 * 1024
# How much is searched between two looks at the clock.
CHUNK = 32 * 1024


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matches: its number from 1, its bytes without the end, and where in it the first match begins."""

    line: int
    text: bytes
    start: int


class Expression:
    """A regular expression, ready to search with."""

    def __init__(self, pattern: str) -> None:
        """Raises `CannotDo` for one that cannot be read, with the reason."""
        if not pattern or len(pattern) > MOST_PATTERN:
            raise CannotDo(f"a pattern has 1 to {MOST_PATTERN:,} characters")
        options = re2.Options()
        options.log_errors = False
        options.never_nl = True
        options.never_capture = True
        options.max_mem = _MEMORY
        try:
            self._search: Callable[[bytes, int, int], Any] = re2.compile("(?m)" + pattern, options).search
        except (re2.error, UnicodeEncodeError) as error:
            raise CannotDo(f"the pattern is no regular expression (RE2 syntax): {_why(error)}") from None

    def hits(self, data: bytes, go_on: Callable[[], bool]) -> Iterator[Hit]:
        """Each line of the UTF-8 text that matches, for as long as `go_on` says so.

        Of a line longer than `CHUNK`, a match that lies across two chunks is not found.
        """
        line, counted, at = 1, 0, 0
        while at < len(data) and go_on():
            end = _chunk_end(data, at)
            while at < end:
                found = self._search(data, at, end)
                if found is None:
                    break
                start = found.start()
                if start == len(data) and data.endswith(b"\n"):
                    return  # behind the last line's end there is no further line
                begin = data.rfind(b"\n", 0, start) + 1
                line += data.count(b"\n", counted, begin)
                stop = data.find(b"\n", start)
                stop = len(data) if stop < 0 else stop
                yield Hit(line, data[begin:stop], start - begin)
                counted, at = begin, stop + 1
            at = max(at, end)


def _chunk_end(data: bytes, at: int) -> int:
    """Where to stop: behind a line's end, or in a line that is longer than a chunk."""
    if len(data) - at <= CHUNK:
        return len(data)
    return (data.rfind(b"\n", at, at + CHUNK) + 1) or at + CHUNK


def _why(error: Exception) -> str:
    told = error.args[0] if error.args and not isinstance(error, UnicodeEncodeError) else b"no valid text"
    return visible(told.decode(errors="replace") if isinstance(told, bytes) else str(told))
