"""`/api/policy`, `/api/tiers` and `/api/approval/tools`: what the policy says, beside its groups and rules.

Settles the routes and what they show. All of it is read only: it is written in the policy file.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field

from stanch.app.organization import Status
from stanch.policy.declared import Tool
from stanch.policy.known_tools import known, server_of
from stanch.surfaces.http.access import Served
from stanch.surfaces.http.routers import guarded
from stanch.surfaces.http.shown import Shown, Word
from stanch.tiers.tier import Tiers, TiersBroken

ROUTER = guarded("/api", "policy")
AskedModel = Annotated[
    str | None, Query(max_length=1024, description="A model, as `provider/model`: say which tier it is in.")
]


class PolicyProblem(Shown):
    """Something wrong with the policy. `line` is 0 for what is in the database."""

    line: int
    where: str
    message: str
    scope: str
    warning: bool


class OrganizationShown(Shown):
    """What is known of an organization's rules."""

    source: str
    state: Word
    why: str = Field(description="Why the last try to fetch them failed; empty where it did not.")
    rules: int
    digest: str
    age_s: float | None = Field(description="How old the copy is; null where there is none.")
    max_age_s: float
    expires_at: datetime | None


class PolicyShown(Shown):
    """The policy of the moment. Every answer of the gate names its version."""

    version: str
    file: str | None
    workspace: str
    problems: list[PolicyProblem]
    organizations: list[OrganizationShown]


class TierShown(Shown):
    """A trust tier: what its models may do in which directories."""

    id: str
    label: str
    shipped: bool = Field(description="It is there without being written.")
    place: str = Field(description="Where it is written: file and line.")
    otherwise: dict[str, str]
    cells: list[dict[str, str]]


class AssignedShown(Shown):
    """The tier of a model. `pattern` is what put it there; null where it is in the default tier."""

    model: str
    tier: str | None = Field(description="Null where the tiers cannot be relied on.")
    pattern: str | None


class TiersShown(Shown):
    """The trust tiers, and which models are in each."""

    default_tier: str = Field(description="The tier of every model that no pattern fits.")
    assignments: dict[str, str]
    tiers: list[TierShown]
    broken: str | None = Field(
        description="The place of a mistake in what the file says of tiers or models: until it is mended, every call "
        "that a tier would judge is denied."
    )
    model: AssignedShown | None = Field(description="The tier of the model that was asked about.")


class EffectOfTool(Shown):
    """One effect of a tool. `argument` names the argument that holds the target."""

    class_: str = Field(alias="class", serialization_alias="class")
    argument: str
    form: str
    optional: bool
    recursive: bool


class ToolShown(Shown):
    """A tool that somebody has described."""

    name: str
    category: str | None
    effects: list[EffectOfTool]


class ServerShown(Shown):
    """An MCP server with its tools. A tool named `*` stands for each that is not described by itself."""

    server: str
    tools: list[ToolShown]


class ToolsShown(Shown):
    """Every tool whose effects are known: Stanch's own, those of coding agents, the policy's, and MCP servers'."""

    builtin: list[ToolShown]
    agents: list[ToolShown]
    declared: list[ToolShown]
    servers: list[ServerShown]


@ROUTER.get("/policy")
def read_policy(service: Served) -> PolicyShown:
    """Read which policy is in force, and what is wrong with it."""
    policy = service.policy
    return PolicyShown(
        version=policy.version,
        file=None if service.policy_file is None else str(service.policy_file),
        workspace=policy.workspace,
        problems=[
            PolicyProblem(line=one.line, where=one.where, message=one.message, scope=one.scope, warning=one.warning)
            for one in policy.problems
        ],
        organizations=[_organization(one) for one in service.organizations.statuses()],
    )


def _organization(one: Status) -> OrganizationShown:
    return OrganizationShown(
        source=one.source,
        state=one.known.value,
        why=one.why,
        rules=one.rules,
        digest=one.digest,
        age_s=one.age_s,
        max_age_s=one.max_age_s,
        expires_at=None if one.until is None else datetime.fromtimestamp(one.until, UTC),
    )


@ROUTER.get("/tiers")
def read_tiers(service: Served, model: AskedModel = None) -> TiersShown:
    """Read the trust tiers, those that ship among them, and which of them a model is in."""
    policy = service.policy
    tiers = Tiers(policy)
    return TiersShown(
        default_tier=tiers.default,
        assignments=dict(policy.assignments),
        tiers=[
            TierShown(
                id=tier.id,
                label=tier.label,
                shipped=tier.shipped,
                place=tier.places[0],
                otherwise={cls: effect.value for cls, effect in tier.otherwise.items()},
                cells=[dict(cell) for cell in tier.cells],
            )
            for tier in policy.tiers.values()
        ],
        broken=tiers.broken,
        model=None if model is None else _assigned(tiers, model),
    )


def _assigned(tiers: Tiers, model: str) -> AssignedShown:
    try:
        found = tiers.assignment(model)
    except TiersBroken:
        return AssignedShown(model=model, tier=None, pattern=None)
    return AssignedShown(model=model, tier=found.tier.id, pattern=found.pattern)


@ROUTER.get("/approval/tools")
def list_tools(service: Served) -> ToolsShown:
    """List the tools whose effects are known, those of MCP servers by server."""
    tools = service.policy.tools.values()
    plain = [tool for tool in tools if server_of(tool.name) is None]
    servers: dict[str, list[Tool]] = {}
    for tool in tools:
        server = server_of(tool.name)
        if server is not None:
            servers.setdefault(server, []).append(tool)
    ours = known()
    return ToolsShown(
        builtin=_tools(tool for tool in plain if tool.builtin),
        agents=_tools(tool for tool in plain if not tool.builtin and ours.get(tool.name) is tool),
        declared=_tools(tool for tool in plain if not tool.builtin and ours.get(tool.name) is not tool),
        servers=[ServerShown(server=name, tools=_tools(servers[name])) for name in sorted(servers)],
    )


def _tools(tools: Iterable[Tool]) -> list[ToolShown]:
    return [
        ToolShown(
            name=tool.name,
            category=None if tool.category is None else tool.category.value,
            effects=[
                EffectOfTool(
                    **{"class": effect.cls.value},
                    argument=effect.argument,
                    form=effect.form.value,
                    optional=effect.optional,
                    recursive=effect.recursive,
                )
                for effect in tool.effects
            ],
        )
        for tool in sorted(tools, key=lambda tool: tool.name)
    ]
