"""Which calls a rule's tool pattern speaks of, one kind of call at a time.

Settles the plain reading of a tool pattern, for lint and for explanations. Does not settle which rule wins: the index
(`policy.index`) holds the same reading as bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stanch.paths.pattern import glob
from stanch.policy.rule import BUILTIN_FOR, CLASSES, Rule
from stanch.policy.tools import Form, Tool
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
    names = BUILTIN_FOR.items()
    return frozenset(c for c, name in names if name == rule.tool or ("*" in rule.tool and glob(rule.tool)(name)))


def kinds_of(name: str, tools: Mapping[str, Tool]) -> Iterator[Kind]:
    """The kinds of effects that a call of the tool can have; all of them for one that nobody has declared."""
    tool = tools.get(name)
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


def spoken_of(rule: Rule, tools: Mapping[str, Tool]) -> frozenset[Kind]:
    """The kinds that the rule speaks of with certainty, whatever further tools there may be.

    An exact name stands for itself. A glob and an effect class stand for a tool of which no more is known, so that only
    a rule which speaks of every such tool can cover them.
    """
    found: set[Kind] = set()
    if rule.tool not in CLASSES:
        if "*" in rule.tool:
            bare_allow = rule.action is Effect.ALLOW and not rule.tool.strip("*")
            for declared in (True,) if bare_allow else (True, False):
                found.add(Kind(rule.tool.replace("*", FRESH), None, declared, True))
        else:
            found.update(kinds_of(rule.tool, tools))
    for cls in classes(rule):
        for declared in (True,) if rule.action is Effect.ALLOW else (True, False):
            found.add(Kind(FRESH, cls, declared, True))
    return frozenset(kind for kind in found if kind.path or rule.path is None)


def known_kinds(tools: Mapping[str, Tool], names: Iterable[str]) -> tuple[Kind, ...]:
    """Every kind of effect of every known tool, and of the further tools named."""
    return tuple(dict.fromkeys(kind for name in dict.fromkeys([*tools, *names]) for kind in kinds_of(name, tools)))
