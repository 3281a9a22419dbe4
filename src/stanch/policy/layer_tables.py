"""What the policy file says of further layers, as values: skills, rows that narrow, the application's policy, hooks.

Settles the records, and how the rows of a table become rules. Does not settle what a layer of them answers
(`policy.rows`), nor how a program is asked (`app.programs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from stanch.paths.pattern import BadPattern, PathPattern, glob
from stanch.policy.rows import NARROWING, SKILL
from stanch.policy.rule import ACTIONS, CLASSES, Rule, no_class
from stanch.policy.shell.matching import command_pattern
from stanch.values.decision import Effect
from stanch.values.narrowing import Row

Location = tuple[str | int, ...]
Problems = Callable[[Location, str], None]
Patterns = Callable[[str], tuple[PathPattern, ...]]
"""The path patterns of a text: the one that is written and, where its head leads through a link, the one behind it.
Raises `BadPattern`."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: what it forbids while it is active.

    `allowed_tools` are tools that it says it uses, a note for people: they forbid no other tool.
    """

    id: str
    rules: tuple[Rule, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is asked about calls: its words, and how long it is waited for, in seconds; None as any layer."""

    command: tuple[str, ...]
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class FiledHook:
    """A program that screens calls of the tools that a pattern fits, `*` for all."""

    program: Program
    tools: str = "*"

    def fits(self, tool: str) -> bool:
        """True where the hook is asked about calls of this tool."""
        return self.tools == "*" or glob(self.tools)(tool)


_NO_SKILLS: Mapping[str, Skill] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LayerTables:
    """All that the file says of these layers."""

    skills: Mapping[str, Skill] = field(default_factory=lambda: _NO_SKILLS)
    narrowing: tuple[Rule, ...] = ()
    caller_policy: Program | None = None
    hooks: tuple[FiledHook, ...] = ()

    @property
    def rows(self) -> tuple[Rule, ...]:
        """Every row, of the skills and of `[[narrowing]]`."""
        return (*(rule for skill in self.skills.values() for rule in skill.rules), *self.narrowing)

    @property
    def programs(self) -> tuple[Program, ...]:
        """Every program that is asked about calls."""
        own = () if self.caller_policy is None else (self.caller_policy,)
        return (*own, *(hook.program for hook in self.hooks))


NO_TABLES = LayerTables()


def tables_of(
    values: Mapping[str, Any], bad: set[Location], patterns: Patterns, place: Callable[[Location], str], wrong: Problems
) -> LayerTables:
    """The tables of a document. `bad` are the places without the right shape; `wrong` is told of what is wrong."""
    reader = _Reader(bad, patterns, place, wrong)
    caller = values.get("caller_policy") if ("caller_policy",) not in bad else None
    return LayerTables(
        MappingProxyType(reader.skills(values)),
        reader.narrowing(values),
        None if caller is None else _program(caller),
        reader.hooks(values),
    )


def unfenced(skills: Iterable[Skill]) -> Iterator[tuple[str, str]]:
    """For each skill that names tools, and leaves others open, its place and what is to be said of it."""
    for skill in skills:
        if skill.allowed_tools and not any(
            rule.tool == "*" and rule.path is rule.command is None for rule in skill.rules
        ):
            yield (
                skill.place,
                (
                    f"'allowed_tools' of the skill '{skill.id}' forbids nothing: it is a note, and every other tool is "
                    "as open as it was; write [[skills.rules]] for what the skill may not use"
                ),
            )


def rule_of(row: Row, patterns: Patterns, *, mandated: bool = False) -> Rule:
    """A session's row as a rule. `mandated`: its ask is one that only a person may answer, whatever it says itself."""
    made = () if row.path is None else patterns(row.path)
    must = row.action is Effect.ASK and (mandated or row.real_approval)
    return Rule(row.id, NARROWING, row.tool, row.action, path=row.path, command=row.command, mandatory=must,
                note=row.note, place="session", patterns=made)  # fmt: skip


def row_problems(row: Mapping[str, Any], patterns: Patterns) -> Iterable[tuple[str, str]]:
    """What is wrong with a row that has the right shape: each key with what to write instead."""
    if row["tool"].startswith("@") and row["tool"] not in CLASSES:
        yield "tool", no_class(row["tool"])
    if row.get("path") is not None:
        try:
            patterns(row["path"])
        except BadPattern as why:
            yield "path", f"'path' is no path pattern: {why}"
    if row.get("command") is not None:
        try:
            command_pattern(row["command"])
        except ValueError as why:
            yield "command", f"'command' is no pattern: {why}"
    if row.get("real_approval") and row.get("action") == "deny":
        yield "real_approval", "a row that denies asks nobody; take 'real_approval' out"


def _program(row: Mapping[str, Any]) -> Program:
    return Program(tuple(row["command"]), row["timeout_ms"] / 1000 if "timeout_ms" in row else None)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns the tables of one document into values."""

    bad: set[Location]
    patterns: Patterns
    place: Callable[[Location], str]
    wrong: Problems

    def skills(self, values: Mapping[str, Any]) -> dict[str, Skill]:
        found: dict[str, Skill] = {}
        for at, row in enumerate(self._rows(values, "skills")):
            where: Location = ("skills", at)
            if where in self.bad:
                continue
            name = row["id"]
            if name in found:
                self.wrong((*where, "id"), f"the skill '{name}' stands twice; give one of them another id")
            rules = self._rules(row.get("rules", ()), (*where, "rules"), f"{SKILL}{name}")
            found[name] = Skill(name, rules, tuple(row.get("allowed_tools", ())), self.place(where))
        return found

    def narrowing(self, values: Mapping[str, Any]) -> tuple[Rule, ...]:
        return self._rules(self._rows(values, "narrowing"), ("narrowing",), NARROWING)

    def hooks(self, values: Mapping[str, Any]) -> tuple[FiledHook, ...]:
        rows = enumerate(self._rows(values, "hooks"))
        return tuple(
            FiledHook(_program(row), row.get("tools", "*")) for at, row in rows if ("hooks", at) not in self.bad
        )

    @staticmethod
    def _rows(values: Mapping[str, Any], key: str) -> list[Any]:
        written = values.get(key, [])
        return written if isinstance(written, list) else []

    def _rules(self, rows: Iterable[Mapping[str, Any]], within: Location, group: str) -> tuple[Rule, ...]:
        made = []
        for number, row in enumerate(rows):
            where = (*within, number)
            if where in self.bad:
                continue
            problems = list(row_problems(row, self.patterns))
            for key, message in problems:
                self.wrong((*where, key), message)
            if problems:
                continue
            action = ACTIONS[row.get("action", "deny")]
            path = row.get("path")
            made.append(
                Rule(number + 1, group, row["tool"], action, path=path, command=row.get("command"),
                     agent=row.get("agent"), source=row.get("source"),
                     mandatory=action is Effect.ASK and row.get("real_approval", False), note=row.get("note"),
                     place=self.place(where), patterns=() if path is None else self.patterns(path))
            )  # fmt: skip
        return tuple(made)
