"""Does the policy that `stanch policy init` writes answer what people who run coding agents meet every day?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stanch.policy.building import build
from stanch.policy.document import parse
from stanch.policy.known_tools import known
from stanch.policy.seeds import READING
from stanch.surfaces.cli.policy_start import TEXT
from stanch.values.decision import Effect
from tests.cli.conftest import Stanch, call

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch\n"


@pytest.fixture
def started(stanch: Stanch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with nothing but the starter policy, and a home beside it, entered."""
    root = tmp_path.resolve() / "project"
    (root / "src").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(root)
    assert stanch("policy", "init").out == "wrote stanch.toml; next: stanch policy check\n"
    return root


@pytest.mark.parametrize(
    ("tool", "arguments", "effect"),
    [
        ("Read", {"file_path": "src/a.py"}, "allow"),
        ("Grep", {"pattern": "TODO"}, "allow"),
        ("Glob", {"pattern": "**/*.py"}, "allow"),
        ("Write", {"file_path": "data/towns.csv", "content": "x"}, "allow"),
        ("TodoWrite", {"todos": []}, "allow"),
        ("Task", {"prompt": "look", "description": "look"}, "allow"),
        ("AskUserQuestion", {"questions": []}, "allow"),
        ("ExitPlanMode", {"plan": "x"}, "allow"),
        ("BashOutput", {"bash_id": "1"}, "allow"),
        ("update_plan", {"plan": []}, "allow"),
        ("write_file", {"path": "memory/notes.md", "content": "x"}, "allow"),
        ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}, "ask"),
        ("apply_patch", {"input": PATCH}, "ask"),
        ("Bash", {"command": "git status"}, "ask"),
        ("exec_command", {"cmd": "ls"}, "ask"),
        ("run_code", {"code": "1"}, "ask"),
        ("WebFetch", {"url": "https://example.com", "prompt": "x"}, "ask"),
        ("mcp__mail__send", {"to": "ada@example.com"}, "ask"),
        ("Read", {"file_path": ".env"}, "ask"),
        ("Read", {"file_path": "app/.env.local"}, "ask"),
        ("Read", {"file_path": "/etc/hostname"}, "ask"),
        ("Read", {"file_path": "certs/server.pem"}, "deny"),
        ("Read", {"file_path": "~/.ssh/id_ed25519"}, "deny"),
        ("Read", {"file_path": "backup/id_rsa"}, "deny"),
        ("Read", {"file_path": "~/.aws/credentials"}, "deny"),
        ("Grep", {"pattern": "key", "path": "secrets"}, "deny"),
        ("Write", {"file_path": "secrets/api.key", "content": "x"}, "deny"),
        ("Write", {"file_path": "stanch.toml", "content": "x"}, "deny"),
    ],
)
def test_everyday_calls(stanch: Stanch, started: Path, tool: str, arguments: dict[str, Any], effect: str) -> None:
    said = stanch("check", *call(tool, **arguments), "--json").json
    assert said["effect"] == effect, said["reason"]["sentence"]


def test_no_grant_answers_for_an_environment_file(stanch: Stanch, started: Path) -> None:
    ended = stanch("check", *call("Read", file_path=".env"), "--context", '{"allow_fs_reads": ["."]}', "--json")
    assert (ended.code, ended.json["reason"]["rule"]["note"]) == (10, "may hold secrets")


def test_check_and_lint_find_nothing(stanch: Stanch, started: Path) -> None:
    checked = stanch("policy", "check")
    assert (checked.code, checked.err) == (0, "")
    assert "no problems" in checked.out
    linted = stanch("policy", "lint")
    assert (linted.code, linted.out, linted.err) == (0, "stanch.toml: nothing found\n", "")


def test_what_is_allowed_by_name_has_no_effect_or_reads_what_is_looked_through() -> None:
    rules = build(parse(TEXT, "stanch.toml"), workspace="/w", home="/home/p").groups["default"].rules
    allowed = {rule.tool for rule in rules if rule.action is Effect.ALLOW and rule.path is None}
    assert {"TodoWrite", "TaskCreate", "KillShell", "Agent", "Skill", "ToolSearch", "update_plan"} <= allowed
    assert set(READING) <= allowed, "as in the built-in rules"
    assert [name for name in allowed - set(READING) if known()[name].effects] == []
