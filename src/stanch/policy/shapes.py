"""The shapes of the policy file and of a run context: which keys there are and of which type.

Settles keys, types and the words for a violation. Does not settle meaning (`policy.document`). Unknown keys are errors.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict

from stanch.policy.approval_shapes import ApprovalsShape, WebhookShape
from stanch.policy.layer_shapes import (
    LAYER_TABLES,
    CallerPolicyShape,
    HookShape,
    Milliseconds,
    NarrowingShape,
    SkillRowShape,
    SkillShape,
)
from stanch.policy.meant import KEYS, LISTS, WORDS, unknown
from stanch.policy.memory_table import MemoryShape
from stanch.policy.runtime_shapes import TABLES, AgentShape, ProviderShape, ProxyShape
from stanch.policy.tool_shapes import EffectShape, ToolShape

_STRICT = ConfigDict(extra="forbid", strict=True)
Text = Annotated[str, Field(min_length=1)]
EffectWord = Literal["allow", "ask", "require", "deny"]


@with_config(_STRICT)
class RuleShape(TypedDict):
    """One `[[groups.rules]]`."""

    tool: Text
    action: EffectWord
    path: NotRequired[Text]
    command: NotRequired[Text]
    agent: NotRequired[Text]
    source: NotRequired[Literal["web", "cli", "mobile", "telegram", "cron", "mcp", "api"]]
    priority: NotRequired[int]
    mandatory: NotRequired[bool]
    note: NotRequired[str]


@with_config(_STRICT)
class GroupShape(TypedDict):
    """One `[[groups]]`."""

    id: Text
    name: NotRequired[str]
    description: NotRequired[str]
    rules: NotRequired[list[RuleShape]]


@with_config(_STRICT)
class ContextShape(TypedDict):
    """A run context, in the file or over a door."""

    security_group: NotRequired[Text | None]
    system_prompt: NotRequired[list[str]]
    allow_fs_writes: NotRequired[list[str]]
    allow_fs_reads: NotRequired[list[str]]
    working_directory: NotRequired[str | None]


@with_config(_STRICT)
class DefaultsShape(TypedDict):
    """`[sessions.defaults]`: run contexts by agent, else by source."""

    agent: NotRequired[dict[str, ContextShape]]
    source: NotRequired[dict[Literal["web", "cli", "mobile", "telegram", "cron", "mcp", "api"], ContextShape]]


@with_config(_STRICT)
class SessionsShape(TypedDict):
    """`[sessions]`."""

    defaults: NotRequired[DefaultsShape]


@with_config(_STRICT)
class ModelsShape(TypedDict):
    """`[models]`: which tier a model is in."""

    default_tier: NotRequired[Text]
    assignments: NotRequired[dict[str, Text]]


@with_config(_STRICT)
class OtherwiseShape(TypedDict):
    """The `otherwise` cell of a tier."""

    read: EffectWord
    write: EffectWord
    execute: EffectWord
    network: EffectWord


@with_config(_STRICT)
class CellShape(TypedDict):
    """One `[[tiers.ID.cells]]`."""

    path: Text
    read: NotRequired[EffectWord]
    write: NotRequired[EffectWord]
    execute: NotRequired[EffectWord]


@with_config(_STRICT)
class TierShape(TypedDict):
    """One `[tiers.ID]`."""

    label: Text
    otherwise: OtherwiseShape
    cells: NotRequired[list[CellShape]]
    quotes: NotRequired[bool]


@with_config(_STRICT)
class OrganizationShape(TypedDict):
    """`[organization]`."""

    source: Text
    max_age_s: NotRequired[Annotated[int, Field(gt=0)]]
    token_env: NotRequired[Text]


@with_config(_STRICT)
class PolicyShape(TypedDict):
    """The whole file."""

    version: Annotated[int, Field(ge=1, le=1)]
    workspace: NotRequired[Text]
    approvals: NotRequired[ApprovalsShape]
    on_layer_failure: NotRequired[Literal["ask", "deny"]]
    layer_timeout_ms: NotRequired[Milliseconds]
    groups: NotRequired[list[GroupShape]]
    sessions: NotRequired[SessionsShape]
    models: NotRequired[ModelsShape]
    tiers: NotRequired[dict[str, TierShape]]
    tools: NotRequired[dict[str, ToolShape]]
    organization: NotRequired[OrganizationShape]
    agents: NotRequired[dict[str, AgentShape]]
    providers: NotRequired[dict[str, ProviderShape]]
    proxy: NotRequired[ProxyShape]
    memory: NotRequired[MemoryShape]
    skills: NotRequired[list[SkillShape]]
    narrowing: NotRequired[list[NarrowingShape]]
    caller_policy: NotRequired[CallerPolicyShape]
    hooks: NotRequired[list[HookShape]]


POLICY: TypeAdapter[PolicyShape] = TypeAdapter(PolicyShape)
CONTEXT: TypeAdapter[ContextShape] = TypeAdapter(ContextShape)
Location = tuple[str | int, ...]

_BY_KEY: dict[str, Any] = {
    "rules": RuleShape,
    "groups": GroupShape,
    "defaults": DefaultsShape,
    "sessions": SessionsShape,
    "models": ModelsShape,
    "otherwise": OtherwiseShape,
    "cells": CellShape,
    "tiers": TierShape,
    "effects": EffectShape,
    "tools": ToolShape,
    "organization": OrganizationShape,
    "approvals": ApprovalsShape,
    "webhook": WebhookShape,
    "memory": MemoryShape,
    **TABLES,
    **LAYER_TABLES,
    **dict.fromkeys(("agent", "source"), ContextShape),
}


# The closed lists of words that a key of that name takes, by what a message calls such a word.
_WORDS_OF = {
    "action": "action",
    "read": "action",
    "write": "action",
    "execute": "action",
    "network": "action",
    "source": "source",
    "class": "class",
    "form": "form",
    "dialect": "dialect",
    "category": "category",
}
# Accepted, and not offered: another word for one that is.
_NOT_OFFERED = ("require",)


def violations(adapter: TypeAdapter[Any], value: Any, top: Any) -> list[tuple[Location, str]]:
    """Every place where the value is not of the shape, with what is wrong and what to write instead."""
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        found: dict[Location, str] = {}
        for detail in error.errors(include_url=False, include_context=True):
            where = tuple(part for part in detail["loc"] if part not in ("[key]",))
            found.setdefault(where, _message(detail, where, top))
        return list(found.items())
    return []


def _message(detail: ErrorDetails, where: Location, top: Any) -> str:
    kind, key = detail["type"], str(where[-1]) if where else "the document"
    if len(where) > 1 and isinstance(where[-1], int):
        key = f"{where[-2]}[{where[-1]}]"
    got = _type_name(detail["input"])
    context = detail.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(key, detail["input"], where, top)
    if kind == "missing":
        return f"'{key}' is missing"
    if kind == "literal_error":
        return _no_such_word(detail, key, got)
    if kind in ("string_too_short", "too_short"):
        return f"'{key}' is empty"
    if kind in ("greater_than_equal", "less_than_equal"):
        return f"'{key}' must be {context.get('ge', context.get('le'))}, not {detail['input']}"
    if kind == "greater_than":
        return f"'{key}' must be a whole number above {context.get('gt')}"
    wanted = {
        "string_type": "a string",
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "bool_type": "true or false",
        "list_type": "a list",
        "dict_type": "a table",
        "none_required": "null",
    }.get(kind, "something else")
    return f"'{key}' must be {wanted}, got {got}{_header_hint(detail, where)}"


def _header_hint(detail: ErrorDetails, where: Location) -> str:
    """What to write where one table stands in the place of a list of tables."""
    name = ".".join(part for part in where if isinstance(part, str))
    if detail["type"] != "list_type" or not isinstance(detail["input"], dict) or name not in LISTS:
        return ""
    return f"; in double brackets, [[{name}]] begins {LISTS[name]}"


def _no_such_word(detail: ErrorDetails, key: str, got: str) -> str:
    """The message for a word that is not in its closed list: one of the values, or the name of a table."""
    shown = detail["input"]
    what = "source" if detail["loc"][-1:] == ("[key]",) else _WORDS_OF.get(key)
    if what is None:
        said = repr(shown) if isinstance(shown, (str, int)) and not isinstance(shown, bool) else got
        return f"'{key}' must be {detail.get('ctx', {}).get('expected', 'another word')}, not {said}"
    words = [word for word in _expected(detail) if word not in _NOT_OFFERED]
    if isinstance(shown, str):
        return unknown(what, shown, words, WORDS)
    return f"'{key}' must be one of {', '.join(words)}, got {got}"


def _expected(detail: ErrorDetails) -> list[str]:
    """The words of a closed list, as the validator names them: `'allow', 'ask' or 'deny'`."""
    return str(detail.get("ctx", {}).get("expected", "")).split("'")[1::2]


def _unknown_key(key: str, value: Any, where: Location, top: Any) -> str:
    if key == "rules" and len(where) == 1:
        return "rules stand in a group: write [[groups]] with an id, and then [[groups.rules]] for each rule"
    said = unknown("key", key, get_type_hints(_shape_at(where[:-1], top)), KEYS)
    several = isinstance(value, list) and "; did you mean" in said and where[:1] == ("groups",)
    return said.replace("? (known", "? It takes one; write a rule for each (known") if several else said


def _shape_at(where: Location, top: Any) -> Any:
    """The shape that the table at this place must have."""
    if where[:1] == ("skills",) and "rules" in where[1:]:
        return SkillRowShape
    for at in range(len(where) - 1, -1, -1):
        part = where[at]
        if isinstance(part, str) and part in _BY_KEY:
            return _BY_KEY[part]
    return top


def _type_name(value: Any) -> str:
    names: dict[type, str] = {
        bool: "a boolean",
        int: "a number",
        float: "a number with a fraction",
        str: "a string",
        list: "a list",
        dict: "a table",
        type(None): "null",
    }
    return names.get(type(value), type(value).__name__)
