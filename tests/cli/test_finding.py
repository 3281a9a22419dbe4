"""Is the nearest policy used where nobody names one, and is it said which?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stanch.surfaces.finding import nearest_policy
from stanch.values.fault import BadInput
from tests.cli.conftest import Stanch, call

ASKS = 'version = 1\n[[groups]]\nid = "default"\n[[groups.rules]]\ntool = "*"\naction = "ask"\nmandatory = true\n'


@pytest.fixture
def below(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory two floors below the one with the policy, entered."""
    folder = project / "docs" / "deep"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_nearest_wins_and_the_search_goes_up_to_the_root(project: Path, below: Path) -> None:
    assert nearest_policy() == project / "stanch.toml"
    (project / "docs" / "stanch.toml").write_text(ASKS, "utf-8")
    assert nearest_policy() == project / "docs" / "stanch.toml"
    (below / "stanch.toml").write_text(ASKS, "utf-8")
    assert nearest_policy() == Path("stanch.toml")


def test_a_home_on_the_way_is_searched_and_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Path, below: Path
) -> None:
    monkeypatch.setenv("HOME", str(project))
    assert nearest_policy() == project / "stanch.toml"
    monkeypatch.setenv("HOME", str(project / "docs"))
    assert nearest_policy() == project / "stanch.toml"
    (project / "stanch.toml").unlink()
    assert nearest_policy() is None


def test_what_cannot_be_followed_or_searched_is_not_passed_over(
    stanch: Stanch, below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (below / "stanch.toml").symlink_to("nowhere")
    ended = stanch("check", *call("read_file", path="a"))
    assert (ended.code, ended.out) == (2, "")
    assert "stanch.toml cannot be read" in ended.err

    def refuse(path: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("stanch.surfaces.finding.os.lstat", refuse)
    with pytest.raises(BadInput, match=r"cannot be searched .*permission denied.*--policy"):
        nearest_policy()


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_policy_above_speaks_and_is_named(stanch: Stanch, project: Path, below: Path, command: str) -> None:
    ended = stanch(command, *call("read_file", path="secrets/x"))
    assert ended.code == 11
    last = ended.out.splitlines()[-1]
    assert last.startswith(f"policy: {project}/stanch.toml, version ")
    assert last.endswith(f"; relative paths start in {project}")
    said = stanch(command, *call("read_file", path="secrets/x"), "--json").json
    assert said["policy"] == {
        "file": f"{project}/stanch.toml", "workspace": str(project), "version": said["policy_version"],
    }  # fmt: skip
    assert "relative paths start" not in stanch(command, *call("read_file", path="x"), "--cwd", ".").out


def test_without_any_the_built_in_rules_have_no_file(
    stanch: Stanch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = stanch("check", *call("read_file", path="x"), "--json").json
    assert (said["policy"]["file"], said["policy"]["workspace"]) == (None, str(tmp_path.resolve()))
    for command in ("check", "lint"):
        ended = stanch("policy", command)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("stanch: there is no stanch.toml here or above; ")
        assert "stanch policy init" in ended.err


@pytest.mark.parametrize("command", ["check", "lint"])
def test_check_and_lint_of_a_policy_take_the_nearest(stanch: Stanch, project: Path, below: Path, command: str) -> None:
    (project / "stanch.toml").write_text(ASKS, "utf-8")
    ended = stanch("policy", command)
    assert ended.code == 0
    assert ended.out.startswith(f"policy: {project}/stanch.toml\n")
    assert stanch("policy", command, "--json").json["policy"]["file"] == f"{project}/stanch.toml"
    assert "policy: " not in stanch("policy", command, "../../stanch.toml").out


def test_replay_takes_the_nearest(stanch: Stanch, project: Path, below: Path) -> None:
    text = '[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": "{}"}}]}]'
    (below / "s.json").write_text(text, "utf-8")
    assert f"Policy: {project}/stanch.toml" in stanch("replay", "s.json").out
