"""Does a policy that comes with Stanch answer its own table of cases, and is nothing to be said against it?"""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.surfaces.cli.policy_start import preset, presets
from tests.cli.conftest import Stanch

CASES = Path(__file__).with_name("presets")


def test_every_preset_answers_its_cases(stanch: Stanch) -> None:
    assert sorted(file.stem for file in CASES.glob("*.yaml")) == presets()
    ended = stanch("policy", "test", str(CASES))
    assert (ended.code, ended.err) == (0, ""), ended.out


@pytest.mark.parametrize("name", presets())
def test_a_preset_is_written_and_clean(
    stanch: Stanch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert stanch("policy", "init", "--preset", name).out == "wrote stanch.toml; next: stanch policy check\n"
    assert Path("stanch.toml").read_text("utf-8") == preset(name)
    checked, linted = stanch("policy", "check"), stanch("policy", "lint")
    assert (checked.code, checked.err) == (0, "")
    assert (linted.code, linted.out, linted.err) == (0, "stanch.toml: nothing found\n", "")


def test_a_preset_is_printed(stanch: Stanch) -> None:
    assert stanch("policy", "init", "--preset", "dev", "--print").out == preset("dev")
    assert stanch("policy", "init", "--preset", "dev", "--print", "--json").json == {"text": preset("dev")}


def test_an_unknown_preset_is_answered_with_those_there_are(stanch: Stanch, tmp_path: Path) -> None:
    ended = stanch("policy", "init", str(tmp_path), "--preset", "ops")
    assert ended.code != 0
    assert "there is no preset ops; there is: dev" in ended.err
    assert not list(tmp_path.iterdir())
