"""What agents put into the words of a person or of a system: files, and summaries of what was said before.

Settles which files a text says it holds. Every finding adds a tag and none takes one away, so a file that imitates such
a text hides nothing by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stanch.tiers.tag_shapes import Shapes

_CALLED = re.compile(r"Called the ([\w.-]+) tool with the following input: ?")
_RESULT = re.compile(r"Result of calling the [\w.-]+ tool")
_WRAPPING = re.compile(r"(?:\s|</?system-reminder>)*")
_DECODER = json.JSONDecoder()
MOST = 500


class Called(NamedTuple):
    """A call that an agent says it made by itself. `arguments` is None where they cannot be read."""

    tool: str
    arguments: Mapping[str, Any] | None


class Attached(NamedTuple):
    """A file that a text says it holds, and the characters that are of it; None for all of the text."""

    path: str
    span: tuple[int, int] | None = None


def called(text: str) -> tuple[list[Called], bool]:
    """The calls that the text tells of, and whether it says anything besides."""
    calls: list[Called] = []
    rest, at = [], 0
    for found in _CALLED.finditer(text):
        if found.start() < at:
            continue
        rest.append(text[at : found.start()])
        at = found.end()
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value = None
        calls.append(Called(found[1], value if isinstance(value, dict) else None))
        if len(calls) > MOST:
            break
    rest.append(text[at:])
    return calls, any(_WRAPPING.fullmatch(piece) is None for piece in rest)


def is_result(text: str, shapes: Shapes, *, anywhere: bool) -> bool:
    """True for a text that tells the result of such a call, or of a command that a person typed.

    The latter stands where a text begins, or `anywhere` in one that tells the command, too.
    """
    at = _begins(text)
    printed = any(one.search(text) if anywhere else one.match(text, at) for one in shapes.printed)
    return printed or _RESULT.search(text) is not None


def typed(text: str, shapes: Shapes) -> Iterator[str]:
    """The shell commands that a person ran, and whose output the agent shows its model."""
    for pattern in shapes.typed:
        yield from (found["command"].strip() for found in pattern.finditer(text))


def announces(text: str, shapes: Shapes) -> tuple[bool, bool]:
    """Whether the text says that it shows what nobody can tell the place of, and whether that is in the text itself."""
    at = _begins(text)
    found = next((one for one in shapes.announced if text.startswith(one, at)), None)
    return found is not None, found is not None and _WRAPPING.fullmatch(text, at + len(found)) is None


def _begins(text: str) -> int:
    """Where the text begins behind what agents wrap around it."""
    found = _WRAPPING.match(text)
    return 0 if found is None else found.end()


def attached(text: str, shapes: Shapes) -> Iterator[Attached]:
    """Every file that the text says it holds."""
    for line in text.split("\n"):
        for pattern in shapes.named:
            found = pattern.match(line.removesuffix("\r"))
            if found is not None:
                groups = found.groupdict()
                yield Attached(groups["path"] if groups.get("path") else f"{groups['folder'].rstrip('/')}/AGENTS.md")
    if shapes.opening is None or shapes.closing is None:
        return
    openings = list(shapes.opening.finditer(text))
    if not openings:
        return
    end = len(text)
    for found in shapes.closing.finditer(text, openings[-1].end()):
        end = found.end()
    for found in openings:
        yield Attached(found["double"] or found["single"], (openings[0].start(), end))


def is_summary(text: str, shapes: Shapes) -> bool:
    """True for a text that stands in the place of messages which were there before."""
    return text.startswith(shapes.summaries, _begins(text)) if shapes.summaries else False


def asks_for_summary(text: str, shapes: Shapes) -> bool:
    """True for a person's words after which the model's own are such a text."""
    return text.strip() in shapes.asks
