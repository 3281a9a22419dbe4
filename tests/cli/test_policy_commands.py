"""Do `stanch policy check`, `lint` and `init` say what is wrong, where, and with which exit code?"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from stanch.policy.building import build
from stanch.policy.document import parse
from stanch.policy.seeds import ROWS
from stanch.surfaces.cli.policy_start import TEXT
from tests.cli.conftest import Stanch


def test_a_policy_without_problems_shows_what_its_paths_mean(stanch: Stanch, project: Path) -> None:
    ended = stanch("policy", "check", "stanch.toml")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == f"workspace: {project}"
    assert "stanch.toml:9: /**/secrets means /**/secrets" in lines
    assert f"stanch.toml:24: data means {project}/data" in lines
    assert f"tier untrusted: public means {project}/public" in lines
    assert lines[-1].startswith("stanch.toml: no problems (9 rules, version ")


def test_a_path_behind_a_link_shows_both_forms(stanch: Stanch, project: Path) -> None:
    rule = '[[groups]]\nid = "more"\n[[groups.rules]]\ntool = "read_file"\npath = "docs/way-in"\naction = "deny"\n'
    with (project / "stanch.toml").open("a", encoding="utf-8") as file:
        file.write(rule)
    assert (
        f"docs/way-in means {project}/docs/way-in and {project}/secrets" in stanch("policy", "check", "stanch.toml").out
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('colour = "red"', "stanch.toml:2: unknown key 'colour' (known: "),
        ("workspace = 7", "stanch.toml:2: 'workspace' must be a string, got a number\n"),
        ('workspace = "a\\u0000b"', "stanch.toml:2: the workspace "),
        ("groups = [", "stanch.toml:"),
        ('[sessions.defaults.agent.x]\nallow_fs_writes = ["a/*.csv"]', "stanch.toml:3: "),
        ('[sessions.defaults.agent.x]\nsecurity_group = "no"', "stanch.toml:3: warning: there is no group 'no'"),
    ],
)
def test_a_problem_is_named_with_its_line(stanch: Stanch, project: Path, line: str, said: str) -> None:
    (project / "bad").mkdir()
    (project / "bad" / "stanch.toml").write_text(f"version = 1\n{line}\n", "utf-8")
    for command in ("check", "lint"):
        ended = stanch("policy", command, "bad/stanch.toml")
        assert ended.code == 1
        assert said in ended.out
        assert "workspace: " not in ended.out
    assert f"workspace: {project}/bad" in stanch("policy", "check", "bad/stanch.toml", "--patterns").out
    found = stanch("policy", "check", "bad/stanch.toml", "--json")
    assert found.code == 1
    assert found.json["problems"][0]["line"] > 1
    assert set(found.json["problems"][0]) == {"line", "where", "message", "scope", "warning"}


def test_a_file_that_cannot_be_read_is_a_mistake(stanch: Stanch, project: Path) -> None:
    (project / "latin").write_bytes(b"# caf\xe9\n")
    for name, said in (("nowhere.toml", "no such file"), ("docs", "is a directory"), ("latin", "is no UTF-8 text")):
        for command in ("check", "lint"):
            ended = stanch("policy", command, name)
            assert (ended.code, ended.out) == (2, "")
            assert said in ended.err


@pytest.mark.usefixtures("project")
def test_lint_finds_nothing_in_the_example(stanch: Stanch) -> None:
    ended = stanch("policy", "lint", "stanch.toml")
    assert (ended.code, ended.out, ended.err) == (0, "stanch.toml: nothing found\n", "")
    assert stanch("policy", "lint", "stanch.toml", "--json").json["findings"] == []


def test_a_file_without_default_is_told_that_the_built_in_rules_are_used(stanch: Stanch, project: Path) -> None:
    group = '[[groups]]\nid = "jobs"\n[[groups.rules]]\ntool = "read_file"\naction = "ask"\n'
    (project / "stanch.toml").write_text(f"version = 1\n{group}", "utf-8")
    ended = stanch("policy", "check")
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == 'stanch.toml: no group "default": the 36 built-in rules are used'
    assert "stanch.toml: no problems (1 rule, version " in ended.out
    assert "a built-in rule: /**/secrets means /**/secrets" in ended.out
    assert "seeded" not in ended.out
    assert stanch("policy", "check", "--json").json["built_in_rules"] == 36
    answered = stanch("check", "--tool", "read_file", "--args", '{"path": "secrets/x"}')
    assert "one of the built-in rules" in answered.out
    silenced = (
        group.replace("read_file", "@read")
        .replace('"ask"', '"allow"')
        .replace("action", 'path = "/**/secrets"\naction')
    )
    (project / "stanch.toml").write_text(f"version = 1\n{silenced}", "utf-8")
    assert "(deny @read on /**/secrets, built in)" in stanch("policy", "lint").out
    (project / "stanch.toml").write_text('version = 1\n[[groups]]\nid = "default"\n', "utf-8")
    assert "built-in" not in stanch("policy", "check").out


def test_lint_names_the_place_of_each_finding(stanch: Stanch, project: Path) -> None:
    rules = '[[groups]]\nid = "jobs"\n[[groups.rules]]\ntool = "raed_file"\naction = "ask"\n'
    (project / "stanch.toml").write_text(f"version = 1\n{rules}", "utf-8")
    os.link(project / "secrets" / "x", project / "data" / "x")
    ended = stanch("policy", "lint", "stanch.toml")
    assert ended.code == 1
    assert ended.out.startswith("stanch.toml:4: no tool is known as 'raed_file'; did you mean 'read_file'?")
    assert '[group "jobs"]' in ended.out
    (found,) = stanch("policy", "lint", "stanch.toml", "--json").json["findings"]
    assert (found["kind"], found["place"], found["group"], found["rule"]) == (
        "unknown_tool",
        "stanch.toml:4",
        "jobs",
        1,
    )


def test_lint_names_files_with_further_names(stanch: Stanch, project: Path) -> None:
    os.link(project / "secrets" / "x", project / "data" / "x")
    ended = stanch("policy", "lint", "stanch.toml")
    assert ended.code == 1
    assert f"{project}/secrets/x (2 names)" in ended.out


def test_init_writes_a_policy_with_the_rules_that_stanch_starts_with(stanch: Stanch, tmp_path: Path) -> None:
    assert stanch("policy", "init", str(tmp_path)).code == 0
    written = (tmp_path / "stanch.toml").read_text("utf-8")
    policy = build(parse(written, "stanch.toml"), workspace="/w", home="/home/p")
    assert policy.problems == ()
    rules = {(r.tool, r.action, r.path, r.mandatory) for r in policy.groups["default"].rules}
    for seed in ROWS:
        runs = seed.tool in ("execute_cmd", "run_code")
        assert ("@execute" if runs else seed.tool, seed.action, seed.path, seed.mandatory) in rules


def test_the_examples_in_the_comments_of_init_are_right() -> None:
    head, mark, tail = TEXT.partition("# --- More")
    open_up = head + mark + "\n".join(line.removeprefix("# ") if _is_toml(line) else line for line in tail.splitlines())
    policy = build(parse(open_up, "stanch.toml"), workspace="/w", home="/home/p")
    assert policy.problems == ()
    assert "deploy" in policy.tools
    assert policy.source_defaults["cron"].security_group == "jobs"


def _is_toml(line: str) -> bool:
    try:
        return bool(tomllib.loads(line.removeprefix("# ")))
    except tomllib.TOMLDecodeError:
        return False


def test_init_leaves_what_is_there(stanch: Stanch, project: Path) -> None:
    before = (project / "stanch.toml").read_bytes()
    ended = stanch("policy", "init")
    assert (ended.code, ended.out) == (2, "")
    assert "stanch.toml exists already and was left as it was" in ended.err
    assert (project / "stanch.toml").read_bytes() == before
    (project / "docs" / "stanch.toml").symlink_to("nowhere")
    assert stanch("policy", "init", "docs").code == 2
    assert "there is no directory nowhere" in stanch("policy", "init", "nowhere").err


def test_init_prints_where_it_is_asked_to(stanch: Stanch, project: Path) -> None:
    before = sorted(os.listdir(project / "docs"))
    ended = stanch("policy", "init", "docs", "--print")
    assert (ended.code, ended.out) == (0, TEXT)
    assert sorted(os.listdir(project / "docs")) == before
    assert stanch("policy", "init", "docs", "--json").json == {"written": "docs/stanch.toml"}
