"""A rule: for whom, which tool, which path or command, and what it says.

Settles the record and the answer made from it. Does not settle which rule wins (`policy.index`).
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from stanch.paths.pattern import PathPattern
from stanch.values.call import EffectClass
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId, RuleRef

CLASSES = {f"@{cls.value}": cls for cls in EffectClass}
# A deny or ask that names one of these reaches every tool's call with that effect.
BUILTIN_FOR = {EffectClass.READ: "read_file", EffectClass.WRITE: "write_file", EffectClass.EXECUTE: "execute_cmd"}
ACTIONS = {"allow": Effect.ALLOW, "ask": Effect.ASK, "require": Effect.ASK, "deny": Effect.DENY}
DEFAULT_PRIORITY = 100
DEFAULT_GROUP = "default"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a permission group.

    `id` is the rule's position in its group, from 1; with `priority` (lower first) it gives the order. `patterns` holds
    the path pattern and, where its head leads through a link, the same pattern behind that link.
    """

    id: int
    group: str
    tool: str
    action: Effect
    priority: int = DEFAULT_PRIORITY
    path: str | None = None
    command: str | None = None
    agent: str | None = None
    source: str | None = None
    mandatory: bool = False
    note: str | None = None
    place: str = ""
    patterns: tuple[PathPattern, ...] = ()

    @property
    def words(self) -> str:
        """The rule as a person would say it: `deny read_file on secrets/**`."""
        parts = [self.action.value, self.tool]
        if self.path is not None:
            parts.append(f"on {self.path}")
        if self.command is not None:
            parts.append(f"for the command {self.command}")
        if self.agent is not None:
            parts.append(f"by {self.agent}")
        if self.source is not None:
            parts.append(f"from {self.source}")
        return " ".join(parts)

    def answer(self, layer: LayerId = LayerId.PERSISTED_RULES) -> Answer:
        """What the rule says when it is the one that decides."""
        ref = RuleRef(self.id, self.group, self.place, self.words, self.note)
        mandated = self.mandatory and self.action is Effect.ASK
        return Answer(self.action, Code.RULE, layer, ref, mandated)


@dataclass(frozen=True, slots=True)
class Group:
    """A permission group: ordered rules, or none that may be relied on where `broken` says what is wrong with one.

    `unreadable` says that the group itself cannot be read, and why: nobody knows then which rules it has.
    INVARIANT: a group that is broken or unreadable is never read as an empty one.
    """

    id: str
    name: str = ""
    description: str = ""
    rules: tuple[Rule, ...] = ()
    broken: str | None = None
    unreadable: str | None = None


def in_order(rules: tuple[Rule, ...]) -> list[Rule]:
    """The rules of one group as they are read: lower priority first, then lower id."""
    return sorted(rules, key=lambda rule: (rule.priority, rule.id))


def no_class(tool: str) -> str:
    """The message for an effect class that there is none of."""
    close = difflib.get_close_matches(tool, CLASSES, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"'{tool}' is no effect class; {hint}write one of {', '.join(CLASSES)}"
