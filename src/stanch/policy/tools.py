"""What a tool's call does: its declared effects, and which of its arguments name the targets.

Settles how a declaration is held against a call's arguments. Does not settle what a path means (`paths.canonical`), nor
which tools are known (`policy.known_tools`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from stanch.paths import uri
from stanch.policy.declared import DeclaredEffect, Form, Tool
from stanch.policy.forms import READERS, RawTarget, said, wanted
from stanch.policy.undeclared import strings_of
from stanch.values.fault import BadCall

_PLACES = (Form.PATH, Form.ITEM)


def targets_of(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    """Every effect of the call with its target. Raises `BadCall` where an argument is missing or of a wrong type."""
    for effect in tool.effects:
        if not effect.argument:
            yield RawTarget(effect.cls, "", None)
            continue
        found = list(_find(tool, effect, arguments))
        if not found and effect.optional:
            if _has_usual_place(effect):
                yield from READERS[effect.form](effect, effect.argument, "", arguments)
        elif not found:
            raise BadCall(f"{tool.name} needs the argument {said(effect.argument)}: {wanted(effect.form)}")
        for key, text in found:
            yield from READERS[effect.form](effect, key, text, arguments)
    if any(effect.optional and _has_usual_place(effect) for effect in tool.effects):
        yield from _unexpected(tool, arguments)


def _has_usual_place(effect: DeclaredEffect) -> bool:
    """True where leaving the argument out means the working directory. A list of items that is left out is empty."""
    return effect.form in _PLACES and not (effect.form is Form.ITEM and effect.argument.endswith("[]"))


def _unexpected(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    """What a tool whose target may be left out is given under a name that its declaration does not know."""
    for key in sorted(arguments.keys() - tool.arguments):
        for text in strings_of(arguments[key]):
            if text and "\n" not in text and not uri.is_web_url(text):
                for cls in dict.fromkeys(effect.cls for effect in tool.effects):
                    yield RawTarget(cls, key, text)


def _find(tool: Tool, effect: DeclaredEffect, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for way in effect.argument.split("|"):
        for value in _follow(way.split("."), arguments):
            if value is None:
                continue
            if effect.form is Form.COMMAND and isinstance(value, list) and all(isinstance(v, str) for v in value):
                yield way, shlex.join(value)
                continue
            for text in value if isinstance(value, list) else [value]:
                if not isinstance(text, str):
                    raise BadCall(
                        f"{tool.name}: the argument {said(way)} must be {wanted(effect.form)}, got {_type_name(text)}"
                    )
                yield way, text


def _follow(way: list[str], value: Any) -> Iterator[Any]:
    if not way:
        yield value
        return
    key, *rest = way
    each = key.endswith("[]")
    if not isinstance(value, Mapping) or key.removesuffix("[]") not in value:
        return
    below = value[key.removesuffix("[]")]
    if not each:
        yield from _follow(rest, below)
    elif isinstance(below, list):
        for item in below:
            if rest and not (isinstance(item, Mapping) and item.get(rest[0].removesuffix("[]")) is not None):
                raise BadCall(f"every item of the argument {said(key)} needs {said(rest[0])}")
            yield from _follow(rest, item)
    elif below is not None:
        raise BadCall(f"the argument {said(key)} must be a list, got {_type_name(below)}")


def _type_name(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", dict: "an object", list: "a list"}
    return names.get(type(value), "nothing" if value is None else type(value).__name__)
