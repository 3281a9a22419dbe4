"""The shapes of what the policy file says of tools: `[tools.NAME]` and its effects.

Settles keys and types. Does not settle what they mean (`policy.declared`).
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

_STRICT = ConfigDict(extra="forbid", strict=True)
Text = Annotated[str, Field(min_length=1)]

# `class` is a Python keyword, so the functional form.
EffectShape = TypedDict(
    "EffectShape",
    {
        "class": Literal["read", "write", "execute", "network"],
        "argument": NotRequired[Text],
        "form": NotRequired[Literal["path", "glob", "patch", "envelope", "revision", "uri", "url", "command"]],
        "optional": NotRequired[bool],
        "recursive": NotRequired[bool],
        "only": NotRequired[Text],
    },
)
EffectShape.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]


@with_config(_STRICT)
class ToolShape(TypedDict):
    """One `[tools.NAME]`."""

    effects: list[EffectShape]
    category: NotRequired[Literal["filesystem", "shell", "subagent", "introspection", "config", "network", "mcp"]]
    expands_home: NotRequired[bool]
