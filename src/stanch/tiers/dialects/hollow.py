"""What is left of a block once the fields of a part have been taken out of it, and the block made whole again.

Settles how a block comes back equal: same keys, same order. The place of what was taken out stays, and is empty; so an
`extra` holds nothing of what a filter may replace in the part itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stanch.tiers.dialects.checking import Json, copied

TAKEN = ""
"""What stands where something was taken out."""

Way = tuple[str, ...]
# What a provider reads as a note on its cache, and nobody as content.
_CACHE_MARKS = ("cache_control", "prompt_cache_breakpoint")


def hollow(block: Json, *ways: Way) -> Json:
    """The block with the values at these ways taken out; a way that leads nowhere takes nothing."""
    made = dict(block)
    for way in ways:
        here = made
        for key in way[:-1]:
            inner = here.get(key)
            if not isinstance(inner, dict):
                break
            here[key] = dict(inner)
            here = here[key]
        else:
            if way[-1] in here:
                here[way[-1]] = TAKEN
    return made


def filled(extra: Mapping[str, Any], values: Mapping[Way, Any]) -> Json:
    """A copy of what was left, with these values at their ways. None is put only where something was taken out."""
    made: Json = copied(extra, "extra")
    for way, value in values.items():
        here = made
        for key in way[:-1]:
            if value is None and not isinstance(here.get(key), dict):
                break
            if not isinstance(here.get(key), dict):
                here[key] = {}
            here = here[key]
        else:
            if value is not None or way[-1] in here:
                here[way[-1]] = value
    return made


def cache_marks(extra: Mapping[str, Any]) -> Json:
    """What of a part's `extra` may stay where another part takes its place: the marks for the provider's cache."""
    return {key: copied(extra[key], "extra") for key in _CACHE_MARKS if key in extra}
