"""Which provider a request of the model proxy goes to, by the name of its model.

Settles `[proxy]` of the policy file. A model is known by where it is really asked: whatever a caller names it, its tier
is that of `provider/model` as it comes out here. Does not settle what the model may see (`tiers`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from stanch.policy.model_names import assigned, ties, why_never
from stanch.policy.providers import SHIPPED, Dialect, Provider, providers_of, runtime_problems
from stanch.values.fault import NotFound

Location = tuple[str | int, ...]
USUAL: Mapping[Dialect, str] = MappingProxyType(
    {Dialect.CHAT: "openai", Dialect.RESPONSES: "openai", Dialect.ANTHROPIC: "anthropic"}
)


def _usual() -> Mapping[Dialect, str]:
    return USUAL


def _none() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Proxying:
    """What a policy says of the model proxy.

    `models` are patterns of models' names with the provider of each, `usual` the provider by API of a name that none
    fits. `store`: a provider may keep what it is sent, if a caller asks for that.
    """

    store: bool = False
    models: Mapping[str, str] = field(default_factory=_none)
    usual: Mapping[Dialect, str] = field(default_factory=_usual)


class Routed(NamedTuple):
    """Where a model is asked, and its name there."""

    provider: Provider
    name: str

    @property
    def model(self) -> str:
        """The model as tiers know it."""
        return f"{self.provider.id}/{self.name}"


def routed(model: str, asked: Dialect, proxying: Proxying, providers: Mapping[str, Provider]) -> Routed:
    """Where the model of a request is asked that came on this API.

    `provider/model` says it by itself where there is such a provider; else the most specific pattern that fits, and for
    a name without a slash the default of the API. Raises `NotFound` where that is nowhere, or a server that does not
    speak this API.
    """
    known = {**SHIPPED, **providers}
    written = model
    first, slash, rest = model.partition("/")
    # WHY no `..`: a server that takes a name for a path would find another model there than tiers do.
    if why_never(model) is not None or "*" in model or not {"", ".", ".."}.isdisjoint(model.split("/")):
        raise NotFound("model", model[:200])
    pattern = assigned(model, proxying.models)
    if slash and first in known:
        name, model = first, rest
    else:
        name = proxying.models[pattern] if pattern is not None else "" if slash else proxying.usual[asked]
    provider = known.get(name)
    if provider is None or (provider.dialect is Dialect.ANTHROPIC) is not (asked is Dialect.ANTHROPIC):
        raise NotFound("model", written[:200])
    return Routed(provider, model)


def proxying_of(written: Mapping[str, Any], providers: Mapping[str, Any], bad: Container[Location]) -> Proxying:
    """What `[proxy]` says, but for what cannot be read of it: the file is broken then, and nothing is sent.

    `providers` is `[providers]` as written, to know which there are.
    """
    if ("proxy",) in bad:
        return Proxying()
    models = {pattern: name for pattern, name in written.get("models", {}).items() if _is_known(name, providers)}
    usual = {Dialect(key): name for key, name in written.get("usual", {}).items() if _is_known(name, providers)}
    return Proxying(written.get("store", False), MappingProxyType(models), MappingProxyType({**USUAL, **usual}))


def working_problems(
    agents: Mapping[str, Any], providers: Mapping[str, Any], proxy: Mapping[str, Any], bad: Container[Location]
) -> Iterator[tuple[Location, str]]:
    """What is wrong with agents, providers and the model proxy besides their shape, each with its place in the file."""
    yield from runtime_problems(agents, providers, bad)
    if ("proxy",) in bad:
        return
    known = {**SHIPPED, **providers_of(providers, bad)}
    models: Mapping[str, str] = proxy.get("models", {})
    for pattern, name in models.items():
        if (why := why_never(pattern)) is not None:
            yield ("proxy", "models", pattern), f"this pattern fits no model: {why}"
        if not _is_known(name, providers):
            yield ("proxy", "models", pattern), _no_provider(name, known)
    for earlier, later in ties(models):
        yield ("proxy", "models", later), f"'{later}' and '{earlier}' fit the same models and name two providers"
    for key, name in proxy.get("usual", {}).items():
        if not _is_known(name, providers):
            yield ("proxy", "usual", key), _no_provider(name, known)
        elif name in known and (known[name].dialect is Dialect.ANTHROPIC) is not (key == Dialect.ANTHROPIC):
            yield ("proxy", "usual", key), f"the provider '{name}' does not speak this API"


def _is_known(name: str, providers: Mapping[str, Any]) -> bool:
    return name in SHIPPED or name in providers


def _no_provider(name: str, known: Mapping[str, Provider]) -> str:
    return f"there is no provider '{name}' (known: {', '.join(known)}); add [providers.{name}]"
