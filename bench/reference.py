"""What every engine is held against: the plain walk down the rules, and the floor below which nobody can go.

`Reference` defines the right answer and is also timed, as "a list of precompiled patterns": each tool and path pattern
is compiled once, and a call tries one rule after another. `Floor` is one look-up of the call's tuple in a dict that
already holds the answer. Its keys are equal to the calls but not the same objects, as they would be in life.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bench.workload import GROUPS, BenchCall, BenchRule, walk_order

Matcher = Callable[[str], "re.Match[str] | None"]
Step = tuple[str | None, str | None, Matcher, Matcher | None, str]


def tool_matcher(pattern: str) -> Matcher:
    """Match a whole tool name; only `*` is special."""
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")) + r"\Z", re.DOTALL).match


def path_expression(pattern: str) -> str:
    """A regular expression for a path pattern, to be matched at the start of a canonical path.

    Plain translation: sound, but many stars make it slow on a hostile pattern, so it is for the workload's rules only.
    """
    written = ""
    for part in pattern.removeprefix("/").split("/"):
        if part == "**":
            written += "(?:/[^/]+)*"
        else:
            written += "/" + "".join({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char) for char in part)
    return written + r"(?:/|\Z)"


def path_matcher(pattern: str) -> Matcher:
    """Match a canonical path that the pattern names, or that lies below a directory it names."""
    return re.compile(path_expression(pattern), re.DOTALL).match


def walk(steps: Iterable[Step], call: BenchCall) -> tuple[int, str]:
    """The place of the first rule that matches, and its action; no match is `ask`."""
    place = -1
    for place, (agent, source, tool_fits, path_fits, action) in enumerate(steps):
        if (
            (agent is None or agent == call.agent)
            and (source is None or source == call.source)
            and tool_fits(call.tool)
            and (path_fits is None or (call.path is not None and path_fits(call.path)))
        ):
            return place, action
    return place + 1, "ask"


class Reference:
    """The rules of each group's sessions in order, patterns compiled, walked from the top."""

    def __init__(self, rules: list[BenchRule]) -> None:
        self.steps: dict[str, list[Step]] = {
            group: [self._step(rule) for rule in walk_order(rules, group)] for group in GROUPS
        }

    @staticmethod
    def _step(rule: BenchRule) -> Step:
        path_fits = None if rule.path is None else path_matcher(rule.path)
        return rule.agent, rule.source, tool_matcher(rule.tool), path_fits, rule.action

    def answer(self, call: BenchCall) -> tuple[int, str]:
        """The place of the first match in the walk (its length if there is none) and the answer."""
        return walk(self.steps[call.group], call)

    def decide(self, call: BenchCall) -> str:
        """The answer, in the way a list would be written for speed: no places, no helper calls."""
        _, call_agent, call_source, call_tool, call_path = call
        for agent, source, tool_fits, path_fits, action in self.steps[call[0]]:
            if agent is not None and agent != call_agent:
                continue
            if source is not None and source != call_source:
                continue
            if not tool_fits(call_tool):
                continue
            if path_fits is None or (call_path is not None and path_fits(call_path)):
                return action
        return "ask"


class Proposer:
    """The same walk over only those rules whose tool pattern fits: quick enough to look for early and late calls."""

    def __init__(self, reference: Reference) -> None:
        self._steps = reference.steps
        self._fitting: dict[tuple[str, str], list[tuple[int, Step]]] = {}

    def first_match(self, call: BenchCall) -> int:
        key = (call.group, call.tool)
        fitting = self._fitting.get(key)
        if fitting is None:
            fitting = [(place, step) for place, step in enumerate(self._steps[call.group]) if step[2](call.tool)]
            self._fitting[key] = fitting
        for place, (agent, source, _, path_fits, _) in fitting:
            if (
                (agent is None or agent == call.agent)
                and (source is None or source == call.source)
                and (path_fits is None or (call.path is not None and path_fits(call.path)))
            ):
                return place
        return len(self._steps[call.group])


class Floor:
    """The answers in a dict, by the call's tuple."""

    def __init__(self, answers: Iterable[tuple[BenchCall, str]]) -> None:
        self.decide = {self._copied(call): answer for call, answer in answers}.__getitem__

    @staticmethod
    def _copied(call: BenchCall) -> BenchCall:
        return call._replace(path=None if call.path is None else "".join(list(call.path)))
