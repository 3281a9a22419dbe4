"""Are the agents that run here the pinned ones, and does their absence say so: a reason here, a failure in CI?"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agents import programs
from tests.agents.clients import QUIET
from tests.agents.documented import ADDRESS, PAGE
from tests.agents.programs import LEFT_OUT, LOCK, NAMES, PROGRAMS, ROOT, needed, pinned


def test_the_agents_are_the_ones_that_are_pinned(tmp_path: Path) -> None:
    needed()
    package = {"claude": "claude-code", "codex": "codex", "opencode": "opencode"}
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), **QUIET}
    for name in NAMES:
        said = subprocess.run(
            [PROGRAMS / name, "--version"], env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        version = pinned()[package[name]].partition("-")[0]
        assert version in said.stdout.split(), said


@pytest.mark.parametrize("gone", ["everything", "one", "pins"])
def test_agents_that_are_not_there_are_a_reason_here_and_a_failure_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gone: str
) -> None:
    for name in (*NAMES, "rg") if gone != "everything" else ():
        (tmp_path / name).write_text("#!/bin/sh\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    if gone == "one":
        (tmp_path / "codex").unlink()
    installed = tmp_path / "installed.json"
    installed.write_bytes(LOCK.read_bytes() + (b"\n" if gone == "pins" else b""))
    monkeypatch.setattr(programs, "PROGRAMS", tmp_path)
    monkeypatch.setattr(programs, "INSTALLED", installed)
    monkeypatch.delenv(LEFT_OUT, raising=False)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"\./run agents"):
        needed()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI needs the real agents"):
        needed()
    monkeypatch.setenv(LEFT_OUT, "1")
    with pytest.raises(pytest.skip.Exception, match=f"{LEFT_OUT}=1"):
        needed()


def test_every_package_is_pinned_with_a_digest_and_without_an_address() -> None:
    lock = LOCK.read_text("utf-8")
    assert lock.count('"integrity": "sha512-') == len(pinned()) == len(NAMES)
    assert "://" not in lock


def test_without_npm_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "tests" / "agents").mkdir(parents=True)
    for place in ("run", "tests/agents/package.json", "tests/agents/package-lock.json"):
        shutil.copy(ROOT / place, tmp_path / place)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("cmp", "cp", "dirname", "mkdir", "rm", "sh"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    said = subprocess.run(
        [tmp_path / "run", "agents"],
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said.returncode == 1
    assert "npm was not found" in said.stderr
    assert "apt-get install nodejs npm" in said.stderr
    assert not (tmp_path / ".agents").exists()


def test_what_persons_are_told_to_set_names_the_usual_address() -> None:
    page = PAGE.read_text("utf-8").partition("## Claude Code, Codex and OpenCode")[2]
    assert page.count(ADDRESS) >= len(NAMES)
    for line in page.splitlines():
        assert "127.0.0.1" not in line or ADDRESS in line, line
