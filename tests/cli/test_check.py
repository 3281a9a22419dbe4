"""Does `stanch check` give the gate's answer, in words, as JSON and as an exit code?"""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.surfaces.cli import terminal
from tests.cli.conftest import Stanch, call

EXITS = {"allow": 0, "ask": 10, "deny": 11}


@pytest.mark.parametrize(
    ("tool", "path", "effect", "code", "rule"),
    [
        ("read_file", "docs/../secrets/x", "deny", "rule", 1),
        ("read_file", "docs/way-in/x", "deny", "rule", 1),
        ("read_file", "docs/way-in/not-there-yet", "deny", "rule", 1),
        ("write_file", "secrets/new", "deny", "rule", 2),
        ("write_file", "data/new", "allow", "rule", 3),
        ("write_file", "data", "allow", "rule", 3),
        ("write_file", "data-evil/new", "ask", "rule", 7),
        ("write_file", "/data-evil", "ask", "rule", 7),
        ("write_file", "notes.md", "ask", "rule", 7),
        ("write_file", "data/../notes.md", "ask", "rule", 7),
        ("read_file", "docs/a.md", "allow", "read_grant", None),
        ("read_file", "/etc/hostname", "ask", "rule", 8),
        ("write_file", "memory/today.md", "allow", "memory_exception", None),
        ("write_file", "stanch.toml", "deny", "path_protected", None),
        ("write_file", ".git/hooks/pre-commit", "deny", "runs_code", None),
    ],
)
def test_the_example_policy_answers(
    stanch: Stanch, project: Path, tool: str, path: str, effect: str, code: str, rule: int | None
) -> None:
    ended = stanch("check", "--policy", "stanch.toml", *call(tool, path=path), "--json")
    assert ended.err == ""
    assert ended.code == EXITS[effect]
    assert ended.json["effect"] == effect
    reason = ended.json["reason"]
    assert reason["code"] == code
    assert (reason["rule"] or {}).get("id") == rule


def test_the_json_has_the_documented_shape(stanch: Stanch, project: Path) -> None:
    said = stanch("check", *call("edit_file", path="docs/../secrets/x"), "--json").json
    assert list(said) == ["effect", "reason", "effects", "trace", "policy_version", "policy"]
    assert said["policy"] == {"file": "stanch.toml", "workspace": str(project), "version": said["policy_version"]}
    assert said["reason"]["rule"] | {"words": ""} == {
        "id": 1,
        "group": "default",
        "note": "secrets never reach a model",
        "place": "stanch.toml:9",
        "words": "",
    }
    assert said["reason"]["subject"] == str(project / "secrets" / "x")
    assert said["reason"]["sentence"].startswith("Denied by rule 1 in group")
    assert [effect["class"] for effect in said["effects"]] == ["read", "write"]
    for effect in said["effects"]:
        assert effect["argument"] == "path"
        assert effect["requested"] == "docs/../secrets/x"
        assert effect["path"] == str(project / "secrets" / "x")
        assert effect["effect"] == "deny"
        assert effect["reason"]["code"] == "rule"
    layers = {step["layer"]: step for step in said["trace"]}
    assert list(layers)[:2] == ["integrity", "skill_rows"]
    assert layers["integrity"]["asked"]
    assert layers["integrity"]["reason"] is None
    assert not layers["tier"]["asked"]
    assert layers["persisted_rules"]["effect"] == "deny"
    assert layers["persisted_rules"]["reason"]["rule"]["id"] == 1
    assert layers["persisted_rules"]["microseconds"] > 0


def test_a_person_reads_effect_sentence_place_and_policy(stanch: Stanch, project: Path) -> None:
    ended = stanch("check", *call("read_file", path="docs/../secrets/x"))
    first, place, policy = ended.out.splitlines()
    assert first.startswith("deny  Denied by rule 1")
    assert f"docs/../secrets/x (which is {project}/secrets/x)" in first
    assert place == "  rule 1: stanch.toml:9"
    assert policy.startswith("policy: stanch.toml, version ")
    assert ended.err == ""


def test_each_effect_has_a_line_where_there_are_several(stanch: Stanch, project: Path) -> None:
    lines = stanch("check", *call("edit_file", path="data/a")).out.splitlines()
    assert lines[2].startswith(f"  read {project}/data/a (path): allow  ")
    assert lines[3].startswith(f"  write {project}/data/a (path): allow  ")


def test_the_trace_names_every_layer(stanch: Stanch, project: Path) -> None:
    out = stanch("check", *call("read_file", path="docs/a"), "--trace").out
    for words in (
        "integrity             asked, no objection",
        "relaxation",
        "\n  7 layers are not configured: skill_rows, ",
    ):
        assert words in out
    denied = stanch("check", *call("write_file", path=".git/hooks/x"), "--trace").out
    assert "persisted_rules       not asked, since a deny stands already" in denied


def test_without_a_policy_file_the_built_in_rules_speak(
    stanch: Stanch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = stanch("check", *call("read_file", path="secrets/x"))
    assert ended.code == 11
    assert "rule 1: one of the built-in rules" in ended.out
    assert (
        f"policy: the built-in rules over {tmp_path.resolve()}, since there is no stanch.toml here or above"
        in ended.out
    )


def test_relative_paths_start_in_the_working_directory_named(stanch: Stanch, project: Path) -> None:
    assert stanch("check", *call("read_file", path="x"), "--cwd", "secrets").code == 11
    assert stanch("check", *call("write_file", path="new"), "--cwd", "data").code == 0
    in_context = '{"working_directory": "docs"}'
    ended = stanch("check", *call("read_file", path="x"), "--cwd", "secrets", "--context", in_context, "--json")
    assert ended.json["effects"][0]["path"] == str(project / "docs" / "x")


def test_the_working_directory_is_read_where_the_command_is_typed(
    stanch: Stanch, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "docs")
    ended = stanch("check", "--policy", "../stanch.toml", *call("read_file", path="x"), "--cwd", "../data", "--json")
    assert ended.json["effects"][0]["path"] == str(project / "data" / "x")


def test_the_context_grants_and_an_explicit_null_takes_the_default_away(stanch: Stanch, project: Path) -> None:
    write = call("write_file", path="logs/a")
    assert stanch("check", *write).code == 10
    assert stanch("check", *write, "--context", '{"allow_fs_writes": ["logs/"]}').code == 0
    assert stanch("check", *write, "--source", "cron").code == 0
    assert stanch("check", *write, "--source", "cron", "--context", "null").code == 10


def test_an_unknown_group_asks_and_the_option_wins_over_the_context(stanch: Stanch, project: Path) -> None:
    ended = stanch("check", *call("write_file", path="data/a"), "--group", "nobody", "--json")
    assert (ended.code, ended.json["reason"]["code"]) == (10, "group_missing")
    context = '{"security_group": "nobody"}'
    ended = stanch("check", *call("write_file", path="data/a"), "--group", "default", "--context", context)
    assert ended.code == 0
    assert stanch("check", *call("read_file", path="secrets/x"), "--group", "nobody").code == 11


def test_a_model_whose_tier_cannot_be_told_is_never_silence(stanch: Stanch, project: Path) -> None:
    ended = stanch("check", *call("write_file", path="data/a"), "--model", "deepseek/chat", "--json")
    assert ended.code != 0


@pytest.mark.parametrize("how", ["-", "@call.json"])
def test_arguments_come_from_standard_input_or_a_file(stanch: Stanch, project: Path, how: str) -> None:
    text = '{"path": "secrets/x"}'
    (project / "call.json").write_text(text, "utf-8")
    assert stanch("check", "--tool", "read_file", "--args", how, stdin=text).code == 11


def test_a_broken_policy_denies_and_names_the_line(stanch: Stanch, project: Path) -> None:
    (project / "stanch.toml").write_text('version = 1\nworkspac = "."\n', "utf-8")
    ended = stanch("check", *call("read_file", path="docs/a"))
    assert ended.code == 11
    assert "stanch.toml:2" in ended.out.splitlines()[0]
    assert "note: stanch.toml:2: unknown key 'workspac'; did you mean 'workspace'?" in ended.err


def test_a_broken_group_denies_those_who_need_it_alone(stanch: Stanch, project: Path) -> None:
    with (project / "stanch.toml").open("a", encoding="utf-8") as file:
        file.write('[[groups]]\nid = "odd"\n[[groups.rules]]\ntool = "read_file"\naction = "allwo"\n')
    ended = stanch("check", *call("write_file", path="data/a"), "--group", "odd", "--json")
    assert (ended.code, ended.json["reason"]["code"]) == (11, "policy_invalid")
    assert "stanch.toml:" in ended.json["reason"]["sentence"]
    assert stanch("check", *call("write_file", path="data/a")).code == 0


def test_control_and_invisible_characters_are_escaped(stanch: Stanch, project: Path) -> None:
    path = "data/a\x1b[31m\n\u202eb"
    for form in ((), ("--json",), ("--trace",)):
        out = stanch("check", *call("edit_file", path=path), *form).out
        assert "\x1b" not in out
        assert "\u202e" not in out
    human = stanch("check", *call("write_file", path=path)).out
    assert "data/a\\x1b[31m\\n\\u202eb" in human


def test_names_that_are_no_text_are_answered(stanch: Stanch, project: Path) -> None:
    for form in ((), ("--json",)):
        ended = stanch("check", "--tool", "read_file", "--args", '{"path": "a\udcff"}', *form)
        assert ended.code == 11
        assert "\\udcff" in ended.out
    assert stanch("check", "--tool", "odd\udcff", "--args", "{}").code == 10


class Terminal:
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("name", "value", "colours"), [("STANCH_X", "", True), ("NO_COLOR", "1", False), ("TERM", "dumb", False)]
)
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, colours: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    assert terminal.wants_colour(Terminal()) is colours  # type: ignore[arg-type]
    assert not terminal.wants_colour(None)
