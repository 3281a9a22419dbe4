"""Which tools are judged by a declaration, and which as ones that nobody has declared.

Settles which tools a policy names, who declares each, and which lines would declare one. Does not settle what a call of
one is answered (`app.session`), nor where further names come from. INVARIANT: the lines are a mistake as they stand, so
that nobody opens anything by copying them: somebody has to say first what the tool does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from stanch.policy.declared import Tool
from stanch.policy.dialects import tool_said
from stanch.policy.document import Policy
from stanch.policy.exactly import Unwritable, tool_text
from stanch.policy.known_tools import known, server_of, tool_named
from stanch.policy.lint import header, near
from stanch.policy.rule import Rule
from stanch.values.fault import BadInput
from stanch.values.fault import quoted as shown

SEEDED = "seeded"
TO_FILL_IN = """\
# class: read, write, execute or network; one { } for each. argument: the one that names the target; take it out where
# none does. A tool that does nothing at all has effects = []."""


class Source(StrEnum):
    """Who says what a tool does."""

    BUILT_IN = "built_in"
    AGENTS = "coding_agents"
    SERVERS = "mcp_servers"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Named:
    """A tool's name, and where it stands: `stanch.toml:6`, `the command line`."""

    tool: str
    place: str


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool whose calls are judged by a declaration: `by` is that, which may be the one of its whole MCP server."""

    tool: str
    places: tuple[str, ...]
    by: Tool
    source: Source


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A tool whose calls are judged as ones that may do everything. `meant` is a known tool of nearly that name."""

    tool: str
    places: tuple[str, ...]
    meant: str | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every tool that was named, each once, in the order in which they first were."""

    undeclared: tuple[Undeclared, ...]
    declared: tuple[Declared, ...]


def coverage(policy: Policy, given: Iterable[Named] = ()) -> Coverage:
    """How the tools that the policy names, and those that are given, are covered. Raises `BadInput`.

    A name that is given has to be one tool's. What a rule names by a pattern or a class is nobody's name.
    """
    found: dict[str, list[str]] = {}
    for one in (*named(policy), *map(_one_tool, given)):
        places = found.setdefault(one.tool, [])
        if one.place not in places:
            places.append(one.place)
    undeclared, declared = list[Undeclared](), list[Declared]()
    for tool, places in found.items():
        by = tool_named(tool, policy.tools)
        if by is None:
            undeclared.append(Undeclared(tool, tuple(places), near(tool, policy.tools)))
        else:
            declared.append(Declared(tool, tuple(places), by, _source(by, known())))
    return Coverage(tuple(undeclared), tuple(declared))


def named(policy: Policy) -> Iterator[Named]:
    """Every tool that the policy names exactly: in rules and rows, for skills, for hooks, for agents."""
    for rule in (*(rule for group in policy.groups.values() for rule in group.rules), *policy.tables.rows):
        if _is_name(rule.tool) and tool_said(rule.tool, policy.tools) is None:
            yield Named(rule.tool, _place(rule))
    for skill in policy.tables.skills.values():
        yield from (Named(tool, skill.place) for tool in skill.allowed_tools if _is_name(tool))
    yield from (Named(hook.tools, "a hook") for hook in policy.tables.hooks if _is_name(hook.tools))
    for name, agent in policy.agents.items():
        yield from (Named(tool, f"the agent {name}") for tool in sorted(agent.tools or ()))


def declaration(tool: str) -> tuple[str, ...]:
    """The lines of a policy that declare the tool once they are filled in; none where TOML has no way to write it."""
    try:
        tool.encode()
    except UnicodeEncodeError:
        return ()
    category = () if server_of(tool) is None else ('category = "mcp"',)
    return (header(tool), *category, 'effects = [{ class = "", argument = "" }]')


def _one_tool(one: Named) -> Named:
    if not _is_name(one.tool):
        said = f"{shown(one.tool)} is a pattern, and no tool's name; name each tool" if one.tool else "a name is empty"
        raise BadInput(f"{one.place}: {said}")
    return one


def _is_name(tool: str) -> bool:
    return not isinstance(tool_text(tool), Unwritable)


def _place(rule: Rule) -> str:
    return "a built-in rule" if rule.place == SEEDED else rule.place


def _source(by: Tool, ours: Mapping[str, Tool]) -> Source:
    # WHY by identity: a policy's declaration takes the place of a known one of the same name.
    if by.builtin:
        return Source.BUILT_IN
    if ours.get(by.name) is not by:
        return Source.POLICY
    return Source.AGENTS if server_of(by.name) is None else Source.SERVERS
