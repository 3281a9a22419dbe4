"""Does lint find what is wrong with rules, and keep quiet about rules that are right?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.policy.building import build
from stanch.policy.document import Policy, parse
from stanch.policy.index import RuleIndex
from stanch.policy.lint import Finding, FindingKind, lint
from stanch.policy.reach import kinds_of
from stanch.policy.rule import in_order


def policy_of(text: str) -> Policy:
    policy = build(parse("version = 1\n" + text, "stanch.toml"), workspace="/w", home="/home/p")
    assert policy.problems == ()
    return policy


def rules(*rows: dict[str, Any], group: str = "default") -> str:
    """A group with these rules, one line each, the first on line 4 of a file that begins with it."""
    out = ["[[groups]]", f'id = "{group}"']
    for row in rows:
        inline = ", ".join(
            f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}" for key, value in row.items()
        )
        out.append(f"  {{ {inline} }},")
    out.insert(2, "rules = [")
    return "\n".join([*out, "]", ""])


def rule(tool: str, action: str, path: str | None = None, **more: Any) -> dict[str, Any]:
    return {"tool": tool, "action": action, **({} if path is None else {"path": path}), **more}


def found(text: str, kind: FindingKind) -> list[Finding]:
    return [one for one in lint(policy_of(text)) if one.kind is kind]


SILENCED = {
    "the same rule twice": [rule("read_file", "deny", "a"), rule("read_file", "allow", "a")],
    "a wider path": [rule("list_files", "allow", "a"), rule("list_files", "deny", "a/b")],
    "a directory and all below it": [rule("list_files", "allow", "a"), rule("list_files", "deny", "a/**")],
    "no path": [rule("list_files", "allow"), rule("list_files", "deny", "a")],
    "a wider tool": [rule("mcp__filesystem__*", "allow"), rule("mcp__filesystem__read_file", "deny")],
    "a glob within a glob": [rule("mcp__*", "allow"), rule("mcp__mail__*", "ask")],
    "every tool": [rule("*", "ask"), rule("@read", "deny", "a")],
    "its class": [rule("@write", "ask"), rule("write_file", "allow", "a")],
    "two classes together": [rule("@read", "ask"), rule("@write", "ask"), rule("edit_file", "allow", "a")],
    "a far-reaching deny": [rule("read_file", "deny", "a"), rule("@read", "allow", "a")],
    "any agent": [rule("read_file", "ask"), rule("read_file", "allow", agent="x", source="cron")],
    "the same agent": [rule("read_file", "ask", agent="x"), rule("read_file", "allow", "a", agent="x")],
    "a later mandatory rule": [rule("read_file", "allow", "a"), rule("@read", "deny", "a", mandatory=True)],
    "priority, not place": [rule("read_file", "allow", "a"), rule("read_file", "ask", priority=1)],
    "any command": [rule("execute_cmd", "ask"), rule("execute_cmd", "allow", command="git log *")],
    "the same command": [
        rule("execute_cmd", "ask", command="git *"),
        rule("execute_cmd", "allow", command="git *", agent="x"),
    ],
}

SPEAKING = {
    "a narrower path first": [rule("read_file", "allow", "a/b"), rule("read_file", "deny", "a")],
    "a name that only begins alike": [rule("read_file", "allow", "a"), rule("read_file", "deny", "ab")],
    "a path before no path": [rule("read_file", "allow", "**"), rule("ask_user", "deny"), rule("@read", "deny")],
    "another agent": [rule("read_file", "ask", agent="x"), rule("read_file", "allow", agent="y")],
    "one agent before all": [rule("read_file", "allow", agent="x"), rule("read_file", "ask")],
    "one source before all": [rule("read_file", "allow", source="cron"), rule("read_file", "ask")],
    "one class of two": [rule("@read", "ask"), rule("edit_file", "deny", "a")],
    "an allow of one tool before its class": [rule("read_file", "allow"), rule("@read", "deny")],
    "an allow of one tool before a far-reaching deny": [rule("execute_cmd", "allow"), rule("execute_cmd", "deny")],
    "allow everything names no undeclared tool": [rule("*", "allow"), rule("mystery", "deny")],
    "allow a class names no undeclared tool": [rule("@read", "allow"), rule("@read", "deny")],
    "a narrower tool": [rule("mcp__mail__*", "allow"), rule("mcp__*", "deny")],
    "one command before all": [rule("execute_cmd", "allow", command="git log *"), rule("execute_cmd", "ask")],
    "another command": [rule("execute_cmd", "allow", command="ls"), rule("execute_cmd", "ask", command="rm *")],
    "priority, not place": [rule("read_file", "ask"), rule("read_file", "deny", "a", priority=1)],
    "only a repetition by name": [rule("execute_cmd", "ask"), rule("run_code", "ask")],
    "a tool that may read a file address": [rule("@network", "ask"), rule("WebFetch", "deny")],
}


@pytest.mark.parametrize("rows", SILENCED.values(), ids=SILENCED)
def test_a_rule_that_can_never_fire_is_found(rows: list[dict[str, Any]]) -> None:
    assert len(found(rules(*rows), FindingKind.NEVER_FIRES)) == 1


@pytest.mark.parametrize("rows", SPEAKING.values(), ids=SPEAKING)
def test_a_rule_that_can_fire_is_not(rows: list[dict[str, Any]]) -> None:
    assert found(rules(*rows), FindingKind.NEVER_FIRES) == []


def test_a_finding_names_both_rules_and_their_lines() -> None:
    text = rules(rule("list_files", "allow", "a"), rule("list_files", "deny", "a/b"))
    (one,) = found(text, FindingKind.NEVER_FIRES)
    assert (one.place, one.group, one.rule, one.others) == ("stanch.toml:6", "default", 2, ("stanch.toml:5",))
    assert one.message == (
        "rule 2 (deny list_files on a/b, line 6) can never fire: "
        "rule 1 (allow list_files on a, line 5) is read first and covers all of it"
    )


@pytest.mark.parametrize(
    "rows",
    [
        [rule("read_file", "allow"), rule("read_file", "deny")],
        [rule("read_file", "allow", "a"), rule("read_file", "deny", "a/b")],
        [rule("execute_cmd", "allow"), rule("execute_cmd", "ask")],
        [rule("*", "allow"), rule("write_file", "ask")],
    ],
)
def test_a_rule_that_reaches_only_other_tools_than_it_names_is_found(rows: list[dict[str, Any]]) -> None:
    (one,) = found(rules(*rows), FindingKind.PARTLY_UNREACHABLE)
    assert one.others == ("stanch.toml:5",)
    assert f"can never fire for {rows[1]['tool']} itself: rule 1 (" in one.message


def test_all_rules_that_cover_together_are_named() -> None:
    text = rules(rule("@read", "ask"), rule("@write", "ask"), rule("edit_file", "allow", "a"))
    (one,) = found(text, FindingKind.NEVER_FIRES)
    assert one.others == ("stanch.toml:5", "stanch.toml:6")
    assert one.message.endswith("are read first and together cover all of it")


def test_a_mandatory_rule_of_default_silences_another_group() -> None:
    text = rules(rule("@read", "deny", "a", mandatory=True)) + rules(rule("read_file", "allow", "a/b"), group="jobs")
    (one,) = found(text, FindingKind.NEVER_FIRES)
    assert one.group == "jobs"
    assert 'mandatory rule 1 in group "default"' in one.message


def test_a_rule_of_default_is_silenced_by_default_alone() -> None:
    text = rules(rule("read_file", "deny", "a")) + rules(rule("read_file", "allow"), group="jobs")
    assert lint(policy_of(text)) == []


def test_the_seeded_rules_are_nobodys_mistake() -> None:
    assert lint(policy_of("")) == []
    assert lint(policy_of(rules(rule("read_file", "allow", "docs"), group="jobs"))) == []


WIDE = {
    "a wider path": [rule("read_file", "allow"), rule("@read", "deny", "private")],
    "a path that crosses": [rule("read_file", "allow", "docs"), rule("@read", "deny", "/**/private")],
    "one class of all": [rule("@read", "allow"), rule("*", "deny", "private")],
    "globs that cross": [rule("mcp__*__read*", "allow"), rule("mcp__mail__*", "deny")],
    "the same agent": [rule("@read", "allow", agent="x"), rule("*", "deny", "private", agent="x")],
}

MEANT = {
    "an exception on a narrower path": [rule("read_file", "allow", "docs"), rule("@read", "deny")],
    "an exception below it": [rule("@write", "allow", "data/out"), rule("@write", "deny", "data")],
    "an exception for one tool": [rule("read_file", "allow"), rule("*", "deny")],
    "an exception for one agent": [rule("@read", "allow", agent="x"), rule("*", "deny", "private")],
    "an exception for one source": [rule("@read", "allow", source="cli"), rule("*", "deny", "private")],
    "an exception for one command": [rule("Bash", "allow", command="git *"), rule("@execute", "deny")],
    "other paths": [rule("read_file", "allow", "docs"), rule("@read", "deny", "private")],
    "other tools": [rule("ask_user", "allow"), rule("@read", "deny", "private")],
    "the deny is mandatory": [rule("read_file", "allow"), rule("@read", "deny", "private", mandatory=True)],
    "the deny is first": [rule("@read", "deny", "private"), rule("read_file", "allow")],
    "an ask, not an allow": [rule("read_file", "ask", "docs"), rule("@read", "deny", "/**/private")],
}


@pytest.mark.parametrize("rows", WIDE.values(), ids=WIDE)
def test_an_allow_that_cuts_into_a_later_deny_is_found(rows: list[dict[str, Any]]) -> None:
    (one,) = found(rules(*rows), FindingKind.PARTLY_UNREACHABLE)
    assert (one.place, one.others) == ("stanch.toml:6", ("stanch.toml:5",))
    assert "rule 1 (" in one.message
    assert "rule 2 (" in one.message


@pytest.mark.parametrize("rows", MEANT.values(), ids=MEANT)
def test_an_allow_that_is_meant_is_not(rows: list[dict[str, Any]]) -> None:
    assert found(rules(*rows), FindingKind.PARTLY_UNREACHABLE) == []


@pytest.mark.parametrize(
    ("tool", "kind", "said"),
    [
        ("raed_file", FindingKind.UNKNOWN_TOOL, "did you mean 'read_file'?"),
        ("Raed", FindingKind.UNKNOWN_TOOL, "did you mean 'Read'?"),
        ("READ_FILE", FindingKind.UNKNOWN_TOOL, "did you mean 'read_file'?"),
        ("Bahs", FindingKind.UNKNOWN_TOOL, "did you mean 'Bash'?"),
        ("mcp__git__git_stats", FindingKind.UNKNOWN_TOOL, "did you mean 'mcp__git__git_status'?"),
        ("Compile", FindingKind.UNDECLARED_TOOL, "declare it under [tools.Compile]"),
        ("mcp__mail__git_status", FindingKind.UNDECLARED_TOOL, "declare it under [tools.mcp__mail__git_status]"),
        ("knit_*", FindingKind.UNKNOWN_TOOL, "'knit_*' fits no known or declared tool"),
        ("mystery", FindingKind.UNDECLARED_TOOL, "declare it under [tools.mystery]"),
        ("mcp__mail__send", FindingKind.UNDECLARED_TOOL, "declare it under [tools.mcp__mail__send]"),
        ("my.tool", FindingKind.UNDECLARED_TOOL, 'declare it under [tools."my.tool"]'),
        ("mcp__mail__*", FindingKind.UNDECLARED_TOOL, "no tool of the MCP server 'mail' is declared"),
        ("mcp__filesystem__nothing*", FindingKind.UNKNOWN_TOOL, "fits no known or declared tool"),
    ],
)
def test_a_tool_that_nobody_knows_is_found(tool: str, kind: FindingKind, said: str) -> None:
    (one,) = lint(policy_of(rules(rule(tool, "ask"), rule(tool, "deny", "a", priority=1))))
    assert one.kind is kind
    assert said in one.message


@pytest.mark.parametrize("tool", [
    "read_file", "Read", "mcp__git__*", "mcp__*", "*", "@network", "deploy", "dep*",
    "mcp__github__get_issue", "mcp__github__get_*", "mcp__github__*",
])  # fmt: skip
def test_a_tool_that_somebody_knows_is_not(tool: str) -> None:
    declared = '[tools.deploy]\neffects = [{ class = "network", argument = "host" }]\n'
    assert lint(policy_of(rules(rule(tool, "ask")) + declared)) == []


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (rule("read_file", "deny", command="cat *"), FindingKind.NO_COMMAND),
        (rule("run_code", "deny", command="python *"), FindingKind.NO_COMMAND),
        (rule("ask_user", "deny", "a"), FindingKind.NO_PATH),
        (rule("execute_cmd", "deny", "a"), FindingKind.NO_PATH),
        (rule("WebSearch", "allow", "a"), FindingKind.NO_PATH),
    ],
)
def test_a_condition_that_nothing_meets_is_found(row: dict[str, Any], kind: FindingKind) -> None:
    (one,) = lint(policy_of(rules(row)))
    assert one.kind is kind
    assert f"'{row['tool']}'" in one.message


@pytest.mark.parametrize(
    "row",
    [
        rule("execute_cmd", "deny", command="rm *"),
        rule("Bash", "deny", command="rm *"),
        rule("@execute", "deny", command="rm *"),
        rule("read_file", "deny", "a"),
        rule("WebFetch", "deny", "a"),
        rule("apply_patch", "deny", "a"),
    ],
)
def test_a_condition_that_something_meets_is_not(row: dict[str, Any]) -> None:
    assert lint(policy_of(rules(row))) == []


def test_a_broken_policy_is_left_to_check() -> None:
    broken = build(parse("version = 1\nodd = 1\n", "stanch.toml"), workspace="/w", home="/home/p")
    assert lint(broken) == []
    half = build(
        parse("version = 1\n" + rules(rule("nobody", "odd"), group="x") + rules(rule("nobody", "ask"), group="y"), "f"),
        workspace="/w",
        home="/home/p",
    )
    assert [one.group for one in lint(half)] == ["y"]


TOOLS = st.sampled_from(
    ["*", "@read", "@write", "@execute", "read_file", "write_file", "edit_file", "run_code", "mcp__*", "mystery"]
)
ROWS = st.builds(
    rule,
    TOOLS,
    st.sampled_from(["allow", "ask", "deny"]),
    st.sampled_from([None, "a", "a/b", "/**/b", "a/*", "**", "*/b"]),
    agent=st.sampled_from(["x", "y"]),
    priority=st.sampled_from([1, 2]),
)
PATHS = [None, "/w", "/w/a", "/w/b", "/w/a/b", "/w/a/c", "/w/c/b", "/w/a/b/c", "/other", "/other/b"]


@given(st.lists(ROWS, max_size=7), st.sets(st.integers(0, 6)))
def test_a_rule_that_is_said_never_to_fire_decides_no_call(rows: list[dict[str, Any]], free: set[int]) -> None:
    for at in free:
        if at < len(rows):
            rows[at] = {key: value for key, value in rows[at].items() if key != "agent"}
    for row in rows[:2]:
        if row["action"] != "allow":
            row["mandatory"] = True
    policy = policy_of(rules(*rows))
    silent = {one.rule for one in lint(policy) if one.kind is FindingKind.NEVER_FIRES}
    index = RuleIndex(in_order(policy.groups["default"].rules))
    for tool in ("read_file", "write_file", "edit_file", "run_code", "ask_user", "mcp__mail__send", "mystery", "Bash"):
        for kind in kinds_of(tool, policy.tools):
            for key in PATHS if kind.path else (None,):
                for agent in ("x", "y", None):
                    places = index.all_matching(tool, kind.cls, kind.declared, key, index.who(agent, None))
                    first = next(places, None)
                    assert first is None or index.rules[first].id not in silent
