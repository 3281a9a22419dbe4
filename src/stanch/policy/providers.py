"""Where models are reached, and what the agents of a policy are like.

Settles the records of `[providers]` and `[agents]`, and which provider a model's name leads to. Does not settle what a
model may see: that is its tier's.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from stanch.policy.known_tools import known
from stanch.values.fault import Conflict, quoted

MOST_STEPS = 100
CONTEXT_FILES = ("AGENTS.md",)
MOST_CONTEXT_FILES = 16


class Dialect(StrEnum):
    """The API that a provider speaks."""

    CHAT = "openai"  # OpenAI chat completions, which most servers speak
    RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"


@dataclass(frozen=True, slots=True)
class Provider:
    """A server of models: its API, its address, and the environment variable that holds its key, None for no key."""

    id: str
    dialect: Dialect
    base_url: str
    key_env: str | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: what it is told, the model it begins with, the tools it has (None for all), and how long it goes on.

    `most_steps` is how many requests to a model one turn may take. `context_files` are the names of files that go along
    from where it works, and from the directories above that up to the workspace.
    """

    id: str
    prompt: str = ""
    model: str | None = None
    tools: frozenset[str] | None = None
    most_steps: int = MOST_STEPS
    context_files: tuple[str, ...] = CONTEXT_FILES


SHIPPED: Mapping[str, Provider] = {
    one.id: one
    for one in (
        Provider("openai", Dialect.RESPONSES, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        Provider("anthropic", Dialect.ANTHROPIC, "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        Provider("ollama", Dialect.CHAT, "http://127.0.0.1:11434/v1"),
    )
}


def provider_of(model: str, providers: Mapping[str, Provider]) -> tuple[Provider, str]:
    """The provider of `provider/model`, one of the policy's or one that ships, and the model's name there.

    Raises `Conflict` where there is none of that name.
    """
    name, slash, rest = model.partition("/")
    known = {**SHIPPED, **providers}
    if not slash or not rest:
        raise Conflict(f"the model {quoted(model)} names no provider: write it as provider/model")
    if name not in known:
        raise Conflict(f"there is no provider {quoted(name)} (known: {', '.join(known)}); add [providers.{name}]")
    return known[name], rest


Location = tuple[str | int, ...]


def agents_of(written: Mapping[str, Any], bad: Container[Location]) -> dict[str, Agent]:
    """The agents of `[agents]`, but for those that cannot be read."""
    return {
        name: Agent(
            name,
            row.get("prompt", ""),
            row.get("model"),
            frozenset(row["tools"]) if "tools" in row else None,
            row.get("most_steps", MOST_STEPS),
            tuple(row.get("context_files", CONTEXT_FILES)),
        )
        for name, row in written.items()
        if ("agents", name) not in bad
    }


def providers_of(written: Mapping[str, Any], bad: Container[Location]) -> dict[str, Provider]:
    """The providers of `[providers]`, but for those that cannot be read."""
    return {
        name: Provider(name, Dialect(row["dialect"]), row["base_url"].rstrip("/"), row.get("key_env"))
        for name, row in written.items()
        if ("providers", name) not in bad
    }


def runtime_problems(
    agents: Mapping[str, Any], providers: Mapping[str, Any], bad: Container[Location]
) -> Iterator[tuple[Location, str]]:
    """What is wrong with agents and providers besides their shape, each with its place in the file."""
    for name, row in providers.items():
        if ("providers", name) in bad:
            continue
        if "/" in name:
            yield ("providers", name), "a provider's name has no '/': models are named provider/model"
        address = urlsplit(row["base_url"])
        if address.scheme not in ("http", "https") or not address.netloc:
            yield ("providers", name, "base_url"), "'base_url' must be an address that begins with http:// or https://"
    for name, row in agents.items():
        if ("agents", name) in bad:
            continue
        model = row.get("model")
        if model is not None and "/" not in model:
            yield ("agents", name, "model"), f"the model '{model}' names no provider: write it as provider/model"
        for at, tool in enumerate(row.get("tools", ())):
            found = known().get(tool)
            if found is None or not found.builtin:
                yield ("agents", name, "tools", at), f"'{tool}' is no built-in tool"
        files = row.get("context_files", ())
        if len(files) > MOST_CONTEXT_FILES:
            yield ("agents", name, "context_files"), f"'context_files' has more than {MOST_CONTEXT_FILES} names"
        for at, file in enumerate(files):
            if "/" in file or file in (".", "..") or not file.isprintable():
                why = "'context_files' holds names of files, without a directory"
                yield ("agents", name, "context_files", at), why
