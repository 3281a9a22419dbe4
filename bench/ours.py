"""The seam between the benchmarks and Stanch's engine: the one file here that knows how Stanch is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.workload import GROUPS, BenchRule
from stanch.paths.pattern import parse
from stanch.policy.index import RuleIndex
from stanch.policy.rule import DEFAULT_GROUP, Rule, in_order
from stanch.values.decision import Effect


class Ours:
    """Stanch's rules, loaded and indexed. `group` and `default` are walked by (priority, id); no match is `ask`."""

    def __init__(self, rules: Sequence[BenchRule]) -> None:
        by_group: dict[str, list[Rule]] = {group: [] for group in GROUPS}
        for rule in rules:
            by_group[rule.group].append(_rule(rule))
        default = in_order(tuple(by_group[DEFAULT_GROUP]))
        self._indexes = {DEFAULT_GROUP: RuleIndex(default)}
        for group, own in by_group.items():
            if group != DEFAULT_GROUP:
                self._indexes[group] = RuleIndex([*in_order(tuple(own)), *default])

    def bind(self, group: str, agent: str, source: str) -> Callable[[str, str | None], str]:
        """A session's decider: tool and canonical path to `allow`, `ask` or `deny`, with no memo of whole calls."""
        index = self._indexes[group]
        decide, words = index.bind(agent, source), [*(rule.action.value for rule in index.rules), "ask"]

        def answer(tool: str, path: str | None) -> str:
            return words[decide(tool, None, True, path)]

        return answer


def _rule(rule: BenchRule) -> Rule:
    patterns = () if rule.path is None else (parse(rule.path, "/", "/root"),)
    return Rule(
        rule.id,
        rule.group,
        rule.tool,
        Effect(rule.action),
        rule.priority,
        rule.path,
        agent=rule.agent,
        source=rule.source,
        patterns=patterns,
    )


def compile_pattern(text: str) -> Callable[[str], bool]:
    """A path pattern, ready to be held against canonical paths."""
    return parse(text, "/", "/root").covers
