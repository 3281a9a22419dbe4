"""Which calls a rule's tool pattern speaks of, one kind of call at a time.

Settles the plain reading of a tool pattern, for lint and for explanations. Does not settle which rule wins: the index
(`policy.index`) holds the same reading as bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stanch.paths.pattern import glob
from stanch.policy.declared import Form, Tool
from stanch.policy.known_tools import tool_named
from stanch.policy.rule import BUILTIN_FOR, CLASSES, Rule
from stanch.values.call import EffectClass
from stanch.values.decision import Effect

# A tool of which nothing is known but what a rule's pattern says; no real tool can have this name.
FRESH = "\0"


class Kind(NamedTuple):
    """One kind of effect: by which tool, of which class (None: of no effects), declared or not, on a path or not."""

    tool: str
    cls: EffectClass | None
    declared: bool
    path: bool


def reaches(rule: Rule, tool: str, cls: EffectClass | None, declared: bool) -> bool:
    """True where the rule's tool pattern speaks of such an effect of such a tool."""
    named = tool == rule.tool or ("*" in rule.tool and glob(rule.tool)(tool))
    if rule.action is Effect.ALLOW and not declared:
        return named and bool(rule.tool.strip("*"))
    return named or (cls is not None and cls in classes(rule))


def classes(rule: Rule) -> frozenset[EffectClass]:
    """The effect classes that the rule reaches whatever the tool: its own, and those its deny or ask extends to."""
    if rule.tool in CLASSES:
        return frozenset({CLASSES[rule.tool]})
    if rule.action is Effect.ALLOW:
        return frozenset()
    return frozenset(cls for cls, name in BUILTIN_FOR.items() if name == rule.tool)


def kinds_of(name: str, tools: Mapping[str, Tool]) -> Iterator[Kind]:
    """The kinds of effects that a call of the tool can have; all of them for one that nobody has declared."""
    tool = tool_named(name, tools)
    if tool is None:
        for cls in EffectClass:
            yield Kind(name, cls, False, True)
            yield Kind(name, cls, False, False)
        return
    if not tool.effects:
        yield Kind(name, None, True, False)
    for effect in tool.effects:
        on_path = bool(effect.argument) and effect.form not in (Form.COMMAND, Form.URL)
        yield Kind(name, effect.cls, True, on_path)
        if effect.form is Form.URI:
            yield Kind(name, effect.cls, True, False)
        elif effect.form is Form.URL:
            yield Kind(name, EffectClass.READ, True, True)


def named_by(rule: Rule, tools: Mapping[str, Tool]) -> frozenset[Kind]:
    """The kinds of the tools that the rule names, by an exact name or a glob; none for an effect class.

    A glob stands for a tool of which no more is known than that it fits, so that only a rule which speaks of every such
    tool can cover it. Kinds that the rule's path condition rules out are left out.
    """
    if rule.tool in CLASSES:
        return frozenset()
    if "*" not in rule.tool:
        found = frozenset(kinds_of(rule.tool, tools))
    else:
        bare_allow = rule.action is Effect.ALLOW and not rule.tool.strip("*")
        name = rule.tool.replace("*", FRESH)
        found = frozenset(Kind(name, None, declared, True) for declared in {True, bare_allow})
    return frozenset(kind for kind in found if kind.path or rule.path is None)


def spoken_of(rule: Rule, tools: Mapping[str, Tool]) -> frozenset[Kind]:
    """The kinds that the rule speaks of: those it names, and for each class that it reaches one by a fresh tool."""
    declared = (True,) if rule.action is Effect.ALLOW else (True, False)
    extended = (Kind(FRESH, cls, known, True) for cls in classes(rule) for known in declared)
    return named_by(rule, tools) | frozenset(extended)


def known_kinds(tools: Mapping[str, Tool], names: Iterable[str]) -> tuple[Kind, ...]:
    """Every kind of effect of every known tool, and of the further tools named."""
    return tuple(dict.fromkeys(kind for name in dict.fromkeys([*tools, *names]) for kind in kinds_of(name, tools)))
