"""The shapes of what the policy file says of further layers: skills, narrowing, the application's policy, and hooks.

Settles keys and types. Does not settle what they mean (`policy.layer_tables`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

_STRICT = ConfigDict(extra="forbid", strict=True)
Text = Annotated[str, Field(min_length=1)]
SourceWord = Literal["web", "cli", "mobile", "telegram", "cron", "mcp", "api"]
Milliseconds = Annotated[int, Field(gt=0, le=600_000)]
Command = Annotated[list[Text], Field(min_length=1)]


@with_config(_STRICT)
class SkillRowShape(TypedDict):
    """One `[[skills.rules]]`: it denies."""

    tool: Text
    action: NotRequired[Literal["deny"]]
    path: NotRequired[Text]
    command: NotRequired[Text]
    note: NotRequired[str]


@with_config(_STRICT)
class SkillShape(TypedDict):
    """One `[[skills]]`."""

    id: Text
    name: NotRequired[str]
    allowed_tools: NotRequired[list[Text]]
    rules: NotRequired[list[SkillRowShape]]


@with_config(_STRICT)
class RowShape(TypedDict):
    """A row that narrows one session, over a door or from a program."""

    tool: Text
    action: Literal["ask", "require", "deny"]
    path: NotRequired[Text | None]
    command: NotRequired[Text | None]
    note: NotRequired[str | None]
    real_approval: NotRequired[bool]
    frozen: NotRequired[bool]


@with_config(_STRICT)
class NarrowingShape(TypedDict):
    """One `[[narrowing]]`."""

    tool: Text
    action: Literal["ask", "require", "deny"]
    path: NotRequired[Text]
    command: NotRequired[Text]
    agent: NotRequired[Text]
    source: NotRequired[SourceWord]
    real_approval: NotRequired[bool]
    note: NotRequired[str]


@with_config(_STRICT)
class CallerPolicyShape(TypedDict):
    """`[caller_policy]`."""

    command: Command
    timeout_ms: NotRequired[Milliseconds]


@with_config(_STRICT)
class HookShape(TypedDict):
    """One `[[hooks]]`."""

    command: Command
    tools: NotRequired[Text]
    timeout_ms: NotRequired[Milliseconds]


ROW: TypeAdapter[RowShape] = TypeAdapter(RowShape)
LAYER_TABLES: dict[str, Any] = {
    "skills": SkillShape,
    "narrowing": NarrowingShape,
    "caller_policy": CallerPolicyShape,
    "hooks": HookShape,
}
"""Each of the shapes by the key that it stands under."""
