"""Everything that can be said against a policy file: its problems, what lint proves, and what the disk adds.

Settles how the findings of one file are gathered, and which files under a denied directory have further names. Does not
settle what a problem is (`policy.building`) nor what lint proves (`policy.lint`).
"""

from __future__ import annotations

import os
import shutil
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stanch.app.loading import canonical_home, engine_for, read_document
from stanch.app.organization_fetching import from_file
from stanch.app.organization_opening import file_of
from stanch.app.shell_world import verbs
from stanch.host.program import environment
from stanch.paths.canonical import Canonicaliser
from stanch.paths.pattern import PathPattern
from stanch.policy.building import build
from stanch.policy.changes import quoted
from stanch.policy.document import Document, Policy
from stanch.policy.lint import Finding, FindingKind, lint, written
from stanch.policy.organization import Unfetched
from stanch.policy.organization_rules import meaningless
from stanch.policy.places import Places
from stanch.policy.rows import ORGANIZATION
from stanch.policy.rule import Rule
from stanch.policy.shell.builtins import HANDLERS
from stanch.policy.shell.verbs import Verb
from stanch.values.decision import Effect
from stanch.values.fault import BadInput, Problem

MAX_ENTRIES = 50_000
MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class Checked:
    """A policy file read whole: the policy that is made of it, every problem, and the home that `~` stands for."""

    policy: Policy
    problems: tuple[Problem, ...]
    home: str


def check_file(path: Path) -> Checked:
    """The policy of a file with every problem, a workspace that cannot be used among them.

    Raises `BadInput` where the file cannot be read at all.
    """
    document = read_document(path)
    home = canonical_home(Canonicaliser())
    folder = path.absolute().parent
    try:
        policy = engine_for(document, folder, path).policy
    except BadInput as why:
        policy = build(document, workspace=str(folder), home=home)
        found = Problem(_workspace_line(document), "workspace", str(why))
        return Checked(policy, tuple(sorted((*policy.problems, found), key=lambda p: p.line)), home)
    return Checked(policy, policy.problems, home)


def _workspace_line(document: Document) -> int:
    return Places(document.text).line(("workspace",))


def path_forms(checked: Checked) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """For every path pattern of the policy its place, the path as written, and the absolute forms it is read as."""
    policy = checked.policy
    found = [
        (rule.place, rule.path, tuple(map(str, rule.patterns)))
        for rules in (*(group.rules for group in policy.groups.values()), policy.tables.rows)
        for rule in rules
        if rule.path is not None
    ]
    for tier in policy.tiers.values():
        for cell, forms in zip(tier.cells, tier.patterns, strict=True):
            if forms and not tier.shipped:
                found.append((f"tier {tier.id}", cell["path"], tuple(map(str, forms))))
    return tuple(found)


def lint_file(checked: Checked, *, most: int = MAX_ENTRIES) -> list[Finding]:
    """What lint proves of the policy, then the files under denied directories that have more than one name.

    At most `most` entries of the disk are looked at; where that cut the search off, a finding says so.
    """
    if checked.policy.broken is not None or any(problem.where == "workspace" for problem in checked.problems):
        return lint(checked.policy, inert_programs())
    found = lint(checked.policy, inert_programs())
    further = (*missing_programs(checked.policy), *organization_allows(checked))
    return [*found, *further, *linked_files(checked.policy, most=most)]


def missing_programs(policy: Policy) -> Iterator[Finding]:
    """The application's policy and the hooks whose program is not there to be started, as they are found here."""
    caller = policy.tables.caller_policy
    asked = [("caller_policy", caller)] if caller is not None else []
    asked += [(f"hook {number}", hook.program) for number, hook in enumerate(policy.tables.hooks, start=1)]
    where = environment(os.environ)["PATH"]
    for place, program in asked:
        word = program.command[0]
        if shutil.which(os.path.join(policy.workspace, word) if "/" in word else word, path=where) is None:
            missing = f"its program {quoted(word)} is not there to be started"
            yield Finding(FindingKind.NO_PROGRAM, place, "", 0, f"{missing}; no call that it has a say in is allowed")


def organization_allows(checked: Checked) -> Iterator[Finding]:
    """The allows among the rules of an organization that are in a file: its rules only narrow. No address is asked."""
    named = checked.policy.organization
    path = None if named is None else file_of(named, checked.policy.workspace, checked.home)
    try:
        fetched = None if path is None else from_file(path)("")
    except Unfetched:
        return
    for number in () if fetched is None else meaningless(fetched.rows):
        message = f"rule {number} of the organization allows, and so says nothing: its rules only deny and ask"
        place = f"{ORGANIZATION}:{number}"
        yield Finding(FindingKind.SAYS_NOTHING, place, ORGANIZATION, number, message)


def inert_programs() -> frozenset[str]:
    """The programs that do nothing by themselves, or may not: the shell's own, and those that only run others."""
    found = {
        name for name, verb in verbs().items() if any(one.inert or one.wrapper == "plain" for one in _with_subs(verb))
    }
    return frozenset(found) | frozenset(HANDLERS)


def _with_subs(verb: Verb) -> Iterator[Verb]:
    yield verb
    for below in verb.subs.values():
        yield from _with_subs(below)


def linked_files(policy: Policy, *, most: int = MAX_ENTRIES) -> Iterator[Finding]:
    """Files that a deny rule covers and that have further names, under which no rule may cover them.

    Looks below the literal head of each deny pattern, and for a pattern without one (`/**/secrets`) in the workspace.
    """
    denying = [
        (rule, pattern)
        for rule in written(policy)
        if rule.action is Effect.DENY and rule.agent is None and rule.source is None and rule.command is None
        for pattern in rule.patterns
    ]
    search = _Search(most)
    linked: dict[str, list[tuple[str, int]]] = {}
    rules: dict[str, Rule] = {}
    named: set[str] = set()
    for start in _starts(denying, policy.workspace):
        for file, names in search.linked(start):
            key = unicodedata.normalize("NFC", file)
            rule = next((rule for rule, pattern in denying if pattern.covers(key)), None)
            if rule is not None and file not in named:
                named.add(file)
                rules[rule.place] = rule
                linked.setdefault(rule.place, []).append((file, names))
    for place, files in linked.items():
        yield _finding(rules[place], files)
    if search.cut_off and denying:
        rule = denying[0][0]
        message = f"only the first {most:,} files and directories were looked at; more files may have further names"
        yield Finding(FindingKind.CUT_OFF, rule.place, rule.group, rule.id, message)


def _finding(rule: Rule, files: list[tuple[str, int]]) -> Finding:
    shown = ", ".join(f"{file} ({names} names)" for file, names in files[:MAX_NAMED])
    further = f" and {len(files) - MAX_NAMED} more" if len(files) > MAX_NAMED else ""
    message = (
        f"rule {rule.id} ({rule.words}) covers files that have other names too, under which it may not cover them: "
        f"{shown}{further}; remove the other names (find -samefile lists them)"
    )
    return Finding(FindingKind.FILE_HAS_LINKS, rule.place, rule.group, rule.id, message)


def _starts(denying: list[tuple[Rule, PathPattern]], workspace: str) -> list[str]:
    """Where to look: below the literal head of each pattern, else in the workspace; no place within another."""
    starts = {pattern.literal or workspace for _, pattern in denying}
    return sorted(one for one in starts if not any(one != other and _below(one, other) for other in starts))


def _below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")


class _Search:
    """A walk over the disk that follows no link and gives up after so many entries."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.cut_off = False

    def linked(self, start: str) -> Iterator[tuple[str, int]]:
        """Every regular file at or below the start that has more than one name, with their number."""
        try:
            found = os.lstat(start)
        except OSError:
            return
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            yield start, found.st_nlink
        todo = [start] if stat.S_ISDIR(found.st_mode) else []
        while todo:
            try:
                entries = sorted(os.scandir(todo.pop()), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                if self._left == 0:
                    self.cut_off = True
                    return
                self._left -= 1
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    names = _names(entry)
                    if names > 1:
                        yield entry.path, names


def _names(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_nlink
    except OSError:
        return 0
