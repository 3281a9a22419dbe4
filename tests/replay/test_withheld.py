"""What a model would not have been sent of recorded sessions: of every kind of file, per file and over all of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from stanch.surfaces.cli.main import app
from stanch.surfaces.replay.asking import Asking
from stanch.surfaces.replay.detect import recognise
from stanch.surfaces.replay.html import page
from stanch.surfaces.replay.report import Report
from stanch.surfaces.replay.said import conversations
from stanch.surfaces.replay.text import print_report
from tests.replay.recorded import DATA, TOOLS, records, report_of, write

POLICY = """
version = 1
workspace = "/repo/app"
[models.assignments]
"ext/*" = "external"
"local/*" = "trusted"
[tiers.external]
label = "External"
otherwise = { read = "allow", write = "allow", execute = "allow", network = "allow" }
cells = [{ path = "secrets", read = "deny" }, { path = "**/.env*", read = "deny" }]
"""
KEY, ENV, ROOT = "/repo/app/secrets/api.key", "/repo/app/.env", "/repo/app"
# Of each recording, the paths of which something would have been withheld, and of how many messages.
WITHHELD = {
    "claude-code-basic.jsonl": {KEY: 3, ENV: 1, ROOT: 1},
    "claude-code-resumed.jsonl": {ENV: 3},
    "claude-code-subagent.jsonl": {ROOT: 2, KEY: 1},
    "claude-code-v1.jsonl": {ROOT: 1, KEY: 1, ENV: 1},
    "codex-basic.jsonl": {ROOT: 3, KEY: 1},
    "codex-resumed.jsonl": {},
    "codex-v79.jsonl": {KEY: 1},
    "openai-responses.json": {ROOT: 3, KEY: 1},
}
SAID = [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c", "content": "A earns 1"}]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "stanch.toml").write_text(POLICY, "utf-8")
    return tmp_path / "stanch.toml"


def about(model: str, *paths: Path, policy: Path, cwd: str | None = None) -> Report:
    return report_of(*paths, policy=policy, asking=Asking(model=model, cwd=cwd))


def counts(report: Report) -> dict[str, int]:
    assert report.withheld is not None
    return {row.path: row.messages for row in report.withheld}


@pytest.mark.parametrize("name", WITHHELD)
def test_each_recording_is_filtered_as_it_would_be(name: str, policy: Path) -> None:
    report = about("ext/m", DATA / name, policy=policy)
    assert counts(report) == WITHHELD[name]
    assert report.json()["notes"] == []
    assert not report.warnings
    assert counts(about("local/m", DATA / name, policy=policy)) == {}


@pytest.mark.parametrize("name", TOOLS)
def test_every_message_of_every_recording_is_read(name: str) -> None:
    said, warnings = conversations(recognise(DATA / name))
    assert said
    assert not warnings
    assert {one.started for one in said} <= {"/repo/app", None}


def test_files_have_their_own_and_the_report_has_the_sum(policy: Path) -> None:
    names = ("claude-code-basic.jsonl", "codex-basic.jsonl")
    value = about("ext/m", *(DATA / name for name in names), policy=policy).json()
    assert value["withheld"] == [
        {"path": ROOT, "tier": "external", "messages": 4},
        {"path": KEY, "tier": "external", "messages": 4},
        {"path": ENV, "tier": "external", "messages": 1},
    ]
    for file, name in zip(value["files"], names, strict=True):
        assert {row["path"]: row["messages"] for row in file["withheld"]} == WITHHELD[name]


def test_without_a_model_nothing_is_said(policy: Path) -> None:
    value = report_of(DATA / "codex-basic.jsonl", policy=policy).json()
    assert value["withheld"] is None
    assert value["files"][0]["withheld"] is None
    assert "--model" in value["notes"][0]


def test_a_policy_with_a_mistake_in_its_tiers_says_so(policy: Path) -> None:
    policy.write_text(POLICY.replace('read = "deny" }]', 'read = "perhaps" }]'), "utf-8")
    value = about("ext/m", DATA / "codex-basic.jsonl", policy=policy).json()
    assert value["withheld"] is None
    assert "cannot be relied on" in value["notes"][0]
    assert {call["effect"] for call in value["calls"]} == {"deny"}


def test_every_form_of_the_report_says_it(policy: Path, tmp_path: Path) -> None:
    report = about("ext/m", DATA / "codex-basic.jsonl", policy=policy)
    out = io.StringIO()
    print_report(report, Console(file=out, no_color=True, width=200))
    assert f"withheld from ext/m (external)\n    3 messages  {ROOT}\n     1 message  {KEY}\n" in out.getvalue()
    text = "".join(page(report))
    assert "Withheld from ext/m" in text
    assert f"<td>{KEY}</td>" in text
    assert "invented-key" not in text + out.getvalue() + json.dumps(report.json()["withheld"])
    all_ = about("local/m", DATA / "codex-basic.jsonl", policy=policy)
    print_report(all_, Console(file=out, no_color=True, width=200))
    assert "local/m would have been sent everything." in out.getvalue()
    assert "local/m would have been sent everything." in "".join(page(all_))
    words = ["replay", str(DATA / "codex-basic.jsonl"), "--policy", str(policy), "--model", "ext/m", "--json"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert json.loads(done.stdout)["withheld"] == report.json()["withheld"]


def test_lists_of_messages_are_read_in_every_form(policy: Path, tmp_path: Path) -> None:
    path = "/repo/app/secrets/k"
    call = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": json.dumps({"path": path})}}
    said = [SAID[0], {"role": "assistant", "content": None, "tool_calls": [call]}, SAID[1]]
    ours: list[Any] = [
        {"role": "assistant", "parts": [{"type": "call", "id": "c", "tool": "read_file", "arguments": {"path": path}}]},
        {"role": "tool", "parts": [{"type": "result", "call_id": "c", "content": [{"type": "text", "text": "A"}]}]},
    ]
    forms = {
        "list.json": json.dumps(said, indent=1),
        "request.json": json.dumps({"model": "m", "messages": said}, indent=1),
        "lines.jsonl": "\n".join(map(json.dumps, said)),
        "one.jsonl": json.dumps(said),
        # A log of requests, each of which repeats what was said before.
        "log.jsonl": "\n".join(json.dumps({"messages": said[:end]}) for end in (1, 2, 3, 3)),
        "ours.json": json.dumps(ours, indent=1),
        "ours.jsonl": "\n".join(map(json.dumps, ours)),
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text, "utf-8")
        report = about("ext/m", tmp_path / name, policy=policy)
        assert counts(report) == {path: 1}, name
        assert [row.call.tool for row in report.rows] == ["read_file"], name


def test_the_directory_is_the_records_own_else_the_callers(policy: Path, tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "secrets/k"}'}}
    said = [{"role": "assistant", "content": None, "tool_calls": [call]}, SAID[1]]
    (tmp_path / "list.json").write_text(json.dumps(said), "utf-8")
    assert counts(about("ext/m", tmp_path / "list.json", policy=policy)) == {"secrets/k": 1}
    assert counts(about("ext/m", tmp_path / "list.json", policy=policy, cwd=ROOT)) == {"/repo/app/secrets/k": 1}
    assert counts(about("ext/m", tmp_path / "list.json", policy=policy, cwd="/elsewhere")) == {}


def test_what_cannot_be_read_is_told_of_and_holds_up_nothing(policy: Path, tmp_path: Path) -> None:
    broken = records("claude-code-basic.jsonl")
    at = next(number for number, one in enumerate(broken) if one["type"] == "user" and "tool_result" in str(one))
    broken[at]["message"]["content"] = [{"type": "tool_result", "content": "invented-key-for-the-sample-0001"}]
    report = about("ext/m", write(tmp_path / "s.jsonl", broken), policy=policy)
    (warning,) = report.warnings
    assert warning.line == at + 1
    assert "'withheld'" in warning.message
    assert "invented" not in warning.message
    assert counts(report)[ENV] == 1


def test_what_an_agent_attaches_by_itself_counts(policy: Path, tmp_path: Path) -> None:
    base = {"sessionId": "s", "cwd": ROOT, "parentUuid": None}
    attachment = {"type": "file", "filename": KEY, "content": {"type": "text", "file": {"content": "K"}}}
    lines = [
        {**base, "type": "user", "message": {"role": "user", "content": "look"}},
        {**base, "type": "attachment", "attachment": attachment},
        {**base, "type": "attachment", "attachment": {"type": "todo", "content": []}},
        {**base, "type": "attachment", "attachment": {}, "rendered": [{"content": f"Contents of {ENV}:\nA=1"}]},
    ]
    assert counts(about("ext/m", write(tmp_path / "s.jsonl", lines), policy=policy)) == {KEY: 1, ENV: 1}


def test_a_directory_that_changed_is_read_with_the_one_before(policy: Path, tmp_path: Path) -> None:
    def said(cwd: str, number: int, path: str) -> list[dict[str, Any]]:
        base = {"sessionId": "s", "cwd": cwd}
        use = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": path}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "K"}
        return [
            {**base, "type": "assistant", "message": {"role": "assistant", "content": [use]}},
            {**base, "type": "user", "message": {"role": "user", "content": [result]}},
        ]

    lines = [*said(ROOT, 1, "README.md"), *said(f"{ROOT}/secrets", 2, "api.key")]
    assert counts(about("ext/m", write(tmp_path / "s.jsonl", lines), policy=policy)) == {KEY: 1}
