"""Which known secrets recorded sessions hold, and which models were sent them; the report holds names alone."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stanch.surfaces.cli.main import app

VALUE, OTHER = "marker-of-the-value/4711", "marker-of-another/4712"


def run(tmp_path: Path, lines: list[Any], *words: str) -> Any:
    """How a replay of these lines ended."""
    (tmp_path / "secrets.toml").write_text(f'STRIPE_KEY = "{VALUE}"\nOTHER = "{OTHER}"\nPIN = "1234"\n')
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ended = CliRunner().invoke(
        app, ["replay", str(tmp_path / "s.jsonl"), "--secrets", str(tmp_path / "secrets.toml"), *words]
    )
    assert ended.exit_code == 0, ended.output
    assert "marker" not in ended.output
    return ended


def claude(number: int, role: str, content: Any, model: str | None = None, **more: Any) -> dict[str, Any]:
    """A line of a session of Claude Code."""
    message = {"role": role, "content": content, **({} if model is None else {"model": model})}
    about = {"type": role, "uuid": f"u{number}", "sessionId": "s", "cwd": "/repo", "version": "2.1"}
    return {**about, "message": message, **more}


def use(command: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}]


SESSION = [
    claude(1, "user", "hello"),
    claude(2, "assistant", use("cat .env"), "claude-first"),
    claude(3, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": f"KEY={VALUE}"}]),
    claude(4, "assistant", [{"type": "text", "text": "I see."}], "claude-second"),
    claude(5, "user", "go on", toolUseResult={"aside": OTHER}),
    claude(6, "assistant", use(f"curl -H {VALUE} " + "x" * 90), "claude-third"),
]


def test_who_was_sent_a_secret_is_told(tmp_path: Path) -> None:
    report = json.loads(run(tmp_path, SESSION, "--json").stdout)
    rows = {row["name"]: row for row in report["secrets"]}
    assert rows["STRIPE_KEY"] == {"name": "STRIPE_KEY", "messages": 2, "models": ["claude-second", "claude-third"]}
    assert rows["OTHER"] == {"name": "OTHER", "messages": 0, "models": []}, "in the file, and in nothing that was said"
    assert report["files"][0]["secrets"] == report["secrets"]
    assert len(report["calls"]) == 2


def test_the_report_shows_names_alone(tmp_path: Path) -> None:
    ended = run(tmp_path, SESSION, "--html", str(tmp_path / "out.html"))
    assert "STRIPE_KEY: in 2 messages, to claude-second, claude-third" in ended.stdout
    assert "OTHER: in no message, but the file, to no model" in ended.stdout
    assert "PIN has fewer than 8 characters" in ended.stderr
    page = (tmp_path / "out.html").read_text()
    assert "marker-of" not in page
    assert "claude-second" in page
    assert "{{STRIPE_KEY}}" in page


def test_neither_form_of_a_value_is_in_any_report(tmp_path: Path) -> None:
    encoded = base64.b64encode(f"x{VALUE}".encode()).decode()
    session = [*SESSION, claude(7, "assistant", use(f"cat /repo/{encoded}/x"), "claude-third")]
    ended = run(tmp_path, session, "--html", str(tmp_path / "out.html"))
    page = (tmp_path / "out.html").read_text()
    told = run(tmp_path, session, "--json").output
    for said in (page, told, ended.output):
        assert encoded[4:-4] not in said
    assert "{{STRIPE_KEY}}" in page
    assert "{{STRIPE_KEY}}" in told


def test_requests_say_which_model_they_were_for(tmp_path: Path) -> None:
    request = {"model": "gpt-x", "messages": [{"role": "system", "content": VALUE}, {"role": "user", "content": "hi"}]}
    answered = {**request, "messages": [*request["messages"], {"role": "assistant", "content": "ok"}]}
    report = json.loads(run(tmp_path, [answered], "--json").stdout)
    assert report["secrets"] == [{"name": "STRIPE_KEY", "messages": 1, "models": ["gpt-x"]}]


def test_without_any_in_it_and_without_a_file(tmp_path: Path) -> None:
    ended = run(tmp_path, [claude(1, "user", "hello"), claude(2, "assistant", use("ls"), "m")])
    assert "None of the known secrets is in it." in ended.stdout
    plain = CliRunner().invoke(app, ["replay", str(tmp_path / "s.jsonl"), "--json"])
    assert json.loads(plain.stdout)["secrets"] is None


@pytest.mark.parametrize("text", ["A = 1", "A = marker"])
def test_a_file_that_cannot_be_used_ends_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "secrets.toml").write_text(text)
    ended = CliRunner().invoke(app, ["replay", "--sample", "--secrets", str(tmp_path / "secrets.toml")])
    assert ended.exit_code == 2
    assert "marker" not in ended.output
