"""Which tools does nobody declare, who declares the others, and what would declare one?"""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.policy.building import build
from stanch.policy.coverage import Coverage, Named, Source, coverage, declaration, named
from stanch.policy.document import Policy, parse
from stanch.policy.known_tools import known
from stanch.values.fault import BadInput

HERE = "the command line"


def _policy(text: str = "") -> Policy:
    return build(parse(f"version = 1\n{text}", "stanch.toml"), workspace="/w", home="/home/dev")


def _covered(text: str = "", *tools: str) -> Coverage:
    policy = _policy(text)
    assert policy.problems == ()
    return coverage(policy, [Named(tool, HERE) for tool in tools])


RULES = """
[[groups]]
id = "default"
rules = [
  { tool = "fs.write_v2", path = "prod", action = "deny" },
  { tool = "@write", action = "allow" },
  { tool = "mcp__*", action = "ask" },
  { tool = "*", action = "ask" },
  { tool = "Read", action = "allow" },
]
[[groups]]
id = "jobs"
rules = [{ tool = "fs.write_v2", action = "allow" }, { tool = "deploy", action = "ask" }]
[[skills]]
id = "router"
allowed_tools = ["route", "web_*"]
rules = [{ tool = "reroute" }]
[[narrowing]]
tool = "narrowed"
action = "ask"
[[hooks]]
command = ["true"]
tools = "hooked"
[[hooks]]
command = ["true"]
tools = "write_*"
[agents.reviewer]
tools = ["read_file"]
[tools.deploy]
effects = [{ class = "network", argument = "host" }]
"""


def test_what_is_named_exactly_is_found_wherever_it_stands() -> None:
    found = _covered(RULES)
    assert {one.tool: one.places for one in found.undeclared} == {
        "fs.write_v2": ("stanch.toml:6", "stanch.toml:14"),
        "reroute": ("stanch.toml:18",),
        "narrowed": ("stanch.toml:19",),
        "route": ("stanch.toml:15",),
        "hooked": ("a hook",),
    }
    assert {one.tool: (one.places, one.source) for one in found.declared} == {
        "Read": (("stanch.toml:10",), Source.AGENTS),
        "deploy": (("stanch.toml:14",), Source.POLICY),
        "read_file": (("the agent reviewer",), Source.BUILT_IN),
    }


def test_a_name_that_is_given_is_counted_once_with_every_place() -> None:
    found = _covered(RULES, "fs.write_v2", "fs.write_v2", "Read")
    by_name = {one.tool: one.places for one in found.undeclared}
    by_name |= {one.tool: one.places for one in found.declared}
    assert by_name["fs.write_v2"] == ("stanch.toml:6", "stanch.toml:14", HERE)
    assert by_name["Read"] == ("stanch.toml:10", HERE)


@pytest.mark.parametrize(
    ("tool", "source", "by"),
    [
        ("execute_cmd", Source.BUILT_IN, "execute_cmd"),
        ("Bash", Source.AGENTS, "Bash"),
        ("mcp__git__git_log", Source.SERVERS, "mcp__git__git_log"),
        ("mcp__github__anything", Source.SERVERS, "mcp__github__*"),
        ("mcp__mail__send", Source.POLICY, "mcp__mail__*"),
        ("Grep", Source.POLICY, "Grep"),
    ],
)
def test_who_declares_a_tool(tool: str, source: Source, by: str) -> None:
    text = '[tools."mcp__mail__*"]\neffects = [{ class = "network" }]\n[tools.Grep]\neffects = []\n'
    found = _covered(text, tool)
    (one,) = [one for one in found.declared if one.tool == tool]
    assert (one.source, one.by.name) == (source, by)


@pytest.mark.parametrize("tool", ["read_File", "mcp__git__git_log2", "mcp__github_", "mcp__new__list", "Read ", "tool"])
def test_a_name_that_is_nearly_a_known_one_is_none(tool: str) -> None:
    assert [one.tool for one in _covered("", tool).undeclared] == [tool]


@pytest.mark.parametrize(
    ("tool", "meant"),
    [("Raed", "Read"), ("mcp__git__git_stats", "mcp__git__git_status"), ("mcp__files__read", None), ("add", None)],
)
def test_what_was_probably_meant_is_of_the_same_server(tool: str, meant: str | None) -> None:
    (one,) = _covered("", tool).undeclared
    assert one.meant == meant


def test_what_is_no_tools_name_in_a_rule_is_left_to_lint() -> None:
    rules = ", ".join(f"{{ tool = {text!r}, action = 'ask' }}" for text in ("Read(src/a)", "mcp__mail", "src/main.py"))
    assert list(named(_policy(f"[[groups]]\nid = 'default'\nrules = [{rules}]\n"))) == []


@pytest.mark.parametrize("tool", ["", "*", "@read", "@nothing", "mcp__mail__*", "a*b"])
def test_a_pattern_that_is_given_is_nobodys_name(tool: str) -> None:
    with pytest.raises(BadInput, match=HERE):
        coverage(_policy(), [Named(tool, HERE)])


def test_the_built_in_rules_name_known_tools_alone() -> None:
    found = _covered()
    assert found.undeclared == ()
    assert {place for one in found.declared for place in one.places} == {"a built-in rule"}


TEXTS = ["fs.write_v2", "mcp__x__y", 'a"b', "a\\b", "a\n[tools.b]\neffects = []\n#", "\x00", "\u202eevil", "é", "-"]


@pytest.mark.parametrize("tool", TEXTS)
def test_the_lines_are_a_mistake_until_they_are_filled_in(tool: str) -> None:
    lines = declaration(tool)
    assert list(tomllib.loads("\n".join(lines))["tools"]) == [tool]
    as_they_stand = _policy("\n".join(lines))
    assert as_they_stand.broken is not None
    assert tool not in as_they_stand.tools
    filled = "\n".join(lines).replace('class = ""', 'class = "write"').replace('argument = ""', 'argument = "target"')
    found = _covered(filled, tool)
    (one,) = [one for one in found.declared if one.tool == tool]
    assert one.source is Source.POLICY
    assert [(effect.cls.value, effect.argument) for effect in one.by.effects] == [("write", "target")]


@given(st.text(min_size=1))
def test_no_name_says_more_in_the_lines_than_itself(tool: str) -> None:
    lines = declaration(tool)
    try:
        tool.encode()
    except UnicodeEncodeError:
        assert lines == ()
        return
    assert all("\n" not in line for line in lines)
    found = tomllib.loads("\n".join(lines))
    assert list(found) == ["tools"]
    assert list(found["tools"]) == [tool]


@given(
    st.lists(st.one_of(st.sampled_from(sorted(known())), st.text(st.characters(exclude_characters="*"), min_size=1)))
)
def test_every_name_is_either_declared_or_not(tools: list[str]) -> None:
    names = [tool for tool in tools if not tool.startswith("@") and "*" not in tool]
    found = coverage(_policy(), [Named(tool, HERE) for tool in names])
    undeclared = {one.tool for one in found.undeclared}
    declared = {one.tool for one in found.declared if HERE in one.places}
    assert undeclared | declared == set(names)
    assert not undeclared & declared
    assert not undeclared & known().keys()
