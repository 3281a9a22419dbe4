"""One change of a policy as a value: a rule, a grant or a cell of a trust tier, and the policy that has it.

Settles what a single change is, how far it reaches, and what it makes of a policy. Does not settle which change answers
a question (`app.flipping`), nor how one is written into a file (`policy.patching`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from stanch.paths.pattern import PathPattern
from stanch.policy.document import Policy, TierSpec
from stanch.policy.rule import BUILTIN_FOR, CLASSES, DEFAULT_GROUP, Group, Rule, in_order
from stanch.values.call import EffectClass
from stanch.values.context import RunContext
from stanch.values.decision import Effect

V = TypeVar("V")


class What(StrEnum):
    """What is done."""

    ADD = "add"
    EDIT = "edit"
    REMOVE = "remove"


class Kind(StrEnum):
    """What it is done to, in the order in which of two like changes the one is the smaller."""

    GRANT = "grant"
    RULE = "rule"
    TIER_CELL = "tier_cell"


class Paths(IntEnum):
    """How many paths, or commands, a change speaks of."""

    EXACT = 0
    DIRECTORY = 1
    GLOB = 2
    ANY = 3


class Tools(IntEnum):
    """How many tools a change speaks of."""

    ONE = 0
    SOME = 1
    CLASS = 2
    ANY = 3


class Who(IntEnum):
    """For how many sessions a change holds."""

    SOME = 0
    ALL = 1


class Reach(NamedTuple):
    """How far a change reaches; the smaller tuple is the narrower reach."""

    paths: Paths
    tools: Tools
    who: Who


class Owner(NamedTuple):
    """Whose default run context it is: that of an `agent` or of a `source`, by name."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule of a group that is added (`before` is None), removed (`after` is None), or has another action.

    `above` is the id of the rule that an added one is put directly before; None: it is the last of its group.
    """

    group: str
    before: Rule | None
    after: Rule | None
    above: int | None = None
    kind: Kind = Kind.RULE

    @property
    def what(self) -> What:
        """What is done."""
        return _what(self.before is None, self.after is None)

    @property
    def rule(self) -> Rule:
        """The rule that it is about, as it is or, where it is added, as it would be."""
        rule = self.after if self.before is None else self.before
        if rule is None:
            raise ValueError("a change is about a rule")
        return rule


@dataclass(frozen=True, slots=True)
class CellChange:
    """What a tier says of a class of effects at a path.

    `cell` is the number of the cell that has another word then, 0 for `otherwise`, None for a new one, whose `path` is
    as written. `before` is None for a new one.
    """

    tier: str
    cls: EffectClass
    cell: int | None
    before: Effect | None
    after: Effect
    path: str = ""
    patterns: tuple[PathPattern, ...] = ()
    kind: Kind = Kind.TIER_CELL

    @property
    def what(self) -> What:
        """What is done."""
        return _what(self.before is None, False)


@dataclass(frozen=True, slots=True)
class GrantChange:
    """A grant of a run context, added or `removed`. `owner` is whose default it is; None: the session's own context."""

    cls: EffectClass
    path: str
    removed: bool = False
    owner: Owner | None = None
    kind: Kind = Kind.GRANT

    @property
    def what(self) -> What:
        """What is done."""
        return _what(not self.removed, self.removed)

    @property
    def key(self) -> str:
        """The key of the run context that holds such grants."""
        return f"allow_fs_{self.cls.value}s"


Change = RuleChange | CellChange | GrantChange


def _what(added: bool, removed: bool) -> What:
    return What.ADD if added else What.REMOVE if removed else What.EDIT


def changed(policy: Policy, change: Change) -> Policy:
    """The policy with the change in it; its version and places are those of the one before."""
    if isinstance(change, RuleChange):
        group = policy.groups[change.group]
        return replace(policy, groups=_with(policy.groups, change.group, replace(group, rules=_rules(group, change))))
    if isinstance(change, CellChange):
        return replace(policy, tiers=_with(policy.tiers, change.tier, _tier(policy.tiers[change.tier], change)))
    if change.owner is None:
        return policy
    kind, name = change.owner
    key = f"{kind}_defaults"
    contexts: Mapping[str, RunContext] = getattr(policy, key)
    context = granted(contexts.get(name, RunContext()), change)
    return replace(policy, **{key: _with(contexts, name, context)})  # type: ignore[arg-type]


def granted(context: RunContext, change: GrantChange) -> RunContext:
    """The run context with the grant, or without it."""
    held: tuple[str, ...] = getattr(context, change.key)
    new = tuple(one for one in held if one != change.path) if change.removed else (*held, change.path)
    return replace(context, **{change.key: new})  # type: ignore[arg-type]


def _with(table: Mapping[str, V], key: str, value: V) -> Mapping[str, V]:
    return MappingProxyType({**table, key: value})


def _rules(group: Group, change: RuleChange) -> tuple[Rule, ...]:
    """The rules of the group then, numbered by their positions, as a file has them."""
    rules = [rule for rule in group.rules if change.before is None or rule.id != change.before.id]
    if change.after is not None:
        same = None if change.before is None else change.before.id
        at = len(rules) if same is change.above is None else _position(group.rules, same or change.above)
        rules.insert(at, change.after)
    numbered = all(rule.id == at for at, rule in enumerate(group.rules, 1))
    if not numbered:  # WHY: the store's numbers are its own, and a new rule there has the highest
        last = max((rule.id for rule in group.rules), default=0) + 1
        return tuple(replace(one, id=last) if one is change.after and change.before is None else one for one in rules)
    return tuple(rule if rule.id == at else replace(rule, id=at) for at, rule in enumerate(rules, 1))


def _position(rules: tuple[Rule, ...], wanted: int | None) -> int:
    return next(at for at, rule in enumerate(rules) if rule.id == wanted)


def _tier(spec: TierSpec, change: CellChange) -> TierSpec:
    word = change.after.value
    if change.cell == 0:
        return replace(spec, otherwise=MappingProxyType({**spec.otherwise, change.cls.value: change.after}))
    if change.cell is None:
        cell = {"path": change.path, change.cls.value: word}
        places = (*spec.places, spec.places[0]) if spec.places else ()
        return replace(spec, cells=(*spec.cells, cell), patterns=(*spec.patterns, change.patterns), places=places)
    cells = list(spec.cells)
    cells[change.cell - 1] = {**cells[change.cell - 1], change.cls.value: word}
    return replace(spec, cells=tuple(cells))


def edited(rule: Rule, action: Effect) -> RuleChange:
    """The change of a rule's action. A mandatory rule cannot allow: the caller asks for no such thing."""
    return RuleChange(rule.group, rule, replace(rule, action=action))


def removed(rule: Rule) -> RuleChange:
    """The change that takes a rule out."""
    return RuleChange(rule.group, rule, None)


def reach_of(rule: Rule, key: str | None, *, directory: bool) -> Reach:
    """How far a rule reaches, beside the call whose target has this key: a `directory` has others below it."""
    some = rule.group != DEFAULT_GROUP or rule.agent is not None or rule.source is not None
    return Reach(_paths(rule, key, directory), _tools(rule), Who.SOME if some else Who.ALL)


def _paths(rule: Rule, key: str | None, directory: bool) -> Paths:
    if rule.command is not None:
        return Paths.GLOB if "*" in rule.command or " " not in rule.command else Paths.EXACT
    if rule.path is None:
        return Paths.ANY
    if any(part.wild for pattern in rule.patterns for part in pattern.parts):
        return Paths.GLOB
    same = key is not None and any(pattern.literal == key for pattern in rule.patterns)
    return Paths.EXACT if same and not directory else Paths.DIRECTORY


def _tools(rule: Rule) -> Tools:
    if rule.tool in CLASSES:
        return Tools.CLASS
    if "*" in rule.tool:
        return Tools.SOME if rule.tool.strip("*") else Tools.ANY
    far = rule.action is not Effect.ALLOW and rule.tool in BUILTIN_FOR.values()
    return Tools.CLASS if far else Tools.ONE


def first_of(group: Group) -> Rule | None:
    """The rule of a group that is read first, but for mandatory ones; None where there is none."""
    return next((rule for rule in in_order(group.rules) if not rule.mandatory), None)


def quoted(text: str) -> str:
    """The text as TOML writes it: whatever a person cannot see, or would take for something else, is escaped."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char == " " or unicodedata.category(char)[0] not in "CZ":
            out.append(char)
        else:
            out.append(f"\\u{ord(char):04x}" if ord(char) < 1 << 16 else f"\\U{ord(char):08x}")
    return '"' + "".join(out) + '"'
