"""Does lint find rules about commands that never speak, or say more than they seem to, and keep quiet about others?"""

from __future__ import annotations

from typing import Any

import pytest

from stanch.app.linting import inert_programs
from stanch.policy.building import build
from stanch.policy.command_covering import covers_commands
from stanch.policy.document import parse
from stanch.policy.lint import FindingKind, lint
from stanch.policy.shell.matching import command_pattern
from stanch.values.command import Command
from stanch.values.decision import Effect
from tests.policy.test_lint import found, policy_of, rule, rules


def of(action: str, command: str, tool: str = "Bash", path: str | None = None, **more: Any) -> dict[str, Any]:
    return rule(tool, action, path, command=command, **more)


NEVER = {
    "every command": [of("allow", "*"), of("deny", "rm *")],
    "no command": [rule("Bash", "ask"), of("allow", "make *")],
    "no command, a class": [rule("@execute", "ask"), of("allow", "make *")],
    "the same twice": [of("deny", "git push *"), of("deny", "git push *")],
    "the same allow twice": [of("allow", "git push *"), of("allow", "git push *")],
    "a deny before the allow": [of("deny", "git *"), of("allow", "git push *")],
    "a deny of the bare program": [of("deny", "git"), of("ask", "git push")],
    "a shorter deny": [of("ask", "git push"), of("deny", "git push origin *")],
    "a wider allow": [of("allow", "npm run *"), of("allow", "npm run test")],
    "a wider tool": [of("ask", "rm *", "execute_cmd"), of("deny", "rm x")],
    "a wider path": [of("deny", "cat *", "@read", "docs"), of("allow", "cat a", "@read", "docs/x")],
    "any agent": [of("ask", "rm *"), of("deny", "rm *", agent="x")],
}
SPEAKS = {
    "another program": [of("allow", "git *"), of("deny", "rm *")],
    "a wider deny behind": [of("allow", "git push origin"), of("deny", "git push *")],
    "an allow before a deny": [of("allow", "git *"), of("deny", "git push *")],
    "an allow without a star": [of("allow", "git push"), of("allow", "git push origin")],
    "an option": [of("allow", "git *"), of("allow", "git -C x log")],
    "an option in a deny": [of("deny", "git push -f"), of("deny", "git push")],
    "a place": [of("allow", "x *"), of("allow", "./x a")],
    "an assignment": [of("allow", "A=b make *"), of("allow", "make x")],
    "one agent first": [of("ask", "rm *", agent="x"), of("deny", "rm *")],
    "one tool first": [of("allow", "*"), of("deny", "rm *", "shell")],
    "another path": [of("deny", "cat *", "@read", "docs"), of("allow", "cat *", "@read", "src")],
    "running, and what it reads": [of("deny", "cat *"), of("allow", "cat *", "@read", "docs")],
    "a rule of all reads": [rule("@read", "allow"), of("deny", "cat *", "@read", "docs")],
    "another word": [of("allow", "git log *"), of("allow", "git show *")],
    "a star inside": [of("deny", "git pu*"), of("deny", "git push")],
}


@pytest.mark.parametrize("rows", NEVER.values(), ids=NEVER)
def test_a_rule_behind_one_that_covers_its_commands_never_fires(rows: list[dict[str, Any]]) -> None:
    (one,) = found(rules(*rows), FindingKind.NEVER_FIRES)
    assert one.rule == 2
    assert "rule 2 (" in one.message
    assert "rule 1 (" in one.message
    assert one.others == ("stanch.toml:5",)


@pytest.mark.parametrize("rows", SPEAKS.values(), ids=SPEAKS)
def test_a_rule_that_may_speak_is_not_found(rows: list[dict[str, Any]]) -> None:
    assert found(rules(*rows), FindingKind.NEVER_FIRES) == []


def test_an_allow_of_every_command_leaves_a_far_reaching_deny_to_other_tools() -> None:
    (one,) = found(
        rules(of("allow", "*", "execute_cmd"), of("deny", "rm *", "execute_cmd")), FindingKind.PARTLY_UNREACHABLE
    )
    assert "rule 2 (deny execute_cmd for the command rm *, line 6) can never fire for execute_cmd itself" in one.message
    assert "rule 1 (allow execute_cmd for the command *, line 5) is read first" in one.message


@pytest.mark.parametrize(
    ("allow", "deny"),
    [
        (of("allow", "git *"), of("deny", "git push *")),
        (of("allow", "git push *"), of("deny", "git push *")),
        (of("allow", "git *"), of("deny", "git push *", "execute_cmd")),
        (rule("Bash", "allow"), of("deny", "git push *", "execute_cmd")),
        (rule("@read", "allow", "docs"), of("deny", "cat *", "@read", "docs/x")),
    ],
)
def test_an_allow_of_more_commands_before_a_deny_is_found(allow: dict[str, Any], deny: dict[str, Any]) -> None:
    kinds = {FindingKind.PARTLY_UNREACHABLE, FindingKind.NEVER_FIRES}
    (one,) = [one for one in lint(policy_of(rules(allow, deny))) if one.kind in kinds]
    assert one.rule == 2
    assert "rule 1 (allow " in one.message


@pytest.mark.parametrize(
    ("allow", "deny"),
    [
        (of("allow", "git push origin"), of("deny", "git push *")),
        (of("allow", "git push *"), of("deny", "git *")),
        (of("allow", "git *"), rule("@execute", "deny")),
        (of("allow", "git *"), of("deny", "rm *")),
        (of("allow", "git push *"), of("deny", "git push *", "execute_cmd")),
        (of("allow", "git push *", agent="x"), of("deny", "git push *")),
    ],
)
def test_an_exception_is_not(allow: dict[str, Any], deny: dict[str, Any]) -> None:
    assert found(rules(allow, deny), FindingKind.PARTLY_UNREACHABLE) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("find *", "it would cover every option of find"),
        ("sed", "every option of sed"),
        ("awk *", "every option of awk"),
        ("curl *", "every option of curl"),
        ("export *", "every option of export"),
        ("python3 *", "all that python3 can be told to run"),
        ("bash", "all that bash can be told to run"),
        ("env *", "all that env can be told to run"),
        ("sudo *", "all that sudo can be told to run"),
        ("*", "its program has a '*'"),
        ("npm* test", "its program has a '*'"),
        ("git *", "it names no subcommand"),
    ],
)
def test_an_allow_that_covers_more_than_it_seems_is_found(command: str, said: str) -> None:
    (one,) = found(rules(of("allow", command)), FindingKind.TOO_WIDE)
    assert f"rule 1 (allow Bash for the command {command}, line 5) covers more than it seems: " in one.message
    assert said in one.message
    for action in ("deny", "ask"):
        assert found(rules(of(action, command)), FindingKind.TOO_WIDE) == []


@pytest.mark.parametrize("command", ["git log *", "ls *", "make", "python scripts/x.py *", "sudo systemctl status"])
def test_an_allow_of_one_command_is_not(command: str) -> None:
    assert found(rules(of("allow", command)), FindingKind.TOO_WIDE) == []


def test_nothing_is_proved_of_a_program_that_does_nothing_by_itself() -> None:
    policy = policy_of(rules(of("allow", "*"), of("deny", "echo *"), of("deny", "rm *")))
    never = [one.rule for one in lint(policy, inert_programs()) if one.kind is FindingKind.NEVER_FIRES]
    assert never == [3]
    assert {"cd", "echo", "timeout", "env", "test", "true"} <= inert_programs()
    assert not {"rm", "git", "cat", "sudo", "bash"} & inert_programs()


WORDS = ["", "push", "push origin", "log", "-f push", "push -f", "-c a=b push", "pushed", "push origin main -f --all"]
PATTERNS = [
    *(f"git {words}".strip() for words in WORDS[:6]),
    "git *",
    "git push *",
    "git push origin *",
    "*",
    "git * x",
]


@pytest.mark.parametrize("wide", PATTERNS)
@pytest.mark.parametrize("narrow", PATTERNS)
@pytest.mark.parametrize("actions", [("allow", "allow"), ("allow", "deny"), ("deny", "allow"), ("ask", "deny")])
def test_what_is_said_to_be_covered_is(wide: str, narrow: str, actions: tuple[str, str]) -> None:
    text = "version = 1\n" + rules(of(actions[0], wide), of(actions[1], narrow))
    one, other = build(parse(text, "stanch.toml"), workspace="/w", home="/h").groups["default"].rules
    if not covers_commands(one, other):
        return
    for words in WORDS:
        for front, plain in ((0, True), (2, False), (1, True)):
            for known in (True, False):
                command = Command(
                    f"git {words}",
                    "git",
                    "",
                    tuple(words.split()),
                    front if words[:1] == "-" else 0,
                    plain,
                    known=known,
                )
                fits = [
                    (
                        command_pattern(r.command or "").allows
                        if r.action is Effect.ALLOW
                        else command_pattern(r.command or "").refuses
                    )(command)
                    for r in (one, other)
                ]
                assert fits[0] or not fits[1], command
