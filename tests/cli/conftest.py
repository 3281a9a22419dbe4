"""What every test of the command line starts from: a project on disk with the example policy, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from typer.testing import CliRunner

from stanch.surfaces.cli.main import app

EXAMPLE = Path(__file__).with_name("example.toml")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Stanch(Protocol):
    """The command line, run in this process."""

    def __call__(self, *words: str, stdin: str | bytes | None = None) -> Ended: ...


@pytest.fixture
def stanch() -> Stanch:
    """Runs the command line in this process; an exception that gets out of it fails the test."""

    def run(*words: str, stdin: str | bytes | None = None) -> Ended:
        ended = CliRunner().invoke(app, list(words), input=stdin, catch_exceptions=False, prog_name="stanch")
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with the example policy, entered: secrets, data, docs, and a link from outside into secrets."""
    root = tmp_path.resolve() / "project"
    for name in ("secrets", "data", "data-evil", "docs", "memory"):
        (root / name).mkdir(parents=True)
    (root / "secrets" / "x").write_text("hidden", "utf-8")
    (root / "docs" / "way-in").symlink_to("../secrets")
    (root / "stanch.toml").write_text(EXAMPLE.read_text("utf-8"), "utf-8")
    monkeypatch.chdir(root)
    return root


def call(tool: str, **arguments: Any) -> tuple[str, ...]:
    """The options that name a call."""
    return ("--tool", tool, "--args", json.dumps(arguments))
