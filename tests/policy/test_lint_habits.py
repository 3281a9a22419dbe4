"""Does lint find what people bring along from other programs, and allows that allow nothing or all there is?"""

from __future__ import annotations

from typing import Any

import pytest

from stanch.policy.lint import FindingKind, lint
from tests.policy.test_lint import found, policy_of, rule, rules


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("src/{a,b}/x", "'{a,b}' stands for no choice, braces mean themselves; write a rule for each"),
        ("{src,lib/x}", "stands for no choice"),
        ("log.{1..3}", "'{1..3}' stands for no choice"),
        ("[ab]*", "'[ab]' stands for no choice, brackets mean themselves; write '?'"),
        ("src/*.[ch]", "'[ch]'"),
        ("[a-z]x", "'[a-z]'"),
        ("v[0-9]", "'[0-9]'"),
        ("[!a]b", "'[!a]'"),
        ("[^a]b", "'[^a]'"),
        ("!secrets", "'!' makes no exception, it is part of the name; write a rule of its own"),
        ("$HOME/.ssh", "'$HOME' is not replaced by anything, it means itself; write '~/.ssh'"),
        ("${HOME}", "write '~'"),
        ("$PWD/x", "a relative one starts at the workspace"),
        ("src/**.py", "within a name '**' is the same as '*', so '**.py' reaches no deeper; write 'src/**/*.py'"),
        ("a**b/c", "write 'a*/**/*b/c'"),
    ],
)
def test_a_path_in_another_programs_language_is_found(path: str, said: str) -> None:
    (one,) = found(rules(rule("@read", "deny", path)), FindingKind.OTHER_DIALECT)
    assert said in one.message
    assert f"the path '{path}'" in one.message


@pytest.mark.parametrize(
    "path",
    [
        "app/[slug]/page.tsx", "[id]", "[id].tsx", "[id]*", "[...all]", "[[...all]]", "[lang]/**", "[locale]*",
        "[item-id]", "[12]", "a[1].txt", "{id}", "{{name}}", "a{b}c", "routes/$postId", "$postId/x", "/**/$RECYCLE.BIN",
        "a!b", "data/!x", "src/**/*.py", "**", "/**/.env*", "src/**", "log**", "a*b", "~/x", "c++",
    ],
)  # fmt: skip
def test_a_name_that_people_give_is_not(path: str) -> None:
    assert found(rules(rule("@read", "deny", path)), FindingKind.OTHER_DIALECT) == []


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("Read(src/**)", 'write tool = "Read" and path = "src/**"'),
        ("Read(//etc/hosts)", 'write tool = "Read" and path = "/etc/hosts"'),
        ("Bash(git log:*)", 'write tool = "Bash" and command = "git log *"'),
        ("Bash(git push:*)", 'command = "git push *"'),
        ("Bash(npm:*)", 'command = "npm *"'),
        ("Bash(ls -la)", 'command = "ls -la"'),
        ('Bash(echo "a b":*)', """command = 'echo "a b" *'"""),
        ("Bash(a && b)", "\"a && b\" is no pattern: '&' joins, redirects or nests commands"),
        ("Bash(make test)", 'write tool = "Bash" and command = "make test"'),
        ("Bash(*)", 'write tool = "Bash"'),
        ("WebFetch(domain:example.com)", 'write tool = "WebFetch"; of its arguments a rule sees only paths'),
        ("Read(", 'write tool = "Read"'),
        ("AGENTS.md", 'this is a path, and no tool; write tool = "@read" or tool = "@write", and path = "AGENTS.md"'),
        (".env", 'path = ".env"'),
        ("src/**", 'path = "src/**"'),
        ("~/notes", 'path = "~/notes"'),
        ("*.py", 'path = "*.py"'),
        ("mcp__github", "write 'mcp__github__*' for all its tools"),
    ],
)
def test_a_tool_that_is_none_is_found(tool: str, said: str) -> None:
    (one,) = lint(policy_of(rules(rule(tool, "ask"), rule(tool, "deny", "a", priority=1))))
    assert one.kind is FindingKind.NO_TOOL_NAME
    assert said in one.message


@pytest.mark.parametrize("tool", ["my.tool", "functions.exec", "mcp__fs__read.file", "mcp__*", "read_*", "a-b"])
def test_an_odd_name_of_a_tool_is_not(tool: str) -> None:
    assert found(rules(rule(tool, "ask")), FindingKind.NO_TOOL_NAME) == []
    declared = '[tools."docs/read.md"]\neffects = []\n'
    assert lint(policy_of(rules(rule("docs/read.md", "ask")) + declared)) == []


ALL_COMMANDS = [
    rule("Bash", "allow"),
    rule("execute_cmd", "allow", agent="x"),
    rule("exec_*", "allow"),
    rule("@execute", "allow"),
]
FEWER = [
    rule("Bash", "ask"),
    rule("execute_cmd", "allow", command="git log *"),
    rule("Bash", "deny", command="rm *"),
    rule("run_code", "allow"),
    rule("BashOutput", "allow"),
    rule("Bash*", "allow"),
    rule("Read", "allow"),
    rule("Glob", "allow", "docs"),
    rule("mystery", "allow"),
    rule("*", "allow", "docs"),
]


@pytest.mark.parametrize("row", ALL_COMMANDS, ids=str)
def test_an_allow_of_all_commands_is_noted(row: dict[str, Any]) -> None:
    (one,) = found(rules(row), FindingKind.ALLOWS_ALL)
    assert "allows every command that can be read, whatever it runs; with 'command' a rule names those" in one.message


@pytest.mark.parametrize("row", FEWER, ids=str)
def test_an_allow_of_anything_else_is_not(row: dict[str, Any]) -> None:
    assert found(rules(row), FindingKind.ALLOWS_ALL) == []


GUARD = rule("@read", "deny", "secrets", mandatory=True)


@pytest.mark.parametrize("rows", [[rule("*", "allow")], [rule("@read", "deny", "secrets"), rule("**", "allow")]])
def test_an_allow_of_everything_is_noted(rows: list[dict[str, Any]]) -> None:
    (one,) = found(rules(*rows), FindingKind.ALLOWS_ALL)
    assert one.message.startswith("note: rule ")
    assert "allows every known tool everywhere" in one.message
    (one,) = found(rules(rule("*", "ask")) + rules(*rows, group="jobs"), FindingKind.ALLOWS_ALL)
    assert one.group == "jobs"


@pytest.mark.parametrize(
    "row",
    [rule("*", "allow", "docs"), rule("*", "allow", agent="x"), rule("*", "allow", source="cron"), rule("*", "ask")],
)
def test_an_allow_of_less_is_not(row: dict[str, Any]) -> None:
    assert found(rules(row), FindingKind.ALLOWS_ALL) == []


def test_an_allow_of_everything_behind_a_mandatory_deny_is_not() -> None:
    everything = rule("*", "allow")
    assert found(rules(GUARD, everything), FindingKind.ALLOWS_ALL) == []
    assert found(rules(GUARD) + rules(everything, group="jobs"), FindingKind.ALLOWS_ALL) == []
    assert found(rules(everything, GUARD, group="jobs") + rules(rule("*", "ask")), FindingKind.ALLOWS_ALL) == []
    assert found(
        rules(rule("*", "ask")) + rules(GUARD, group="x") + rules(everything, group="jobs"), FindingKind.ALLOWS_ALL
    )
