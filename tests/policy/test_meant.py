"""Is a mistake in a policy file answered with what was most likely meant, and with nothing where that is open?"""

from __future__ import annotations

import pytest

from stanch.policy.building import build
from stanch.policy.document import parse
from stanch.policy.meant import nearest, unknown

HEAD = "version = 1\n"
RULE = HEAD + "[[groups]]\nid = 'x'\n[[groups.rules]]\ntool = 'a'\naction = 'ask'\n"


def said(text: str) -> str:
    """The messages about a text, in one."""
    policy = build(parse(text, "stanch.toml"), workspace="/w", home="/home/p")
    return " | ".join(f"{problem.line}: {problem.message}" for problem in policy.problems)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('tool = "read_file', "a quote that is opened on this line is not closed on it"),
        ('rules = [\n  { tool = "a },\n]', "a quote that is opened on this line is not closed on it"),
        ("action = deny", 'a text stands in quotes, as in action = "deny"'),
        ("path = src/** # all", 'a text stands in quotes, as in path = "src/**"'),
        ("mandatory = True", "write mandatory = true"),
        ("mandatory = yes", "write mandatory = true"),
        ("tool =", "tool has no value"),
        ("tool: Read", 'between a key and its value stands =, as in tool = "Read"'),
        ("- tool: Read", "an item of a list of tables begins with a line such as [[groups.rules]]"),
        ("[[groups]", "write [[groups]]"),
        ("[tools.deploy", "write [tools.deploy]"),
        ("[[groups]]\n[groups]", "each group begins with [[groups]]"),
        ("[tools.a]\n[tools.a]", "this table stands twice"),
        ("a = 1\na = 2", "this key stands twice in its table"),
        ("[[groups]]\nrules = []\n[[groups.rules]]", "rules = [...], or tables [[groups.rules]], not both"),
        ('path = "C:\\dir"', r"within double quotes write \\ for one \, or put the text in single quotes"),
        ("rules = [\n 1\n 2\n]", "no ] at its end, or two of its items have no comma between them"),
        ('tool = "a" action = "ask"', "one key and its value stand on one line"),
        ("t = { a = 1,\n b = 2 }", "a table in { } stands on one line"),
    ],
)
def test_a_line_that_is_no_toml_gets_a_hint(line: str, hint: str) -> None:
    message = said(HEAD + line + "\n")
    assert "this is not TOML: " in message
    assert hint in message


@pytest.mark.parametrize("line", ["= 1", "a b = 1", "]"])
def test_a_line_that_could_mean_anything_gets_none(line: str) -> None:
    assert ";" not in said(HEAD + line + "\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RULE + "effect = 'deny'\n", "7: unknown key 'effect'; did you mean 'action'? (known: tool, action, "),
        (RULE + "tools = 'a'\n", "did you mean 'tool'?"),
        (RULE + "paths = ['a', 'b']\n", "did you mean 'path'? It takes one; write a rule for each (known: "),
        (RULE + "paths = 'a'\n", "did you mean 'path'? (known: "),
        (RULE + "agents = 'a'\n", "did you mean 'agent'?"),
        (RULE + "description = 'a'\n", "did you mean 'note'?"),
        (RULE + "Path = 'a'\n", "did you mean 'path'?"),
        (RULE + "source = 'corn'\n", "unknown source 'corn'; did you mean 'cron'? (known: web, cli, mobile, "),
        (RULE + "source = 3\n", "'source' must be one of web, cli, mobile, telegram, cron, mcp, api, got a number"),
        (HEAD + "[sessions.defaults.source.corn]\n", "2: unknown source 'corn'; did you mean 'cron'?"),
        (HEAD + "[sessions.defaults.agent.a]\ncwd = 'x'\n", "did you mean 'working_directory'?"),
        (
            RULE.replace("'ask'", "'forbid'"),
            "6: unknown action 'forbid'; did you mean 'deny'? (known: allow, ask, deny)",
        ),
        (HEAD + "[tools.t]\neffects = [{ class = 'exec' }]\n", "unknown class 'exec'; did you mean 'execute'?"),
        (HEAD + "[tools.t]\neffects = []\ncategory = 'shel'\n", "unknown category 'shel'; did you mean 'shell'?"),
        (
            HEAD + "[groups]\nid = 'x'\n",
            "2: 'groups' must be a list, got a table; in double brackets, [[groups]] begins",
        ),
        (HEAD + "[[groups]]\nid = 'x'\n[groups.rules]\ntool = 'a'\n", "[[groups.rules]] begins each rule"),
        (HEAD + "[[rules]]\ntool = 'a'\n", "rules stand in a group: write [[groups]] with an id"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(text: str, words: str) -> None:
    assert words in said(text)


def test_another_word_for_ask_is_taken_and_not_offered() -> None:
    assert said(RULE.replace("'ask'", "'require'")) == ""
    for text in (RULE.replace("'ask'", "'requre'"), RULE.replace("'ask'", "5")):
        assert "require'" not in said(text)


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert nearest("colour", ["tool", "path"]) is None
    assert unknown("source", "fax", ["web", "cron"]) == "unknown source 'fax' (known: web, cron)"
    assert nearest("effect", ["tool"], {"effect": "action"}) is None
