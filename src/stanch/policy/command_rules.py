"""The rules that speak of commands, by program: which of them fits a simple command first.

Settles the first fitting rule among those with a command pattern. Does not settle how it stands to the rules without
one (`policy.index` has both in one order of ranks) nor what a pattern fits (`policy.shell.matching`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stanch.policy.reach import reaches
from stanch.policy.rule import Rule
from stanch.policy.shell.matching import CommandPattern, command_pattern
from stanch.values.call import EffectClass
from stanch.values.command import Command
from stanch.values.decision import Answer, Effect


class Entry(NamedTuple):
    """A rule with a command pattern, its place in the order of all rules, and its answer."""

    rank: int
    rule: Rule
    pattern: CommandPattern
    answer: Answer

    def fits(self, command: Command) -> bool:
        """True where the pattern fits: generously for a rule that refuses, to the last word for one that allows."""
        if self.rule.action is Effect.ALLOW:
            return self.pattern.allows(command)
        return self.pattern.refuses(command)


class CommandRules:
    """The rules with a command pattern, filed by the program that the pattern names."""

    def __init__(self, ranked: Iterable[tuple[int, Rule]]) -> None:
        self.entries: list[Entry] = []
        self._by_program: dict[str, list[Entry]] = {}
        self._any_program: list[Entry] = []
        for rank, rule in ranked:
            pattern = command_pattern(rule.command or "")
            entry = Entry(rank, rule, pattern, rule.answer())
            self.entries.append(entry)
            program = pattern.programs
            (self._any_program if program is None else self._by_program.setdefault(program, [])).append(entry)

    def candidates(self, command: Command, *, named: bool = False) -> list[Entry]:
        """The rules that may fit the command, in order. `named`: only those that name its program."""
        own = self._by_program.get(command.program, [])
        if named or not self._any_program:
            return own
        return sorted([*own, *self._any_program]) if own else self._any_program

    def first(
        self,
        command: Command,
        tool: str,
        cls: EffectClass | None,
        *,
        declared: bool,
        agent: str | None,
        source: str | None,
        named: bool = False,
        key: str | None = None,
        refusing: bool = False,
    ) -> Entry | None:
        """The first rule that fits. `key` is the path that the command touches: only rules with a path fit then.

        `refusing`: only those that deny or ask.
        """
        for entry in self.candidates(command, named=named):
            rule = entry.rule
            if refusing and rule.action is Effect.ALLOW:
                continue
            if rule.agent not in (None, agent) or rule.source not in (None, source):
                continue
            if (rule.path is None) is not (key is None) or not reaches(rule, tool, cls, declared):
                continue
            if key is not None and not any(pattern.covers(key) for pattern in rule.patterns):
                continue
            if entry.fits(command):
                return entry
        return None
