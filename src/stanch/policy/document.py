"""The policy file as a value: its text parsed, and the policy that is made of it.

Settles the records. Does not settle how one becomes the other (`policy.building`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stanch.paths.pattern import PathPattern
from stanch.policy.declared import Tool
from stanch.policy.layer_tables import NO_TABLES, LayerTables
from stanch.policy.meant import toml_hint
from stanch.policy.memory_table import Consolidation
from stanch.policy.policies import SECONDS
from stanch.policy.providers import Agent, Provider
from stanch.policy.routing import Proxying
from stanch.policy.rule import Group
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.fault import Problem


@dataclass(frozen=True, slots=True)
class Organization:
    """Where the organization's rules come from. `token_env` names the variable that holds a bearer token."""

    source: str
    max_age_s: int = 300
    token_env: str | None = None


@dataclass(frozen=True, slots=True)
class TierSpec:
    """A trust tier as the file writes it, or as it is `shipped`.

    `patterns` holds for each cell its path pattern and, where its head leads through a link, the same pattern behind
    that link. `places` says where the tier is written, and then each of its cells. `quotes`: what
    a model wrote is searched for text that the tier may not read.
    """

    id: str
    label: str
    otherwise: Mapping[str, Effect]
    cells: tuple[Mapping[str, str], ...] = ()
    patterns: tuple[tuple[PathPattern, ...], ...] = ()
    places: tuple[str, ...] = ()
    shipped: bool = False
    quotes: bool = True


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where a new request for approval is told. `secret_env` names the variable that holds the key of its signature."""

    url: str
    secret_env: str


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy file as one frozen value. `version` is a digest of its text: every decision names it.

    `broken` is what is wrong with the file as a whole; a group that is broken says so itself. `unreadable` is set where
    groups are kept in a store too, and that cannot be read: what is known is then not all there is. `tiers` holds the
    shipped ones too, where the file has none of that id; `broken_tiers` is the place of a mistake in what the file says
    of tiers or models. `expires_after` are seconds by source, after which nobody may approve any more.
    `broken_runtime` is the place of a mistake in what the file says of agents, providers or the model proxy. `tables`
    is what it says of skills, narrowing, the application's policy and hooks; a mistake there breaks the whole. `memory`
    is when the memory is consolidated, None for never.
    """

    file: str
    version: str
    workspace: str
    groups: Mapping[str, Group]
    tools: Mapping[str, Tool]
    agent_defaults: Mapping[str, RunContext] = field(default_factory=dict)
    source_defaults: Mapping[str, RunContext] = field(default_factory=dict)
    default_tier: str | None = None
    assignments: Mapping[str, str] = field(default_factory=dict)
    tiers: Mapping[str, TierSpec] = field(default_factory=dict)
    broken_tiers: str | None = None
    organization: Organization | None = None
    on_layer_failure: Effect = Effect.ASK
    layer_seconds: float = SECONDS
    expires_after: Mapping[str, int] = field(default_factory=dict)
    webhook: Webhook | None = None
    tables: LayerTables = NO_TABLES
    agents: Mapping[str, Agent] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    proxying: Proxying = field(default_factory=Proxying)
    memory: Consolidation | None = None
    broken_runtime: str | None = None
    problems: tuple[Problem, ...] = ()
    broken: str | None = None
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a policy file and what the parser made of it; `values` is empty where the text is no TOML."""

    file: str
    text: str
    values: Mapping[str, Any]
    syntax: Problem | None = None

    @property
    def workspace(self) -> str | None:
        """The workspace as written; None where the file names none."""
        written = self.values.get("workspace")
        return written if isinstance(written, str) and written else None


def parse(text: str, file: str) -> Document:
    """The document of a text. A text that is no TOML gives a document with a syntax problem, never an exception."""
    try:
        return Document(file, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        message = str(error).split(" (at ")[0]
        line = int(found[1]) if found else text.count("\n") + 1
        hint = toml_hint(text.split("\n")[line - 1] if found else "", message.lower())
        return Document(file, text, {}, Problem(line, "", f"this is not TOML: {message.lower()}{hint and f'; {hint}'}"))
    except (ValueError, RecursionError):
        message = "this cannot be read: something in it is nested too deep, or a number is too long"
        return Document(file, text, {}, Problem(1, "", message))
