"""`stanch redact`: a conversation in any shape, filtered, in the same shape; or one line, and nothing printed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stanch.surfaces.cli.main import app
from stanch.surfaces.cli.redact import print_value

POLICY = """
version = 1
[models.assignments]
"ext/*" = "external"
"local/*" = "trusted"
"ask/*" = "asking"
[tiers.external]
label = "External"
otherwise = { read = "allow", write = "deny", execute = "deny", network = "deny" }
cells = [{ path = "hr", read = "deny" }]
[tiers.asking]
label = "Asking"
otherwise = { read = "allow", write = "deny", execute = "deny", network = "deny" }
cells = [{ path = "hr", read = "ask" }]
"""
PAY = "A earns 1234567 euros a year and a car"
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Was verdient A? Grüße 🙂"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "hr/pay.csv"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": PAY},
    {"role": "assistant", "content": f"So {PAY}."},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "pay?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "hr/pay.csv"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": PAY}]},
]
ITEMS: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": '{"cmd": "cat hr/pay.csv"}'},
    {"type": "function_call_output", "call_id": "c", "output": PAY},
]
OURS: list[dict[str, Any]] = [
    {"role": "assistant", "parts": [{"type": "call", "id": "c", "tool": "read_file", "arguments": {"path": "hr/a"}}]},
    {"role": "tool", "parts": [{"type": "result", "call_id": "c", "content": [{"type": "text", "text": PAY}]}]},
]
REQUESTS: dict[str, Any] = {
    "chat": CHAT,
    "chat request": {"model": "m", "messages": CHAT, "temperature": 1.0, "tools": []},
    "anthropic": ANTHROPIC,
    "anthropic request": {"system": "be kind", "messages": ANTHROPIC, "max_tokens": 9},
    "responses": ITEMS,
    "responses request": {"instructions": "be kind", "input": ITEMS, "store": False},
    "ours": OURS,
    "ours request": {"messages": OURS},
}


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "stanch.toml").write_text(POLICY, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path.resolve()


def redact(given: Any, *words: str, status: int = 0) -> str:
    text = given if isinstance(given, (str, bytes)) else json.dumps(given)
    done = CliRunner().invoke(app, ["redact", *words], input=text, catch_exceptions=False)
    assert done.exit_code == status, done.stderr
    if status:
        assert not done.stdout
        assert "Traceback" not in done.stderr
        return done.stderr
    return done.stdout


@pytest.mark.parametrize("name", REQUESTS)
def test_every_shape_is_told_by_itself_and_comes_back(name: str, workspace: Path) -> None:
    given = REQUESTS[name]
    left = json.loads(redact(given, "--model", "ext/m", "--cwd", "."))
    said = json.dumps(left, ensure_ascii=False)
    assert PAY not in said
    path = workspace / ("hr/a" if "ours" in name else "hr/pay.csv")
    assert f'[Content from {path} filtered — trust tier \\"External\\" does not have read access]' in said
    assert json.loads(redact(given, "--model", "local/m", "--cwd", ".")) == given
    if isinstance(given, dict):
        assert list(left) == list(given)
        rest = {key: value for key, value in given.items() if key not in ("messages", "input")}
        assert rest.items() <= left.items()
    else:
        assert len(left) == len(given)


def test_a_file_a_dash_and_standard_input_are_read_alike(workspace: Path) -> None:
    (workspace / "talk.json").write_text(json.dumps(CHAT), "utf-8")
    (workspace / "bom.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(CHAT).encode())
    words = ("--model", "ext/m", "--cwd", ".")
    assert redact("", *words, "talk.json") == redact(CHAT, *words) == redact(CHAT, *words, "-")
    assert redact("", *words, "bom.json") == redact(CHAT, *words)


def test_letters_stand_as_they_are_in_utf_8(workspace: Path) -> None:
    (workspace / "talk.json").write_text(json.dumps([*CHAT, {"role": "user", "content": "\ud800"}]), "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "stanch.surfaces.cli.main", "redact", "--model", "local/m", "talk.json"],
        env=environment, cwd=workspace, capture_output=True, check=True,
    )  # fmt: skip
    text = done.stdout.decode("utf-8")
    assert "Grüße 🙂" in text
    assert "\\ud800" in text
    assert json.loads(text)[:4] == CHAT


def test_the_report_stands_beside_the_messages(workspace: Path) -> None:
    path = str(workspace / "hr/pay.csv")
    said = json.loads(redact(CHAT, "--model", "ext/m", "--cwd", ".", "--report"))
    assert said["messages"] == json.loads(redact(CHAT, "--model", "ext/m", "--cwd", "."))
    assert said["withheld"] == [{"path": path, "tier": "external", "messages": 2}]
    report = said["report"]
    assert (report["tier"], report["label"], report["model"]) == ("external", "External", "ext/m")
    assert (report["pieces"], report["quotes"], report["asks"]) == ({path: 1}, {path: 1}, [])
    assert PAY not in json.dumps(report)
    body = json.loads(redact({"messages": CHAT}, "--model", "ext/m", "--report"))
    assert list(body) == ["body", "withheld", "report"]
    assert not json.loads(redact(CHAT, "--model", "local/m", "--report"))["withheld"]


def test_quotes_are_searched_unless_somebody_says_no() -> None:
    left = json.loads(redact(CHAT, "--model", "ext/m", "--cwd", ".", "--no-quotes"))
    assert PAY not in left[2]["content"]
    assert PAY in left[3]["content"]


def test_without_a_directory_a_relative_path_is_of_unknown_origin() -> None:
    open_ = [CHAT[0], {**CHAT[1]}, {**CHAT[2], "content": "open"}]
    open_[1]["tool_calls"] = [
        {**CHAT[1]["tool_calls"][0], "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
    ]
    assert json.loads(redact(open_, "--model", "ext/m", "--cwd", ".")) == open_
    assert "[Content from a filtered" in redact(open_, "--model", "ext/m")
    told = {"role": "user", "content": f"<environment_context>\n<cwd>{os.getcwd()}</cwd>\n</environment_context>"}
    assert json.loads(redact([told, *open_], "--model", "ext/m")) == [told, *open_]
    assert json.loads(redact(open_, "--model", "local/m")) == open_


@pytest.mark.parametrize("name", ["hr/pay.csv", "hr", "./hr/../hr/pay.csv", "/hr/pay.csv"])
def test_what_the_tier_asks_about_passes_once_a_person_has_said_so(name: str, workspace: Path) -> None:
    (workspace / "hr").mkdir()
    name = str(workspace) + name if name.startswith("/") else name
    words = ("--model", "ask/m", "--cwd", ".")
    assert json.loads(redact(CHAT, *words, "--report"))["report"]["asks"] == [str(workspace / "hr/pay.csv")]
    assert json.loads(redact(CHAT, *words, "--answers", json.dumps({"send": [name]}))) == CHAT
    refused = json.loads(redact(CHAT, *words, "--answers", json.dumps({"withhold": [name]}), "--report"))
    assert refused["report"]["asks"] == []
    assert PAY not in json.dumps(refused)
    # No answer outranks what the tier denies.
    assert PAY not in redact(CHAT, "--model", "ext/m", "--cwd", ".", "--answers", json.dumps({"send": [name]}))


@pytest.mark.parametrize(
    ("given", "words", "says"),
    [
        ([{"role": "robot", "content": "x"}], (), "messages[0].role"),
        ([{"content": "x"}], (), "messages[0].role is missing"),
        ([{"role": "tool", "content": "x"}, {"role": "user", "content": [{"type": "tool_use"}]}], (), "messages[1]"),
        ({"mesages": []}, (), "'messages' or 'input'"),
        ("7", (), "a list of messages"),
        ("[{", (), "standard input is no JSON"),
        ("", (), "standard input is no JSON"),
        (b'[{"role": "user", "content": "\xff"}]', (), "no UTF-8"),
        ('[{"role": "user", "role": "tool", "content": "x"}]', (), "twice"),
        ('[{"role": "user", "content": "x", "n": NaN}]', (), "a number"),
        ('[{"role": "user", "content": "x", "n": 1e999}]', (), "a number"),
        ("[" * 100_000, (), "nested"),
        ([], ("--answers", "[]"), "'answers' must be an object"),
        ([], ("--answers", '{"sent": []}'), "unknown key"),
        ([], ("--answers", '{"send": [7]}'), "'answers.send' must be a list of paths"),
        ([], ("--answers", '{"send": ["/a"], "withhold": ["/a"]}'), "'answers.send' names, too"),
        ([], ("--answers", "{"), "--answers is no JSON"),
        ([], ("--cwd", ""), "--cwd is empty"),
        ([], ("nobody.json",), "nobody.json cannot be read"),
        ([], ("--policy", "nobody.toml"), "nobody.toml"),
        ({"input": "x", "previous_response_id": "r1"}, (), "'previous_response_id'"),
        ({"input": [{"type": "item_reference", "id": "r"}]}, (), "message 1 refers"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_printed(given: Any, words: tuple[str, ...], says: str) -> None:
    assert says in redact(given, "--model", "ext/m", *words, status=2)


def test_a_model_that_may_read_all_may_go_on_from_what_its_provider_keeps() -> None:
    given = {"input": "x", "previous_response_id": "r1"}
    assert json.loads(redact(given, "--model", "local/m")) == given


def test_a_directory_that_is_not_there_is_told_of(workspace: Path) -> None:
    there = CliRunner().invoke(app, ["redact", "--model", "ext/m", "--cwd", str(workspace)], input=json.dumps(CHAT))
    gone = CliRunner().invoke(app, ["redact", "--model", "ext/m", "--cwd", "/no/such"], input=json.dumps(CHAT))

    assert there.exit_code == gone.exit_code == 0
    assert not there.stderr
    assert "there is no directory /no/such" in gone.stderr


def test_a_model_is_needed() -> None:
    assert "--model" in redact(CHAT, status=2)
    assert "--model is empty" in redact(CHAT, "--model", "", status=2)


def test_nothing_is_printed_where_the_tiers_have_a_mistake(workspace: Path) -> None:
    (workspace / "stanch.toml").write_text(POLICY.replace('read = "ask"', 'read = "perhaps"'), "utf-8")
    assert "cannot be relied on" in redact(CHAT, "--model", "local/m", status=2)


def test_nobody_assigned_is_asked_about() -> None:
    said = json.loads(redact(CHAT, "--model", "new/m", "--cwd", ".", "--report"))
    assert len(said["report"]["asks"]) == 1
    assert PAY not in json.dumps(said)


class Terminal(io.BytesIO):
    """Standard output as a terminal has it."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = self

    def isatty(self) -> bool:
        return True


def test_nothing_acts_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, hostile = Terminal(), "é \x7f \x9b31m \u202e \U000e0041"
    monkeypatch.setattr(sys, "stdout", shown)
    print_value([hostile])
    text = shown.getvalue().decode("utf-8")
    assert text == '["é \\u007f \\u009b31m \\u202e \\udb40\\udc41"]\n'
    assert json.loads(text) == [hostile]
