"""Does `stanch policy coverage` list what nobody has declared, from wherever it is named, and open nothing by it?"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Stanch, call

TOOLS = ("policy", "coverage")
RULES = """version = 1
[[groups]]
id = "default"
rules = [
  { tool = "*", path = "prod", action = "deny" },
  { tool = "browse.url", action = "allow" },
  { tool = "gone.tool", action = "deny" },
  { tool = "shell.exec", action = "ask" },
  { tool = "@read", action = "allow" },
  { tool = "@write", action = "allow" },
]
[[groups]]
id = "jobs"
rules = [{ tool = "fs.write_v2", action = "deny" }, { tool = "fs.read", agent = "digest", action = "allow" }]
[tools."fs.read"]
effects = [{ class = "read", argument = "path" }]
[tools."shell.exec"]
effects = [{ class = "execute", argument = "command" }]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a policy that names tools which it does not declare, entered."""
    root = tmp_path.resolve() / "repo"
    root.mkdir()
    (root / "stanch.toml").write_text(RULES, "utf-8")
    monkeypatch.chdir(root)
    return root


def _answers(found: Any) -> dict[str, str]:
    return {one["tool"]: one["answer"]["effect"] for one in found["undeclared"]}


@pytest.mark.usefixtures("folder")
def test_each_tool_is_shown_with_where_it_is_named_and_what_a_call_is_answered(stanch: Stanch) -> None:
    ended = stanch(*TOOLS, "mcp__x__y", "Raed")
    assert (ended.code, ended.err) == (10, "")
    lines = ended.out.splitlines()
    assert lines[0] == "stanch.toml: 7 tools, 5 not declared"
    assert "  named    stanch.toml:6" in lines
    assert '  answer   allow  Allowed by rule 2 in group "default" (allow browse.url): browse.url' in lines
    assert '  answer   deny  Denied by rule 3 in group "default" (deny gone.tool): gone.tool' in lines
    assert any(line.startswith("  answer   ask  ") and line.endswith(": mcp__x__y") for line in lines)
    assert "  perhaps  Read is meant" in lines
    copied = ended.out[ended.out.index("# To be filled in") :]
    assert list(tomllib.loads(copied)["tools"]) == ["browse.url", "gone.tool", "fs.write_v2", "mcp__x__y", "Raed"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "write"),
    [
        ((), "ask"),
        (("--group", "jobs"), "deny"),
        (("--agent", "digest"), "ask"),
        (("--source", "cron"), "ask"),
        (("--group", "nowhere"), "ask"),
    ],
)
def test_every_answer_is_the_gates_own(stanch: Stanch, options: tuple[str, ...], write: str) -> None:
    answers = _answers(stanch(*TOOLS, "mcp__x__y", *options, "--json").json)
    assert (len(answers), answers["fs.write_v2"]) == (4, write)
    for tool, effect in answers.items():
        assert stanch("check", *call(tool), *options, "--json").json["effect"] == effect


@pytest.mark.parametrize(
    "stdin",
    [
        "a.b\nRead\n\n  c.d\r\n",
        '["a.b", "Read", "c.d"]',
        '\ufeff [{"name": "a.b", "inputSchema": {}}, {"name": "Read"}, "c.d"]',
        '{"tools": [{"name": "a.b"}, {"name": "Read"}, {"name": "c.d"}]}',
        '{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a.b"}, {"name": "Read"}, {"name": "c.d"}]}}',
    ],
)
def test_tools_are_read_in_each_form(stanch: Stanch, folder: Path, stdin: str) -> None:
    (folder / "stanch.toml").write_text('version = 1\n[[groups]]\nid = "default"\n', "utf-8")
    ended = stanch(*TOOLS, "-", "e.f", "--json", stdin=stdin)
    assert (ended.code, ended.err) == (10, "")
    assert [(one["tool"], one["named"]) for one in ended.json["undeclared"]] == [
        ("a.b", ["standard input"]),
        ("c.d", ["standard input"]),
        ("e.f", ["the command line"]),
    ]
    read = next(one for one in ended.json["declared"] if one["tool"] == "Read")
    assert read == {
        "tool": "Read",
        "named": ["standard input"],
        "declared": "coding_agents",
        "as": "Read",
        "effects": [{"class": "read", "argument": "file_path|path", "form": "path"}],
    }


@pytest.mark.usefixtures("folder")
def test_a_servers_own_list_is_read_under_the_names_that_its_calls_have(stanch: Stanch) -> None:
    listed = json.dumps({"tools": [{"name": "read"}, {"name": "git_log"}], "nextCursor": "2"})
    ended = stanch(*TOOLS, "-", "--server", "git", "--json", stdin=listed)
    assert "mcp__git__read" in _answers(ended.json)
    assert "mcp__git__git_log" in {one["tool"] for one in ended.json["declared"]}
    assert "the server has more tools" in ended.err


def test_all_declared_ends_well(stanch: Stanch, folder: Path) -> None:
    ended = stanch(*TOOLS, "--policy", str(folder / "none.toml"))
    assert (ended.code, ended.out) == (2, "")
    (folder / "stanch.toml").write_text('version = 1\n[[groups]]\nid = "default"\n', "utf-8")
    ended = stanch(*TOOLS)
    assert (ended.code, ended.out) == (0, "stanch.toml: no tool is named\n")
    ended = stanch(*TOOLS, "Read", "mcp__github__x")
    assert (ended.code, ended.out) == (0, "stanch.toml: 2 tools, each declared\n")
    (folder / "stanch.toml").unlink()
    ended = stanch(*TOOLS, "Read")
    assert ended.code == 0
    assert ended.out.startswith("the built-in rules: ")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (("@read",), "", "'@read' is a pattern"),
        (("mcp__x__*",), "", "'mcp__x__*' is a pattern"),
        (("",), "", "a name is empty"),
        (("-",), "", "standard input is empty"),
        (("-",), " \n", "standard input is empty"),
        (("-", "-"), "x", "write - once"),
        (("-",), '{"tools": {}}', "an object needs 'tools'"),
        (("-",), '{"error": {"code": 1}}', "an object needs 'tools'"),
        (("-",), '{"tools": [], "tools": ["x"]}', "names 'tools' twice"),
        (("-",), "[1]", "tool 1 must be a name"),
        (("-",), '["a", {"title": "b"}]', "tool 2 has no 'name'"),
        (("-",), '["a", {"name": 1}]', "tool 2 has no 'name'"),
        (("-",), '[{"name": ""}]', "a name is empty"),
        (("-", "--server", "s"), '[{"name": ""}]', "a name is empty"),
        (("-",), "[", "standard input is no JSON"),
        (("-",), "[" * 100_000, "nested too deeply"),
        (("-",), b"\xff", "no UTF-8 text"),
        (("--server", "s", "a"), "", "give - too"),
        (("-", "--server", "a__b"), "x", "no server's name"),
        (("a", "--source", "pigeon"), "", "--source"),
    ],
)
def test_what_cannot_be_read_is_never_a_list_of_none(
    stanch: Stanch, words: tuple[str, ...], stdin: str | bytes, said: str
) -> None:
    ended = stanch(*TOOLS, *words, stdin=stdin)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.parametrize(
    "line", ["colour = 1", "[tools.x]\n", "[[groups]]\nid = 'more'\nrules = [{ tool = 'x', action = 'alow' }]", "x = ["]
)
def test_a_policy_with_a_mistake_that_hides_tools_has_no_coverage(stanch: Stanch, folder: Path, line: str) -> None:
    (folder / "stanch.toml").write_text(f"version = 1\n{line}\n", "utf-8")
    ended = stanch(*TOOLS, "Read")
    assert (ended.code, ended.out) == (2, "")
    assert "stanch policy check names every mistake" in ended.err


def test_a_mistake_elsewhere_hides_none_and_is_named(stanch: Stanch, folder: Path) -> None:
    (folder / "stanch.toml").write_text(f"{RULES}[agents.x]\ntools = ['nothing']\n", "utf-8")
    ended = stanch(*TOOLS)
    assert ended.code == 10
    assert "'nothing' is no built-in tool" in ended.err


def test_no_program_is_asked(stanch: Stanch, folder: Path) -> None:
    more = "[caller_policy]\ncommand = ['touch', 'asked']\n[[hooks]]\ncommand = ['touch', 'asked']\n"
    (folder / "stanch.toml").write_text(RULES + more, "utf-8")
    assert stanch(*TOOLS, "x").code == 10
    assert not (folder / "asked").exists()


@pytest.mark.usefixtures("folder")
def test_a_name_from_elsewhere_does_nothing_to_a_terminal_or_a_policy(stanch: Stanch) -> None:
    evil = "\x1b]0;owned\x07\n[tools.Other]\neffects = []\n\u202e"
    ended = stanch(*TOOLS, "-", stdin=json.dumps([evil, "\ud800"]))
    assert ended.code == 10
    assert not any(char in ended.out for char in "\x1b\x07\u202e")
    assert "# \\ud800 cannot be declared" in ended.out
    found = tomllib.loads(ended.out[ended.out.index("# To be filled in") :])["tools"]
    assert evil in found
    assert "Other" not in found


def test_the_lines_open_nothing_until_they_are_filled_in(stanch: Stanch, folder: Path) -> None:
    ended = stanch(*TOOLS, "--json")
    lines = next(one["declaration"] for one in ended.json["undeclared"] if one["tool"] == "fs.write_v2")
    into = call("fs.write_v2", target="prod/a", note="x")
    assert stanch("check", *into).code == 11
    (folder / "stanch.toml").write_text(RULES + lines, "utf-8")
    for arguments in (into, call("fs.write_v2", target="a")):
        assert stanch("check", *arguments, "--json").json["reason"]["code"] == "policy_invalid"
    filled = lines.replace('class = ""', 'class = "write"').replace('argument = ""', 'argument = "target"')
    (folder / "stanch.toml").write_text(RULES + filled, "utf-8")
    assert stanch("check", *into).code == 11
    assert stanch("check", *call("fs.write_v2", target="a")).code == 0
    assert "fs.write_v2" not in _answers(stanch(*TOOLS, "--json").json)
