"""What is wrong with the fields of a request, in words.

Settles the message for each field that the validator refuses: what was expected, and the type that came.
INVARIANT: a message never holds the value itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from stanch.policy.meant import nearest

# What people write for a field of ours.
MEANT = {
    "args": "arguments",
    "input": "arguments",
    "tool_name": "tool",
    "name": "tool",
    "working_dir": "working_directory",
    "cwd": "working_directory",
    "group": "security_group",
    "agent": "agent_id",
    "tool": "tool_pattern",
    "path": "path_pattern",
    "command": "command_pattern",
    "effect": "action",
    "schedule": "cron",
}
_WANTED = {
    "string_type": "a string",
    "string_unicode": "Unicode text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "none_required": "null",
}


def problems_of(errors: Sequence[Any], model: type[BaseModel] | None = None) -> list[tuple[str, str]]:
    """Each field with what is wrong with it. `model` is what the body should have been, to say what is known there."""
    return [_problem(error, model) for error in errors]


def _problem(error: ErrorDetails, model: type[BaseModel] | None) -> tuple[str, str]:
    where = tuple(error["loc"])
    if where[:1] in (("body",), ("query",), ("path",), ("header",)):
        where = where[1:]
    own = where[-1:] if error["type"] == "extra_forbidden" else ()  # a field of the body may bear any name
    where = tuple(part for part in where[: len(where) - len(own)] if not _is_branch(part)) + own
    return path_of(where), _message(error, where, model)


def path_of(where: Sequence[str | int]) -> str:
    """The name of a field as a person writes it: `run_context.allow_fs_writes[0]`."""
    said = ""
    for part in where:
        said += f"[{part}]" if isinstance(part, int) else f".{part}" if said else str(part)
    return said


def _is_branch(part: str | int) -> bool:
    """True for what the validator adds to a place to say which type of several it tried."""
    return isinstance(part, str) and (part.endswith("]") or part in ("str", "int", "none", "bool"))


def _message(error: ErrorDetails, where: tuple[str | int, ...], model: type[BaseModel] | None) -> str:
    kind, context = error["type"], error.get("ctx", {})
    leaf = where[-2:] if where and isinstance(where[-1], int) else where[-1:]
    name = f"'{path_of(leaf)}'" if where else "the body"
    if kind == "missing":
        return f"{name} is missing"
    if kind == "extra_forbidden":
        return f"{name} is no field of this{_known(model, where)}"
    if kind in ("literal_error", "enum"):
        return f"{name} must be {context.get('expected', 'another word')}, got {_other(error['input'])}"
    if kind == "string_too_short":
        return f"{name} is empty" if context.get("min_length") == 1 else f"{name} is too short"
    if kind == "too_short":
        return f"{name} is empty" if context.get("min_length") == 1 else f"{name} has too few entries"
    if kind == "too_long":
        return f"{name} has more than {context.get('max_length'):,} entries"
    if kind == "string_too_long":
        return f"{name} is longer than {context.get('max_length')} characters"
    if kind == "string_pattern_mismatch":
        return f"{name} must begin with a letter or digit and hold letters, digits, '.', '_' and '-' only"
    if kind in ("greater_than_equal", "less_than_equal"):
        side, limit = ("at least", context.get("ge")) if "ge" in context else ("at most", context.get("le"))
        return f"{name} must be {side} {limit}"
    return f"{name} must be {_WANTED.get(kind, 'something else')}, got {type_name(error['input'])}"


def _known(model: type[BaseModel] | None, where: tuple[str | int, ...]) -> str:
    at = model
    for part in where[:-1]:
        at = _below(at, part)
    if at is None:
        return ""
    names = list(at.model_fields)
    close = nearest(str(where[-1]), names, MEANT)
    return f"{f'; did you mean {close!r}?' if close else ''} (known: {', '.join(names)})"


def _below(model: type[BaseModel] | None, part: str | int) -> type[BaseModel] | None:
    field = model.model_fields.get(str(part)) if model is not None else None
    if field is None:
        return None
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _other(value: Any) -> str:
    return "another word" if isinstance(value, str) else type_name(value)


def type_name(value: Any) -> str:
    """What a value is called, without showing it."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, Mapping):
        return "an object"
    names = {str: "a string", int: "a number", float: "a number", list: "a list", bytes: "no JSON"}
    return names.get(type(value), "null" if value is None else "something else")
