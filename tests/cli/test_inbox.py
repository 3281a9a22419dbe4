"""`stanch inbox` and `stanch audit` against a real server, found by its data directory or named."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stanch.surfaces.cli import editor
from stanch.values.fault import BadInput
from tests.cli.conftest import Stanch
from tests.http.served import PERSON, World, served, until
from tests.server.processes import Command, environment


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A server whose address and token are in the environment."""
    with served(World(tmp_path)) as running:
        token = running.client(PERSON).headers["Authorization"].partition(" ")[2]
        monkeypatch.setenv("STANCH_URL", running.url)
        monkeypatch.setenv("STANCH_TOKEN", token)
        yield running


def waiting(world: World, **arguments: Any) -> str:
    """A call that waits; the id of the request."""
    session = world.session()
    given = arguments or {"path": "a.txt", "content": "x"}
    made = world.post(f"/api/sessions/{session}/calls", {"tool": "write_file", "arguments": given}, 201)
    return str(made["request"]["request_id"])


def state(world: World, request: str) -> str:
    """How the request stands."""
    return str(world.get(f"/api/inbox/approvals/{request}")["state"])


def test_what_waits_is_listed_shown_and_approved(world: World, stanch: Stanch) -> None:
    assert stanch("inbox", "list").out == "nothing waits\n"
    (world.workspace / "a.txt").write_text("old\n", "utf-8")
    request = waiting(world, path="a.txt", content="new\n")
    listed = stanch("inbox", "list")
    assert (listed.code, listed.out.split()[0]) == (0, request)
    assert "Needs approval by rule" in listed.out
    shown = stanch("inbox", "show", request)
    assert "    | -old\n    | +new\n" in shown.out
    assert f"write     {world.workspace}/a.txt" in shown.out
    assert f"works in  {world.workspace}\n" in shown.out
    done = stanch("inbox", "approve", request, "--note", "fine", "--secs", "60", "--scope", "category")
    assert done.out.splitlines()[0] == "approved: write_file"
    assert "filesystem calls" in done.out
    assert state(world, request) == "approved"
    assert world.get(f"/api/inbox/approvals/{request}")["note"] == "fine"


def test_a_second_answer_ends_with_one_and_says_who_was_first(world: World, stanch: Stanch) -> None:
    request = waiting(world)
    assert stanch("inbox", "reject", request, "--note", "no").out == "rejected: write_file\n"
    late = stanch("inbox", "approve", request)
    assert (late.code, late.out) == (1, "")
    assert late.err.startswith("stanch: the request")
    assert "rejected by ada (http)" in late.err


def test_json_is_what_the_server_says(world: World, stanch: Stanch) -> None:
    request = waiting(world)
    assert stanch("inbox", "list", "--json").json["approvals"] == world.get("/api/inbox")["approvals"]
    assert stanch("inbox", "show", request, "--json").json == world.get(f"/api/inbox/approvals/{request}")
    done = stanch("inbox", "approve", request, "--json").json
    assert (done["request"]["state"], done["call"]["state"]) == ("approved", "pending")
    held = stanch("inbox", "bypass", done["call"]["session_id"], "--secs", "0", "--json").json
    assert (held["scope"], held["until"]) == ("all", None)
    late = stanch("inbox", "approve", request, "--note", "x", "--json")
    assert (late.code, late.out) == (1, "")


def test_an_edit_is_judged_and_runs(world: World, stanch: Stanch) -> None:
    request = waiting(world)
    refused = stanch("inbox", "edit", request, "--args", '{"path": "secrets/x", "content": ""}')
    assert (refused.code, refused.out) == (1, "")
    assert "Denied by rule" in refused.err
    assert state(world, request) == "open"
    for wrong in ("{", "[]", "1"):
        assert stanch("inbox", "edit", request, "--args", wrong).code == 2
    without = stanch("inbox", "edit", request)
    assert (without.code, "--args" in without.err) == (2, True)
    done = stanch("inbox", "edit", request, "--args", '{"path": "b.txt", "content": "y"}')
    assert done.out == "approved, edited: write_file\n"
    more = stanch("inbox", "edit", waiting(world), "--tool", "execute_cmd", "--args", '{"command": "make"}')
    assert more.out.startswith("not approved yet")


def test_the_editor_is_given_the_arguments_and_what_it_leaves_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "my editor"
    script.write_text('#!/bin/sh\nsed -i "s/old/new/" "$2"\ntest "$1" = -w\n', "utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"'{script}' -w")
    assert json.loads(editor.edited({"content": "old\u202e"})) == {"content": "new\u202e"}
    with pytest.raises(BadInput, match="not changed"):
        editor.edited({"content": "x"})
    monkeypatch.setenv("VISUAL", "false")
    with pytest.raises(BadInput, match="ended with 1"):
        editor.edited({"content": "old"})
    monkeypatch.setenv("VISUAL", str(tmp_path / "none"))
    with pytest.raises(BadInput, match="could not be used"):
        editor.edited({"content": "old"})


def test_questions_are_answered(world: World, stanch: Stanch) -> None:
    session = world.session()
    asked = world.post(f"/api/sessions/{session}/questions", {"question": "Which?", "choices": ["red"]}, 201)
    assert "Which?\n    - red\n" in stanch("inbox", "list").out
    assert stanch("inbox", "answer", asked["request_id"], "red").out == "answered\n"
    assert world.get(f"/api/questions/{asked['request_id']}")["answer"] == "red"
    assert stanch("inbox", "answer", asked["request_id"], "blue").code == 1


def test_what_an_agent_wrote_does_not_act_on_the_terminal(world: World, stanch: Stanch) -> None:
    evil = "x\x1b[2J\u202ecod.exe\u200b\n  approved: nothing to see"
    request = waiting(world, path="a.txt", content=evil)
    session = world.session()
    world.post(f"/api/sessions/{session}/questions", {"question": evil, "choices": [evil]}, 201)
    for shown in (stanch("inbox", "show", request), stanch("inbox", "list"), stanch("inbox", "list", "--json")):
        assert not [char for char in "\x1b\u202e\u200b" if char in shown.out], shown.out
        assert "\n  approved: nothing to see" not in shown.out
    assert "\\u202e" in stanch("inbox", "show", request).out


@pytest.mark.parametrize(
    "words",
    [
        ("show", "none"),
        ("approve", "none"),
        ("approve", " "),
        ("approve", "x", "--scope", "all"),
        ("approve", "x", "--include-subagents"),
        ("reject", "../../sessions"),
        ("answer", "none", "x"),
        ("bypass", "none", "--secs", "1"),
        ("bypass", "none", "--secs", "1", "--category", "x"),
        ("list", "--url", "ftp://x"),
        ("list", "--url", "http://127.0.0.1:1"),
        ("list", "--token", "stanch_wrong"),
    ],
)
def test_a_mistake_is_one_line(world: World, stanch: Stanch, words: tuple[str, ...]) -> None:
    ended = stanch("inbox", *words)
    assert (ended.code, ended.out) == (2, ""), ended
    assert ended.err.startswith("stanch: ")
    assert ended.err.count("\n") == 1
    assert "stanch_wrong" not in ended.err


def test_watching_shows_what_comes(world: World, stanch: Stanch) -> None:
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(stanch("inbox", "watch", "--once")), daemon=True)
    thread.start()
    until(lambda: bool(world.service.overview._listeners), "the listener")
    request = waiting(world)
    thread.join(30)
    assert ended
    assert request in ended[0].out


def test_the_server_of_a_data_directory_is_found(tmp_path: Path) -> None:
    """With the command as people start it, in the directory where `stanch up` was started."""
    workspace = tmp_path.resolve() / "workspace"
    workspace.mkdir()
    variables = environment(tmp_path)

    def run(*words: str, data: str = "data") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "stanch.surfaces.cli.main", *words, "--data", str(tmp_path / data)],
            cwd=workspace, env={**variables, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip

    absent = run("inbox", "list")
    assert (absent.returncode, absent.stdout) == (2, "")
    assert "no server is running" in absent.stderr
    given = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    with Command(tmp_path / "data", cwd=workspace, variables=given) as server:
        server.ready()
        until(lambda: "inbox list --data" in server.said, "the way to the inbox")
        session = server.ask("POST", "/api/sessions", {"agent_id": "a"}).json["id"]
        call = {"tool": "execute_cmd", "arguments": {"command": "make"}}
        made = server.ask("POST", f"/api/sessions/{session}/calls", call).json
        assert made["request"]["request_id"] in run("inbox", "list").stdout
        assert run("inbox", "approve", made["request"]["request_id"]).stdout == "approved: execute_cmd\n"
        watching = subprocess.Popen(
            [sys.executable, "-m", "stanch.surfaces.cli.main", "inbox", "watch", "--data", str(tmp_path / "data")],
            cwd=workspace, env={**variables, **given}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert watching.stdout is not None
        assert watching.stdout.readline() == "nothing waits\n"
        assert server.stop() == 0
        _, complained = watching.communicate(timeout=60)
        assert (watching.returncode, complained) == (0, "stanch: note: the server has stopped\n")
    whole = run("audit", "verify")
    assert (whole.returncode, whole.stdout.startswith("the audit log is whole")) == (0, True)
    listed = run("audit", "list", "--action", "approval.approved", "--json")
    (row,) = json.loads(listed.stdout)["items"]
    assert (row["actor"], row["surface"]) == ("administrator", "http")
    assert "approval.approved" in run("audit", "list").stdout
    with closing(sqlite3.connect(tmp_path / "data" / "stanch.db", isolation_level=None)) as database:
        database.execute("UPDATE audit SET actor = 'eve' WHERE seq = 3")
    broken = run("audit", "verify")
    assert (broken.returncode, "row 3 was changed" in broken.stdout) == (1, True)
    assert json.loads(run("audit", "verify", "--json").stdout)["holds"] is False
    nothing = run("audit", "verify", data="none")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert f"the audit log cannot be read in {tmp_path / 'none'}: the store does not exist yet" in nothing.stderr
    assert not (tmp_path / "none").exists()
