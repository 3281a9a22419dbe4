"""Which rules lost: those that also fit an effect and were not asked, and those that only just did not fit.

Settles, for one effect of a call, every rule beside the one that decided and why it did not. Does not settle which one
decides (`policy.index`): it reads the same order and says it in words; commands are `policy.command_losers`. For
explanations only; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stanch.policy.index import RuleIndex
from stanch.policy.reach import reaches
from stanch.policy.rule import Rule
from stanch.values.call import CallEffect, EffectClass

MOST_NEAR = 10


@dataclass(frozen=True, slots=True)
class Loser:
    """A rule that did not decide, and why, as the rest of a sentence that begins with the rule.

    `condition` is the one condition that failed (`path`, `agent`, `source`, `command`); None where the rule fits and
    another one is read before it.
    """

    rule: Rule
    why: str
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class Contest:
    """The rules for one effect: the first that fits, those behind it that fit too, and those that nearly fit.

    `further` counts the rules that nearly fit and are left out. `as_command`: no rule speaks of what the command was
    found to read or reach, so that it is answered as its command is.
    """

    first: Rule | None
    behind: tuple[Loser, ...]
    nearly: tuple[Loser, ...]
    further: int
    as_command: bool = False


def contest(
    index: RuleIndex, tool: str, effect: CallEffect, *, declared: bool, agent: str | None, source: str | None
) -> Contest:
    """Every rule that the index holds against one effect of a call, in the order in which they are read."""
    stamp = effect.stamp
    if stamp is not None and stamp.refusal is not None:
        return Contest(None, (), (), 0)
    key, folded = (None, False) if stamp is None else (stamp.key, stamp.folded)
    who = index.who(agent, source)
    places = list(index.all_matching(tool, effect.cls, declared, key, who, folded=folded))
    fitting = [index.rules[place] for place in places]
    first = fitting[0] if fitting else None
    behind = tuple(Loser(rule, why_behind(rule, first)) for rule in fitting[1:] if first is not None)
    near = near_plain(index, tool, effect, set(places), declared=declared, agent=agent, source=source)
    for place, rule in enumerate(index.commanded):
        if (
            effect.cls is EffectClass.EXECUTE
            and reaches(rule, tool, effect.cls, declared)
            and (not [*others_than(rule, agent, source)])
        ):
            said = f"holds for the command {rule.command} only, and this effect runs no command"
            near.append((0, len(index.rules) + place, Loser(rule, said, "command")))
    return nearest(first, behind, near)


Near = list[tuple[int, int, Loser]]
"""How far off each rule is, its place, and what failed."""


def near_plain(
    index: RuleIndex,
    tool: str,
    effect: CallEffect,
    fitting: set[int],
    *,
    declared: bool,
    agent: str | None,
    source: str | None,
) -> Near:
    """The rules without a command that fail one condition."""
    stamp = effect.stamp
    key, folded = (None, False) if stamp is None else (stamp.key, stamp.folded)
    everyone = (1 << len(index.rules)) - 1
    on_path = {*index.all_matching(tool, effect.cls, declared, key, everyone, folded=folded)}
    near: Near = []
    for place, rule in enumerate(index.rules):
        if place in fitting or not reaches(rule, tool, effect.cls, declared):
            continue
        failed = [*others_than(rule, agent, source)]
        if place not in on_path:
            failed.append(("path", _path_said(rule, effect)))
        if len(failed) == 1:
            near.append((_distance(rule, failed[0][0], key), place, Loser(rule, failed[0][1], failed[0][0])))
    return near


def nearest(first: Rule | None, behind: tuple[Loser, ...], near: Near, *, as_command: bool = False) -> Contest:
    """The contest with the rules that came nearest, in the order in which they are read."""
    near.sort(key=lambda one: one[:2])
    kept = sorted(near[:MOST_NEAR], key=lambda one: one[1])
    return Contest(first, behind, tuple(loser for _, _, loser in kept), max(0, len(near) - MOST_NEAR), as_command)


def why_behind(rule: Rule, first: Rule) -> str:
    """Why a rule that fits was not the one: what in the order put the other first."""
    if first.mandatory:
        if rule.mandatory and rule.action is first.action:
            return f"stands after mandatory rule {first.id}"
        if rule.mandatory:
            return f"a mandatory {first.action.value}, rule {first.id}, is read before every mandatory ask"
        return f"mandatory rule {first.id} is read first"
    if rule.group != first.group:
        return f'rule {first.id} of the session\'s group "{first.group}" is read before those of "{rule.group}"'
    if rule.priority != first.priority:
        return f"a later rule than {first.id}: its priority is {rule.priority}, after {first.priority}"
    return f"a later rule than {first.id}, with the same priority {rule.priority}"


def others_than(rule: Rule, agent: str | None, source: str | None) -> Iterator[tuple[str, str]]:
    """The conditions on who asks that fail."""
    for name, wanted, got in (("agent", rule.agent, agent), ("source", rule.source, source)):
        if wanted not in (None, got):
            asked = f"it is {got}" if got is not None else "none is named"
            yield name, f"holds for the {name} {wanted} only; here {asked}"


def _path_said(rule: Rule, effect: CallEffect) -> str:
    if effect.stamp is None:
        return "has a path condition, and this effect touches no path"
    where = " or ".join(str(pattern) for pattern in rule.patterns)
    return f"its path {where} does not cover {effect.stamp.path}"


def _distance(rule: Rule, condition: str, key: str | None) -> int:
    """How far off a rule is: 0 where its path fits, else the parts of the path that its best pattern leaves open."""
    if condition != "path" or key is None:
        return 0
    names = key.split("/")[1:]
    best = 0
    for pattern in rule.patterns:
        shared = 0
        for part, name in zip(pattern.literal_parts, names, strict=False):
            if part.text != name:
                break
            shared += 1
        best = max(best, shared)
    return 1 + len(names) - best
