"""What can be said against a policy without a call: rules that never fire, tools that nobody knows, wide allows.

Settles the findings that follow from the policy alone. Does not settle whether the policy can be read at all
(`policy.building`), nor what the disk adds (`app.linting`). INVARIANT: a finding is certain. Where it cannot be proved
that a rule never fires, nothing is said.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from stanch.paths.pattern import PathPattern, glob
from stanch.policy import covering
from stanch.policy.declared import Form, Tool
from stanch.policy.document import Policy
from stanch.policy.index import RuleIndex
from stanch.policy.known_tools import server_of
from stanch.policy.overlap import partly_unreachable
from stanch.policy.reach import Kind, kinds_of, named_by, reaches, spoken_of
from stanch.policy.rule import BUILTIN_FOR, CLASSES, DEFAULT_GROUP, Rule, in_order
from stanch.values.decision import Effect


class FindingKind(StrEnum):
    """What a finding is about."""

    NEVER_FIRES = "never_fires"
    PARTLY_UNREACHABLE = "partly_unreachable"
    UNKNOWN_TOOL = "unknown_tool"
    UNDECLARED_TOOL = "undeclared_tool"
    NO_COMMAND = "no_command"
    NO_PATH = "no_path"
    FILE_HAS_LINKS = "file_has_links"
    CUT_OFF = "cut_off"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that can be said against a rule: which kind, the rule and its place, in words, and further places."""

    kind: FindingKind
    place: str
    group: str
    rule: int
    message: str
    others: tuple[str, ...] = ()


def lint(policy: Policy) -> list[Finding]:
    """Every finding, in the order of the file. A broken policy or group has none: it has problems instead."""
    if policy.broken is not None:
        return []
    found = [*_tool_findings(policy), *_condition_findings(policy), *_order_findings(policy)]
    return sorted(found, key=lambda one: (line_of(one.place), one.kind.value))


def line_of(place: str) -> int:
    """The line of a place such as `stanch.toml:6`; 0 where it has none."""
    line = place.rpartition(":")[2]
    return int(line) if line.isdigit() else 0


def written(policy: Policy) -> Iterator[Rule]:
    """Every rule that the file itself writes, group by group."""
    for group in policy.groups.values():
        yield from (rule for rule in group.rules if line_of(rule.place))


def _tool_findings(policy: Policy) -> Iterator[Finding]:
    """Tool patterns that fit no known tool: once each, at the first rule that has it."""
    servers = {server for name in policy.tools if (server := server_of(name))}
    seen: set[str] = set()
    for rule in written(policy):
        name = rule.tool
        if name in seen or name in CLASSES or name in policy.tools:
            continue
        seen.add(name)
        if "*" not in name:
            yield _unknown_name(rule, policy.tools)
        elif not any(glob(name)(tool) for tool in policy.tools):
            server = server_of(name)
            if server is not None and "*" not in server and server not in servers:
                yield _finding(
                    FindingKind.UNDECLARED_TOOL,
                    rule,
                    f"no tool of the MCP server '{server}' is declared: a call of one counts as all four effects on "
                    f"everything in it that looks like a path; describe its tools under [tools] to have it judged "
                    f"by what it does",
                )
            else:
                yield _finding(FindingKind.UNKNOWN_TOOL, rule, f"'{name}' fits no known or declared tool")


def _unknown_name(rule: Rule, tools: Mapping[str, Tool]) -> Finding:
    name = rule.tool
    close = difflib.get_close_matches(name, tools, n=1, cutoff=0.8)
    if close and server_of(name) is None:
        message = f"no tool is known as '{name}'; did you mean '{close[0]}'? If not, declare it under {_header(name)}"
        return _finding(FindingKind.UNKNOWN_TOOL, rule, message)
    message = (
        f"the tool '{name}' is not declared: a call of it counts as all four effects on everything in it that looks "
        f"like a path, and only an allow rule that names it can allow it; declare it under {_header(name)}"
    )
    return _finding(FindingKind.UNDECLARED_TOOL, rule, message)


def _header(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return f"[tools.{name}]" if bare.isascii() and bare.isalnum() else f'[tools."{name}"]'


def _condition_findings(policy: Policy) -> Iterator[Finding]:
    """Conditions that keep a rule from ever fitting a call of the tool that it names."""
    for rule in written(policy):
        tool = policy.tools.get(rule.tool)
        if tool is None:
            continue
        if rule.command is not None and not any(effect.form is Form.COMMAND for effect in tool.effects):
            message = f"'{rule.tool}' runs no command, so a rule with 'command' never fits a call of it; take it out"
            yield _finding(FindingKind.NO_COMMAND, rule, message)
        if rule.path is not None and not any(kind.path for kind in kinds_of(rule.tool, policy.tools)):
            instead = "; for the files that a command touches write @read or @write" if _runs_command(tool) else ""
            message = f"'{rule.tool}' names no path, so a rule with 'path' never fits a call of it{instead}"
            yield _finding(FindingKind.NO_PATH, rule, message)


def _runs_command(tool: Tool) -> bool:
    return any(effect.form is Form.COMMAND for effect in tool.effects)


def _order_findings(policy: Policy) -> Iterator[Finding]:
    """Rules that others, read before them, keep from speaking: wholly, or an allow a later deny in part."""
    default = policy.groups[DEFAULT_GROUP]
    for group in policy.groups.values():
        if group.broken is not None:
            continue
        chain = in_order(group.rules)
        if group.id != DEFAULT_GROUP:
            chain += in_order(default.rules)
        reading = _Reading(chain)
        own = [rule for rule in reading.order if rule.group == group.id and line_of(rule.place)]
        settled: set[int] = set()
        for rule in own:
            before = reading.covering(rule, spoken_of(rule, policy.tools))
            by_name = () if before else reading.covering(rule, named_by(rule, policy.tools))
            settled.update([rule.id] if before or by_name else [])
            if before and not _only_repeats(rule, before):
                yield _never_fires(rule, before)
            elif by_name:
                yield _reaches_others_only(rule, by_name)
        speaking = [rule for rule in own if rule.id not in settled and not rule.mandatory]
        for allow, deny in partly_unreachable(speaking, policy.tools):
            message = (
                f"{_said(allow)} is read before {_said(deny)} and allows part of what that denies; make the deny "
                f"mandatory, put it first, or narrow the allow"
            )
            yield _finding(FindingKind.PARTLY_UNREACHABLE, deny, message, (allow.place,))


def _only_repeats(rule: Rule, before: Sequence[Rule]) -> bool:
    """True for a rule that says of one tool, by name, what a deny or ask of a built-in tool says of all like it.

    WHY: that `execute_cmd` stands for every tool that executes is easily forgotten, and to say it again does no harm.
    """
    far = {*BUILTIN_FOR.values()} - {rule.tool}
    same = all(one.action is rule.action and one.mandatory == rule.mandatory for one in before)
    return same and rule.tool not in CLASSES and "*" not in rule.tool and any(one.tool in far for one in before)


def _never_fires(rule: Rule, before: Sequence[Rule]) -> Finding:
    message = f"{_said(rule)} can never fire: {_first(rule, before)} all of it"
    return _finding(FindingKind.NEVER_FIRES, rule, message, tuple(one.place for one in before))


def _reaches_others_only(rule: Rule, before: Sequence[Rule]) -> Finding:
    """A deny or ask that extends to other tools, and that other rules keep from speaking of the tool it names."""
    message = f"{_said(rule)} can never fire for {rule.tool} itself: {_first(rule, before)} that"
    return _finding(FindingKind.PARTLY_UNREACHABLE, rule, message, tuple(one.place for one in before))


def _first(rule: Rule, before: Sequence[Rule]) -> str:
    who = " and ".join(_said(one, rule) for one in before)
    return f"{who} {'is read first and covers' if len(before) == 1 else 'are read first and together cover'}"


def _said(rule: Rule, beside: Rule | None = None) -> str:
    """The rule as it is named in a finding, with its group where that is another one's."""
    group = f' in group "{rule.group}"' if beside is not None and rule.group != beside.group else ""
    mandatory = "mandatory " if rule.mandatory else ""
    return f"{mandatory}rule {rule.id}{group} ({rule.words}, line {line_of(rule.place)})".replace(
        ", line 0)", ", seeded)"
    )


def _finding(kind: FindingKind, rule: Rule, message: str, others: tuple[str, ...] = ()) -> Finding:
    return Finding(kind, rule.place, rule.group, rule.id, message, others)


class _Reading:
    """The rules of a chain in the order in which they are read, and what is read before each."""

    def __init__(self, chain: Sequence[Rule]) -> None:
        must = [rule for rule in chain if rule.mandatory]
        denies = [rule for rule in must if rule.action is Effect.DENY]
        asks = [rule for rule in must if rule.action is Effect.ASK]
        self.order = [*denies, *asks, *(rule for rule in chain if not rule.mandatory)]
        self._rank = {(rule.group, rule.id): at for at, rule in enumerate(self.order)}
        self._index = RuleIndex(chain)
        self._commanded = [rule for rule in self.order if rule.command is not None]

    def covering(self, rule: Rule, kinds: frozenset[Kind]) -> tuple[Rule, ...]:
        """The rules that together keep this one from speaking of these kinds; empty where that is not proved."""
        if not kinds or (rule.path is not None and not rule.patterns):
            return ()
        found: dict[int, Rule] = {}
        for kind in kinds:
            for pattern in rule.patterns or (None,):
                before = self._before(rule, kind, pattern)
                if before is None:
                    return ()
                found[self._rank[before.group, before.id]] = before
        return tuple(found[at] for at in sorted(found))

    def _before(self, rule: Rule, kind: Kind, pattern: PathPattern | None) -> Rule | None:
        """A rule read before this one that covers all it says of one kind and one pattern."""
        rank = self._rank[rule.group, rule.id]
        key = None if pattern is None else covering.witness(pattern)
        who = self._index.who(rule.agent, rule.source)
        for place in self._index.all_matching(kind.tool, kind.cls, kind.declared, key, who):
            other = self._index.rules[place]
            if self._rank[other.group, other.id] >= rank:
                break
            if pattern is None or other.path is None or covering.covered_by_any(pattern, other.patterns):
                return other
        for other in self._commanded if rule.command is not None else ():
            if self._rank[other.group, other.id] >= rank:
                break
            if other.command != rule.command or not reaches(other, kind.tool, kind.cls, kind.declared):
                continue
            if other.agent not in (None, rule.agent) or other.source not in (None, rule.source):
                continue
            if other.path is None or (pattern is not None and covering.covered_by_any(pattern, other.patterns)):
                return other
        return None
