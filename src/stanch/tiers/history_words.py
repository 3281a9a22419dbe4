"""What the parts of a message hold: their source tags, and every text that somebody could quote.

Settles where to look. Does not settle what is made of it (`tiers.history_parts`, `tiers.history_quotes`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator

from stanch.tiers.history_values import argument_strings, strings
from stanch.values.message import Call, File, Fragment, Opaque, Part, Reasoning, Result, SourceTag, Text


def tags_of(parts: Iterable[Part]) -> Iterator[SourceTag]:
    """The tags of the parts, and of what the results among them hold."""
    for part in parts:
        yield from part.tags
        if isinstance(part, Result):
            yield from inner_tags(part)


def inner_tags(part: Result) -> Iterator[SourceTag]:
    """The tags of what a result holds."""
    return (tag for one in part.content for tag in one.tags)


def words_of(part: Part) -> Iterator[str]:
    """Every text in the part that somebody could quote."""
    match part:
        case Text() | Fragment() | Reasoning():
            yield part.text
        case Result():
            for one in part.content:
                yield from words_of(one)
        case Call():
            yield from argument_strings(part.arguments)
        case Opaque():
            yield from strings(part.data)
        case File():
            yield from _written(part)


def _written(part: File) -> Iterator[str]:
    """The text of a file that is one."""
    if part.data and part.media_type.startswith(("text/", "application/json", "application/xml", "application/yaml")):
        try:
            yield base64.b64decode(part.data).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            yield part.data
