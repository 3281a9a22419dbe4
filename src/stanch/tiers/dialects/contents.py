"""What a message, or a tool's result, holds: a string, or a list of blocks.

Settles that a string comes back as a string and a list as a list, whatever was done to the parts. Does not settle what
a block is (each dialect has its own readers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stanch.tiers.dialects.checking import Json, bad, table
from stanch.tiers.dialects.hollow import TAKEN
from stanch.values.message import Part, Text

FULL: list[Any] = [None]
"""What stands in an `extra` for a list that had blocks in it; an empty list stands for itself."""
LEFT_OUT = "[reasoning left out]"
"""What a message says of which nothing is left but reasoning that its provider wants to be left out."""

P = TypeVar("P")


def read_content(content: Any, where: str, read_block: Callable[[Json, str], P]) -> tuple[P | Text, ...]:
    """The parts of a string, a list of blocks, or null. Raises `BadInput` for anything else."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        raise bad(where, "a string or a list of blocks", content)
    return tuple(read_block(table(block, f"{where}[{at}]"), f"{where}[{at}]") for at, block in enumerate(content))


def content_mark(content: Any) -> Any:
    """What is left of the content in an `extra`: enough to tell a string, a list, an empty list and null apart."""
    if isinstance(content, list):
        return list(FULL) if content else []
    return TAKEN if isinstance(content, str) else content


def write_content(parts: Sequence[Part], mark: Any, write_block: Callable[[Part], Json]) -> Any:
    """The parts as they were: one plain text as a string where it was one, else a list of blocks.

    Where all parts of a list are gone, the list is empty: what a dialect must have instead is its writer's to say.
    """
    if isinstance(mark, list):
        return [write_block(part) for part in parts]
    if not parts:
        return mark
    plain = [part.text for part in parts if isinstance(part, Text) and not part.extra]
    if len(plain) == len(parts) == 1:
        return plain[0]
    return [write_block(part) for part in parts]


def joined(parts: Sequence[Part], write_block: Callable[[Part], Json]) -> str:
    """The texts of the parts below one another, for a place that takes nothing but a string."""
    return "\n".join(part.text if isinstance(part, Text) else _text_in(write_block(part)) for part in parts)


def _text_in(block: Json) -> str:
    found = block.get("text")
    return found if isinstance(found, str) else ""
