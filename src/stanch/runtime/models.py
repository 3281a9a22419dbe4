"""The models of the providers that a policy names, each through its provider's own client.

Settles how `provider/model` becomes something that can be asked. Does not settle what it may be sent (`runtime.send`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from stanch.policy.providers import Dialect, Provider, provider_of
from stanch.runtime.fetching import provider_client
from stanch.values.fault import Conflict, quoted

_NO_KEY = "none"


class Models:
    """Makes models. One for each provider and name is kept, with its connections."""

    def __init__(self) -> None:
        self._made: dict[tuple[Provider, str, str], Model] = {}
        self._clients: list[httpx2.AsyncClient] = []

    def get(self, model: str, providers: Mapping[str, Provider], environment: Mapping[str, str]) -> Model:
        """The model `provider/name`. Raises `Conflict` where its provider is unknown, or its key is missing."""
        provider, name = provider_of(model, providers)
        key = _NO_KEY if provider.key_env is None else environment.get(provider.key_env, "")
        if not key:
            raise Conflict(
                f"the provider {quoted(provider.id)} needs a key: set the environment variable {provider.key_env}"
            )
        made = self._made.get((provider, name, key))
        if made is None:
            made = self._made[provider, name, key] = self._make(provider, name, key)
        return made

    def _make(self, provider: Provider, name: str, key: str) -> Model:
        client = provider_client()
        self._clients.append(client)
        common: dict[str, Any] = {"base_url": provider.base_url, "api_key": key, "http_client": client}
        match provider.dialect:
            case Dialect.ANTHROPIC:
                return AnthropicModel(name, provider=AnthropicProvider(**common))
            case Dialect.RESPONSES:
                # WHY: what a provider keeps of a conversation slips past a filter that works on what is sent.
                settings = OpenAIResponsesModelSettings(openai_store=False)
                return OpenAIResponsesModel(name, provider=OpenAIProvider(**common), settings=settings)
            case Dialect.CHAT:
                return OpenAIChatModel(name, provider=OpenAIProvider(**common))

    async def close(self) -> None:
        """Ends the connections."""
        for client in self._clients:
            await client.aclose()
        self._clients.clear()
        self._made.clear()
