"""A new server asks once which models it may trust, and only where there is somebody to ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stanch.app.settings import Settings
from stanch.surfaces.cli import trusting
from stanch.surfaces.cli.trusting import trusted
from stanch.values.fault import BadInput


class Terminal:
    def __init__(self, there: bool) -> None:
        self._there = there

    def isatty(self) -> bool:
        return self._there


@pytest.fixture(name="settings")
def _settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "data")


def at(monkeypatch: pytest.MonkeyPatch, *lines: str, there: bool = True) -> list[str]:
    left = list(lines)

    def said(prompt: str = "") -> str:
        assert left, f"asked once more: {prompt}"
        return left.pop(0)

    monkeypatch.setattr("sys.stdin", Terminal(there))
    monkeypatch.setattr("builtins.input", said)
    return left


def test_what_was_said_once_is_kept(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, "anthropic/* ollama/qwen")
    assert trusted(settings, ()) == ("anthropic/*", "ollama/qwen")
    at(monkeypatch)
    assert trusted(settings, ()) == ("anthropic/*", "ollama/qwen")
    assert (settings.data / trusting.FILE).stat().st_mode & 0o077 == 0


def test_none_is_an_answer_too_and_is_not_asked_about_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "")
    assert trusted(settings, ()) == ()
    at(monkeypatch)
    assert trusted(settings, ()) == ()


def test_what_no_model_fits_is_asked_again(settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    at(monkeypatch, "/x", "anthropic/*")
    assert trusted(settings, ()) == ("anthropic/*",)
    assert "/x" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["[models]\ndefault_tier = 'limited'\n", "this is = no [toml"])
def test_a_policy_that_speaks_of_models_or_is_broken_asks_nothing(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "stanch.toml"
    file.write_text(policy)
    at(monkeypatch)
    assert trusted(Settings(tmp_path / "data", file), ()) == ()


def test_nobody_is_asked_without_a_terminal_or_on_a_directory_that_is_known(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, there=False)
    assert trusted(settings, ()) == ()
    settings.data.mkdir(mode=0o700)
    settings.token_file.write_text("x")
    at(monkeypatch)
    assert trusted(settings, ()) == ()


def test_the_command_line_goes_first_and_is_checked(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch)
    assert trusted(settings, ("openai/*",)) == ("openai/*",)
    with pytest.raises(BadInput, match="--trust needs a pattern"):
        trusted(settings, ("/x",))
