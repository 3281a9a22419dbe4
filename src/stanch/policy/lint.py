"""What can be said against a policy without a call: rules that never fire, tools that nobody knows, wide allows.

Settles the findings that follow from the policy alone. Does not settle whether the policy can be read at all
(`policy.building`), nor what the disk adds (`app.linting`). INVARIANT: a finding is certain. Where it cannot be proved
that a rule never fires, nothing is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from stanch.paths.pattern import glob
from stanch.policy.changes import quoted
from stanch.policy.declared import Form, Tool
from stanch.policy.dialects import path_said, tool_said
from stanch.policy.document import Policy
from stanch.policy.known_tools import server_of, tool_named
from stanch.policy.layer_tables import unfenced
from stanch.policy.meant import nearest
from stanch.policy.overlap import partly_unreachable
from stanch.policy.reach import kinds_of, named_by, spoken_of
from stanch.policy.reading import Reading
from stanch.policy.rule import BUILTIN_FOR, CLASSES, DEFAULT_GROUP, Rule, in_order
from stanch.policy.shell.matching import command_pattern
from stanch.policy.shell.width import too_wide
from stanch.policy.tier_lint import idle_cells
from stanch.values.decision import Effect

# How near a name must be to a known one: `Raed` to `Read`.
_NEAR = 0.75
# The place of a rule that is kept in the database.
IN_DATABASE = "database"


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
    TOO_WIDE = "too_wide"
    ALLOWS_ALL = "allows_all"
    OTHER_DIALECT = "other_dialect"
    NO_TOOL_NAME = "no_tool_name"
    NEVER_DECIDES = "never_decides"
    NO_FENCE = "no_fence"
    SAYS_NOTHING = "says_nothing"
    NO_PROGRAM = "no_program"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that can be said against a rule: which kind, the rule and its place, in words, and further places.

    `group` is empty and `rule` 0 where it is about a cell of a trust tier, a skill or a program.
    """

    kind: FindingKind
    place: str
    group: str
    rule: int
    message: str
    others: tuple[str, ...] = ()


def lint(policy: Policy, inert: Collection[str] = ()) -> list[Finding]:
    """Every finding, in the order of the file. A broken policy or group has none: it has problems instead.

    `inert` are programs that do nothing by themselves: a rule that names one is asked in its own place, and may speak
    behind any other.
    """
    if policy.broken is not None:
        return []
    found = [*_tool_findings(policy), *_condition_findings(policy), *_allow_findings(policy)]
    found += _order_findings(policy, inert)
    found += [
        Finding(FindingKind.NO_FENCE, place, "", 0, said) for place, said in unfenced(policy.tables.skills.values())
    ]
    if policy.broken_tiers is None:
        kind = FindingKind.NEVER_DECIDES
        found += [Finding(kind, one.place, "", 0, one.message, one.others) for one in idle_cells(policy.tiers)]
    return sorted(found, key=lambda one: (line_of(one.place), one.kind.value))


def line_of(place: str) -> int:
    """The line of a place such as `stanch.toml:6`; 0 where it has none."""
    line = place.rpartition(":")[2]
    return int(line) if line.isdigit() else 0


def written(policy: Policy) -> Iterator[Rule]:
    """Every rule that a person writes, in the file or in the database, group by group, and every row of the file."""
    for group in policy.groups.values():
        yield from filter(_is_written, group.rules)
    yield from policy.tables.rows


def _is_written(rule: Rule) -> bool:
    return rule.place == IN_DATABASE or line_of(rule.place) > 0


def _tool_findings(policy: Policy) -> Iterator[Finding]:
    """Tool patterns that fit no known tool: once each, at the first rule that has it."""
    servers = {server for name in policy.tools if (server := server_of(name))}
    seen: set[str] = set()
    for rule in written(policy):
        name = rule.tool
        if name in seen or name in CLASSES or tool_named(name, policy.tools) is not None:
            continue
        seen.add(name)
        instead = tool_said(name, policy.tools)
        if instead is not None:
            yield _finding(FindingKind.NO_TOOL_NAME, rule, f"'{name}' is no tool: {instead}")
        elif "*" not in name:
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
    close = near(name, tools)
    if close is not None:
        message = f"no tool is known as '{name}'; did you mean '{close}'? If not, declare it under {header(name)}"
        return _finding(FindingKind.UNKNOWN_TOOL, rule, message)
    message = (
        f"the tool '{name}' is not declared: a call of it counts as all four effects on everything in it that looks "
        f"like a path, and only an allow rule that names it can allow it; declare it under {header(name)}"
    )
    return _finding(FindingKind.UNDECLARED_TOOL, rule, message)


def near(name: str, tools: Mapping[str, Tool]) -> str | None:
    """The known tool of nearly this name that may be meant, of the same MCP server if of any; None for none."""
    server = server_of(name)
    behind = 0 if server is None else len(f"mcp__{server}__")
    words = {tool[behind:]: tool for tool in tools if "*" not in tool and server_of(tool) == server}
    close = nearest(name[behind:], words, cutoff=_NEAR)
    return None if close is None else words[close]


def header(name: str) -> str:
    """The header of the table that declares a tool, as TOML writes it."""
    bare = name.replace("_", "").replace("-", "")
    return f"[tools.{name}]" if bare.isascii() and bare.isalnum() else f"[tools.{quoted(name)}]"


def _condition_findings(policy: Policy) -> Iterator[Finding]:
    """Conditions that keep a rule from ever fitting a call of the tool that it names."""
    for rule in written(policy):
        looks = path_said(rule.path) if rule.path is not None else None
        if looks is not None:
            yield _finding(
                FindingKind.OTHER_DIALECT, rule, f"the path '{rule.path}' may not say what it seems to: {looks}"
            )
        tool = tool_named(rule.tool, policy.tools)
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


def _allow_findings(policy: Policy) -> Iterator[Finding]:
    """Allow rules that cover more than they seem to, and those that allow all there is."""
    guarded = {group.id for group in policy.groups.values() if any(map(_guards, group.rules))}
    for rule in written(policy):
        if rule.action is not Effect.ALLOW or rule.path is not None:
            continue
        if rule.command is not None:
            why = too_wide(command_pattern(rule.command))
            if why is not None and rule.note is None:  # WHY: whoever writes a note has thought about it
                yield _finding(FindingKind.TOO_WIDE, rule, f"{_said(rule)} covers more than it seems: {why}")
            continue
        if rule.tool == "@execute" or _commands_alone(rule.tool, policy.tools):
            message = (
                f"note: {_said(rule)} allows every command that can be read, whatever it runs; with 'command' a rule "
                f"names those that are meant"
            )
            yield _finding(FindingKind.ALLOWS_ALL, rule, message)
        bare = not rule.tool.strip("*") and (rule.agent, rule.source) == (None, None)
        if bare and not guarded & {rule.group, DEFAULT_GROUP}:
            message = (
                f"note: {_said(rule)} allows every known tool everywhere, commands too, and no mandatory deny is read "
                f"before it; only what cannot be read and tools that nobody declared still ask"
            )
            yield _finding(FindingKind.ALLOWS_ALL, rule, message)


def _guards(rule: Rule) -> bool:
    return rule.mandatory and rule.action is Effect.DENY


def _commands_alone(name: str, tools: Mapping[str, Tool]) -> bool:
    """True for a pattern that names known tools, each of which runs a command."""
    if "*" not in name:
        named = tool_named(name, tools)
        return named is not None and _runs_command(named)
    fitting = [tool for known, tool in tools.items() if glob(name)(known)]
    return bool(name.strip("*")) and bool(fitting) and all(map(_runs_command, fitting))


def _order_findings(policy: Policy, inert: Collection[str]) -> Iterator[Finding]:
    """Rules that others, read before them, keep from speaking: wholly, or an allow a later deny in part."""
    default = policy.groups[DEFAULT_GROUP]
    for group in policy.groups.values():
        if group.broken is not None:
            continue
        chain = in_order(group.rules)
        if group.id != DEFAULT_GROUP:
            chain += in_order(default.rules)
        reading = Reading(chain, inert)
        own = [rule for rule in reading.order if rule.group == group.id and _is_written(rule)]
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
    line = line_of(rule.place)
    where = f"line {line}" if line else ("database" if rule.place == IN_DATABASE else "built in")
    return f"{mandatory}rule {rule.id}{group} ({rule.words}, {where})"


def _finding(kind: FindingKind, rule: Rule, message: str, others: tuple[str, ...] = ()) -> Finding:
    return Finding(kind, rule.place, rule.group, rule.id, message, others)
