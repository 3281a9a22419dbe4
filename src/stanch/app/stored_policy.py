"""The whole policy: the groups of the file, and those that the store keeps.

Settles how the two become one, which of them speaks where both have an id, and what a row that cannot be read or means
nothing does to its group. Does not settle what a file means (`policy.building`) nor when either is read (`app.live`).
INVARIANT: a group that cannot be read whole is never read as a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from stanch.paths.pattern import BadPattern, PathPattern
from stanch.paths.pattern import parse as parse_pattern
from stanch.policy.building import Anchor, anchored
from stanch.policy.document import Document, Policy
from stanch.policy.places import Places
from stanch.policy.rule import CLASSES, DEFAULT_GROUP, Group, Rule, no_class
from stanch.policy.shell.matching import command_pattern
from stanch.storage.store import Store
from stanch.values.decision import Effect
from stanch.values.fault import Problem, StoreUnreadable, quoted
from stanch.values.records import Broken, RuleFields, RuleRecord, StoredGroup, StoredPolicy

PLACE = "database"
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store keeps of the policy, as of one policy revision; or why it cannot be read."""

    revision: int | None
    policy: StoredPolicy | None
    unreadable: str = ""


def kept_in(store: Store) -> Kept:
    """What the store keeps now. Whatever keeps it from being read is part of the answer; nothing is raised."""
    readiness = store.ready()
    if not readiness.ready:
        return Kept(None, None, readiness.problem)
    try:
        for _ in range(_TRIES):
            policy, revision = store.policy(), store.policy_revision()
            if revision <= policy.revision:
                return Kept(revision, policy)
    except StoreUnreadable as why:
        return Kept(None, None, str(why))
    return Kept(None, None, "it changes too fast to be read")


def in_file(policy: Policy) -> Mapping[str, Group]:
    """The groups that the file itself holds, of a policy that was made of a file alone."""
    default = policy.groups[DEFAULT_GROUP]
    seeded = any(rule.place == "seeded" for rule in default.rules)
    return {name: group for name, group in policy.groups.items() if not (seeded and name == DEFAULT_GROUP)}


def combined(policy: Policy, document: Document, kept: Kept, home: str, anchor: Anchor) -> Policy:
    """The policy of the file with what the store keeps.

    A group of the file takes the place of the store's `default`; any other id in both makes that group broken, since
    nobody can tell which is meant. Where the store cannot be read, the policy says so, and a `default` that is not in
    the file is unreadable.
    """
    groups = dict(in_file(policy))
    problems = list(policy.problems)
    if kept.policy is None:
        groups.setdefault(DEFAULT_GROUP, Group(DEFAULT_GROUP, unreadable=kept.unreadable))
        version = f"{policy.version}-unread"
        return replace(policy, groups=MappingProxyType(groups), version=version, unreadable=kept.unreadable)
    for stored in kept.policy.groups:
        if stored.id in groups:
            if stored.id != DEFAULT_GROUP:
                groups[stored.id], problem = _in_both(groups[stored.id], document)
                problems.append(problem)
            continue
        groups[stored.id], found = _group_of(stored, policy.workspace, home, anchor)
        problems += found
    if DEFAULT_GROUP not in groups:
        groups[DEFAULT_GROUP] = Group(DEFAULT_GROUP, unreadable=f"there is no group '{DEFAULT_GROUP}' in it")
    problems += [_about(f"rule {one.id} stands in no group: {one.problem}", "policy") for one in kept.policy.orphans]
    return replace(
        policy,
        groups=MappingProxyType(groups),
        problems=tuple(problem for problem in problems if not _is_mended(problem, policy, groups)),
        version=f"{policy.version}-{kept.revision}",
    )


def rule_problems(fields: RuleFields, workspace: str, home: str) -> list[tuple[str, str]]:
    """What is wrong with a rule that is of the right shape: each field with what to write instead."""
    found = []
    if fields.tool_pattern.startswith("@") and fields.tool_pattern not in CLASSES:
        found.append(("tool_pattern", no_class(fields.tool_pattern)))
    if fields.mandatory and fields.action is Effect.ALLOW:
        found.append(("mandatory", "an allow rule cannot be mandatory; take 'mandatory' out"))
    if fields.path_pattern is not None:
        try:
            parse_pattern(fields.path_pattern, workspace, home)
        except BadPattern as why:
            found.append(("path_pattern", f"'path_pattern' is no path pattern: {why}"))
    if fields.command_pattern is not None:
        try:
            command_pattern(fields.command_pattern)
        except ValueError as why:
            found.append(("command_pattern", f"'command_pattern' is no pattern: {why}"))
    return found


def _about(message: str, scope: str, *, warning: bool = True) -> Problem:
    return Problem(0, PLACE, message, scope, warning)


def _is_mended(problem: Problem, policy: Policy, groups: Mapping[str, Group]) -> bool:
    """True for the warning that a default context names a group that is not in the file, where the store has it."""
    keys = problem.where.split(".", 3)
    if not problem.warning or keys[:2] != ["sessions", "defaults"] or not problem.where.endswith(".security_group"):
        return False
    defaults = policy.agent_defaults if keys[2] == "agent" else policy.source_defaults
    context = defaults.get(keys[3].removesuffix(".security_group"))
    return context is not None and context.security_group in groups


def _in_both(group: Group, document: Document) -> tuple[Group, Problem]:
    written = document.values.get("groups", [])
    at = next(at for at, row in enumerate(written) if isinstance(row, dict) and row.get("id") == group.id)
    line = Places(document.text).line(("groups", at))
    message = (
        f"the group {quoted(group.id)} stands in {document.file} and in the database; give one of them another id, or "
        "delete the one in the database"
    )
    broken = Group(group.id, group.name, group.description, broken=f"{document.file}:{line} and in the database")
    return broken, Problem(line, f"groups.{at}.id", message, f"group:{group.id}")


def _group_of(stored: StoredGroup, workspace: str, home: str, anchor: Anchor) -> tuple[Group, list[Problem]]:
    """The group of its rows, with what is wrong with them."""
    scope = f"group:{stored.id}"
    record = stored.group
    if isinstance(record, Broken):
        message = f"the group {quoted(stored.id)} cannot be read: {record.problem}"
        return Group(stored.id, unreadable=message), [_about(message, scope, warning=False)]
    broken, problems, rules = None, [], []
    for rule in _rows(stored.rules):
        if isinstance(rule, Broken):
            wrong = [rule.problem]
        else:
            wrong = [message for _, message in rule_problems(rule, workspace, home)]
        if wrong:
            broken = broken or f"rule {rule.id} in the database"
            problems += [_about(f"rule {rule.id}: {message}", scope, warning=False) for message in wrong]
        elif isinstance(rule, RuleRecord):
            rules.append(_rule_of(rule, workspace, home, anchor))
    made = tuple(rules) if broken is None else ()
    return Group(record.id, record.name, record.description, made, broken), problems


def _rows(rules: tuple[RuleRecord, ...] | Broken) -> Iterator[RuleRecord | Broken]:
    yield from (rules,) if isinstance(rules, Broken) else rules


def _rule_of(row: RuleRecord, workspace: str, home: str, anchor: Anchor) -> Rule:
    patterns: tuple[PathPattern, ...] = ()
    if row.path_pattern is not None:
        patterns = anchored(parse_pattern(row.path_pattern, workspace, home), anchor)
    source = None if row.source is None else row.source.value
    return Rule(
        row.id, row.group_id, row.tool_pattern, row.action, row.priority, row.path_pattern, row.command_pattern,
        row.agent_id, source, row.mandatory, row.note, PLACE, patterns,
    )  # fmt: skip
