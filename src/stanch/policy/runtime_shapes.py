"""The shapes of what the policy file says of models at work: `[agents]`, `[providers]` and `[proxy]`.

Settles keys and types. Does not settle what they mean (`policy.providers`, `policy.routing`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

_STRICT = ConfigDict(extra="forbid", strict=True)
Text = Annotated[str, Field(min_length=1)]


@with_config(_STRICT)
class AgentShape(TypedDict):
    """One `[agents.NAME]`."""

    prompt: NotRequired[Text]
    model: NotRequired[Text]
    tools: NotRequired[list[Text]]
    most_steps: NotRequired[Annotated[int, Field(gt=0, le=10_000)]]
    context_files: NotRequired[list[Text]]


@with_config(_STRICT)
class ProviderShape(TypedDict):
    """One `[providers.NAME]`."""

    dialect: Literal["openai", "openai-responses", "anthropic"]
    base_url: Text
    key_env: NotRequired[Text]


# Two of the keys are no names in Python, so the functional form.
UsualShape = TypedDict(
    "UsualShape",
    {"openai": NotRequired[Text], "openai-responses": NotRequired[Text], "anthropic": NotRequired[Text]},
)
UsualShape.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]


@with_config(_STRICT)
class ProxyShape(TypedDict):
    """`[proxy]`: which provider a bare name of a model leads to, by patterns, else by the API it is asked on."""

    store: NotRequired[bool]
    models: NotRequired[dict[str, Text]]
    usual: NotRequired[UsualShape]


TABLES: dict[str, Any] = {"agents": AgentShape, "providers": ProviderShape, "proxy": ProxyShape, "usual": UsualShape}
"""Each of the shapes by the key that it stands under."""
