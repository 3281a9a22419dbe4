"""`stanch runs` and `stanch tools`: what is printed, the exit codes, and that a person's mistake is one line."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.surfaces.cli.runs_progress import counted
from tests.cli.conftest import Ended, Stanch
from tests.http.served import COPILOT, World, served, until


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A server without a policy file."""
    with served(World(tmp_path)) as running:
        yield running


@pytest.fixture
def ask(world: World, stanch: Stanch, monkeypatch: pytest.MonkeyPatch) -> Stanch:
    """The command line of a person of that server."""
    monkeypatch.delenv("STANCH_SESSION", raising=False)
    token = world.client().headers["Authorization"].removeprefix("Bearer ")

    def run(*words: str, stdin: str | bytes | None = None) -> Ended:
        return stanch(*words, "--url", world.url, "--token", token, stdin=stdin)

    return run


def new_chat(world: World) -> str:
    who = {"kind": COPILOT.kind.value, "id": COPILOT.id, "service_id": COPILOT.service_id}
    return world.session(principal=who)


def document(path: Path, *steps: dict[str, Any], **more: Any) -> str:
    path.write_text(json.dumps({"name": "nightly\u202e", "steps": list(steps), **more}), "utf-8")
    return str(path)


def test_a_run_is_recorded_listed_read_and_repeated(ask: Stanch, tmp_path: Path) -> None:
    file = document(
        tmp_path / "run.json", {"tool": "elsewhere", "arguments": {"q": 1}, "result": "two\u202e"}, output=3
    )
    made = ask("runs", "record", file)
    assert made.code == 0, made
    run = made.out.split()[0]
    assert "\u202e" not in made.out
    piped = ask("runs", "record", "-", "--json", stdin=Path(file).read_bytes())
    assert piped.json["state"] == "recorded"
    listed = ask("runs", "list", "--limit", "1")
    assert listed.out.split()[0] == piped.json["id"]
    assert "more with --cursor" in listed.err
    assert ask("runs", "list", "--json").json["total"] == 2
    read = ask("runs", "read", run)
    assert "1. elsewhere: completed" in read.out
    assert '"output": 3' in read.out
    assert "\u202e" not in read.out
    assert "arguments" not in ask("runs", "read", run, "--part", "output").out
    done = ask("runs", "execute", run, "--name", "again", "--json")
    assert (done.code, done.json["run"]["state"], done.json["values"]) == (0, "completed", {"output": 3})


def test_files_go_up_and_down(ask: Stanch, tmp_path: Path) -> None:
    run = ask("runs", "record", document(tmp_path / "run.json"), "--json").json["id"]
    (tmp_path / "a.txt").write_text("words", "utf-8")
    assert ask("runs", "add-file", run, str(tmp_path / "a.txt"), "--name", "out/a.txt").code == 0
    assert ask("runs", "add-file", run, str(tmp_path / "a.txt"), "--name", "out/a.txt").code == 1
    assert ask("runs", "add-file", run, str(tmp_path / "none")).code == 2
    assert "text/plain" in ask("runs", "files", run).out
    into = tmp_path / "b.txt"
    assert ask("runs", "get", run, "out/a.txt", "-o", str(into)).code == 0
    assert into.read_text("utf-8") == "words"
    assert ask("runs", "get", run, "out/a.txt", "-o", str(into)).code == 2
    assert ask("runs", "get", run, "out/a.txt", "-o", "-").out == "words"
    assert ask("runs", "get", run, "none", "-o", "-").code == 1
    assert ask("runs", "get", run, "out/a.txt", "-o", "-", "--json").code == 2


def test_a_run_that_waits_says_what_for(world: World, ask: Stanch, tmp_path: Path) -> None:
    session = new_chat(world)
    step = {"tool": "execute_cmd", "arguments": {"command": "echo hello"}}
    run = ask("runs", "record", document(tmp_path / "run.json", step), "--json").json["id"]
    assert ask("runs", "execute", run).code == 2
    waits = ask("runs", "execute", run, "--in", session)
    assert waits.code == 10
    again = waits.out.split()[0]
    assert f"stanch runs resume {again}" in waits.err
    (call,) = world.get(f"/api/sessions/{session}/calls")["items"]
    world.post(f"/api/inbox/approvals/{call['request_id']}/resolve", {"action": "approve"})
    done = ask("runs", "resume", again)
    assert (done.code, "hello" in done.out) == (0, True)
    assert ask("runs", "resume", again).code == 1
    refused = ask("runs", "execute", run, "--in", session, "--json")
    assert refused.json["run"]["state"] == "paused"
    (call,) = [
        one for one in world.get(f"/api/sessions/{session}/calls")["items"] if one["request_id"] != call["request_id"]
    ]
    world.post(f"/api/inbox/approvals/{call['request_id']}/resolve", {"action": "reject"})
    assert ask("runs", "resume", refused.json["run"]["id"]).code == 1


def test_a_tool_waits_for_a_person(world: World, ask: Stanch) -> None:
    session, words = new_chat(world), ("tools", "execute", "execute_cmd", "--args", '{"command": "echo hello"}')
    assert ask(*words, "--in", session, "--no-wait").code == 10
    over = threading.Event()

    def person() -> None:
        def one() -> bool:
            for call in world.get(f"/api/sessions/{session}/calls?state=awaiting_approval")["items"]:
                world.post(f"/api/inbox/approvals/{call['request_id']}/resolve", {"action": "approve"})
            return over.is_set()

        until(one, "the end of the test")

    answering = threading.Thread(target=person)
    answering.start()
    try:
        done = ask(*words, "--in", session)
    finally:
        over.set()
        answering.join()
    assert (done.code, done.out) == (0, "hello\n[exit code 0]\n")
    assert "waiting for a person" in done.err


def test_a_mistake_is_one_line(ask: Stanch, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("[1]", "utf-8")
    for words, code in (
        (("runs", "record", str(tmp_path / "none")), 2),
        (("runs", "record", str(tmp_path / "bad")), 2),
        (("runs", "read", "none"), 1),
        (("runs", "read", "none", "--part", "wrong"), 2),
        (("tools", "execute", "read_file", "--args", "[]"), 2),
        (("tools", "execute", "read_file"), 2),
    ):
        ended = ask(*words)
        assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1), (words, ended)


def test_steps_are_counted() -> None:
    steps = [{"state": state} for state in ("completed", "refused", "running", "pending")]
    assert counted({"steps": steps, "run": {"steps": 7}}) == (2, 7)
