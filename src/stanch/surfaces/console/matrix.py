"""What the rules say of each tool by its name alone, group by group.

Settles the table that a person reads to see what an agent may do in general. Does not settle any call: rules with a
path, a command, an agent or a source are counted, not read. INVARIANT: nothing here decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stanch.policy.document import Policy
from stanch.policy.known_tools import known, server_of
from stanch.policy.reach import Kind, kinds_of, reaches
from stanch.policy.rule import CLASSES, DEFAULT_GROUP, Rule, in_order
from stanch.values.decision import Effect

MOST_GROUPS = 6
MOST_RULES = 2_000
_STRENGTH = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}


class Cell(NamedTuple):
    """What one group says of one tool: the answer, its rule, and how many rules with conditions come before."""

    effect: str
    rule: str
    before: int


class Row(NamedTuple):
    """One tool, with a cell for each group."""

    tool: str
    does: str
    cells: list[Cell]


class Section(NamedTuple):
    """The tools of one MCP server, or of one kind."""

    name: str
    rows: list[Row]


class Matrix(NamedTuple):
    """The groups, and the tools by server."""

    groups: list[str]
    sections: list[Section]


def matrix_of(policy: Policy, group: str) -> Matrix:
    """The table for this group and some others, this one first; an empty one where there are very many rules."""
    names = [group, *(name for name in sorted(policy.groups) if name != group)]
    if sum(len(one.rules) for one in policy.groups.values()) > MOST_RULES:
        return Matrix([], [])
    names = names[:MOST_GROUPS]
    orders = [_order(policy, name) for name in names]
    sections: dict[str, list[Row]] = {}
    for tool in sorted({*policy.tools, *_named(policy)}):
        kinds = list(kinds_of(tool, policy.tools))
        cells = [_cell(order, kinds, group) for order in orders]
        does = ", ".join(dict.fromkeys(kind.cls.value for kind in kinds if kind.cls is not None))
        declared = kinds[0].declared if kinds else True
        sections.setdefault(_section(policy, tool), []).append(Row(tool, does if declared else "undeclared", cells))
    first = ("Stanch's own", "Coding agents", "This policy's")
    order = sorted(sections, key=lambda name: (first.index(name) if name in first else len(first), name))
    return Matrix(names, [Section(name, sections[name]) for name in order])


def _section(policy: Policy, tool: str) -> str:
    server = server_of(tool)
    if server is not None:
        return f"MCP server {server}"
    found = policy.tools.get(tool)
    if found is not None and found.builtin:
        return "Stanch's own"
    return "Coding agents" if found is not None and known().get(tool) is found else "This policy's"


def _named(policy: Policy) -> Iterator[str]:
    """Tools that a rule names and nobody has described."""
    for group in policy.groups.values():
        for rule in group.rules:
            if "*" not in rule.tool and rule.tool not in CLASSES:
                yield rule.tool


def _order(policy: Policy, name: str) -> list[Rule]:
    """The rules in the order in which they are read for a session of the group."""
    groups = [policy.groups[one] for one in dict.fromkeys((name, DEFAULT_GROUP)) if one in policy.groups]
    rules = [rule for group in groups for rule in in_order(group.rules)]
    mandatory = sorted((rule for rule in rules if rule.mandatory), key=lambda rule: -_STRENGTH[rule.action])
    return [*mandatory, *(rule for rule in rules if not rule.mandatory)]


def _cell(order: list[Rule], kinds: Iterable[Kind], group: str) -> Cell:
    """The strictest of what is said of each thing that the tool does."""
    found: Cell | None = None
    strength = -1
    for kind in kinds:
        before, effect, words = 0, Effect.ASK, "no rule"
        for rule in order:
            if not reaches(rule, kind.tool, kind.cls, kind.declared):
                continue
            if rule.path is None and rule.command is None and rule.agent is None and rule.source is None:
                effect = rule.action
                where = "" if rule.group == group else f" of {rule.group}"
                words = f"rule {rule.id}{where}: {rule.words}"
                break
            before += 1
        if _STRENGTH[effect] > strength:
            strength, found = _STRENGTH[effect], Cell(effect.value, words, before)
    return found or Cell(Effect.ASK.value, "no rule", 0)
