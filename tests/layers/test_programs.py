"""Programs that are asked about calls: whatever they do, they are ended, and nothing but an answer is one."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stanch.app.programs import MOST_OUTPUT, ProgramPolicy, answer_of
from stanch.host.program import PASSED, End, run_program
from stanch.policies import Effect, PolicyRequest, Rewrite, Says
from stanch.policy.layer_tables import Program
from stanch.policy.layers import Failed
from stanch.values.verdict import Cause
from tests.app.gates import until
from tests.layers.asked import opened, said, write

REQUEST = PolicyRequest("write_file", {"path": "a"}, agent="coder")
ALLOW = '{"effect": "allow"}'


def asked(root: Path, code: str, *, seconds: float = 10.0, request: PolicyRequest = REQUEST) -> Any:
    """The answer of a Python program."""
    return ProgramPolicy(Program((sys.executable, "-c", code), seconds), str(root))(request)


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ('{"effect": "allow"}', Says(Effect.ALLOW)),
        ('{"effect": "deny", "message": "no"}\n', Says(Effect.DENY, "no")),
        ('{"effect": "ask", "message": null}', Says(Effect.ASK)),
        ('{"effect": "allow", "arguments": {"path": "b"}}', Rewrite({"path": "b"})),
    ],
)
def test_an_answer_is_read(output: str, answer: object) -> None:
    assert answer_of(output.encode()) == answer


@pytest.mark.parametrize(
    "output",
    [
        "", "allow", "{}", "[]", "null", '"allow"', '{"effect": true}', '{"effect": "ALLOW"}', '{"effect": "permit"}',
        '{"effect": "deny", "arguments": {}}', '{"effect": "ask", "arguments": {}}',
        '{"effect": "allow", "arguments": []}',
        '{"effect": "deny", "effect": "allow"}', '{"effect": "allow", "message": 1}', '{"effect": "allow", "x": 1}',
        '{"effect": "allow", "arguments": {"a": NaN}}', '{"effect": "allow"} trailing', "[" * 100_000, "\xff",
        '{"effect": "deny", "settled": "no_approver"}',
    ],
)  # fmt: skip
def test_anything_else_is_none(output: str) -> None:
    assert isinstance(answer_of(output.encode("latin-1")), Failed)


def test_a_program_is_told_of_the_call(tmp_path: Path) -> None:
    code = f"import sys; open('told', 'w').write(sys.stdin.read()); print('{ALLOW}')"
    asked(tmp_path, code)
    assert json.loads((tmp_path / "told").read_text()) == {
        "version": 1, "tool": "write_file", "arguments": {"path": "a"}, "call_id": "", "touches": [], "agent": "coder",
        "source": None, "session": None, "approval_reach": "person",
    }  # fmt: skip


def test_a_program_that_reads_nothing_may_answer(tmp_path: Path) -> None:
    request = PolicyRequest("t", {"text": "x" * (1 << 20)})
    assert asked(tmp_path, f"import os; os.close(0); print('{ALLOW}')", request=request) == Says(Effect.ALLOW)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import sys; sys.exit(1)", Cause.THREW),
        ("import os; os.abort()", Cause.THREW),
        (f"print('x' * {MOST_OUTPUT + 1})", Cause.THREW),
        ("import time; time.sleep(60)", Cause.TIMED_OUT),
        ("import os, time; os.close(1); time.sleep(60)", Cause.TIMED_OUT),
        ("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)", Cause.TIMED_OUT),
    ],
)
def test_a_program_that_breaks_gives_no_answer(tmp_path: Path, code: str, cause: Cause) -> None:
    got = asked(tmp_path, code, seconds=1.0 if cause is Cause.TIMED_OUT else 20.0)
    assert isinstance(got, Failed)
    assert got.kind is cause


@pytest.mark.parametrize("command", ["nowhere-to-be-found", "./not-executable", "/", ""])
def test_a_program_that_cannot_be_started_gives_no_answer(tmp_path: Path, command: str) -> None:
    (tmp_path / "not-executable").write_text(f"#!/bin/sh\necho '{ALLOW}'\n", "utf-8")
    got = ProgramPolicy(Program((command,)), str(tmp_path))(REQUEST)
    assert got == Failed("its program cannot be started")


def test_arguments_that_are_no_json_are_told_to_no_program(tmp_path: Path) -> None:
    got = asked(tmp_path, f"print('{ALLOW}')", request=PolicyRequest("t", {"a": b"x", "b": float("nan")}))
    assert isinstance(got, Failed)


def test_children_of_a_program_neither_hold_up_the_answer_nor_outlive_it(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open('child', 'w').write(str(child.pid)); print('{ALLOW}')"
    )
    began = time.monotonic()
    assert asked(tmp_path, code, seconds=30) == Says(Effect.ALLOW)
    assert time.monotonic() - began < 20
    child = int((tmp_path / "child").read_text())
    until(lambda: not _lives(child), "the end of its child")


def test_a_child_in_a_session_of_its_own_holds_nothing_up(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
        f"open('child', 'w').write(str(child.pid)); print('{ALLOW}')"
    )
    began = time.monotonic()
    try:
        assert asked(tmp_path, code, seconds=30) == Says(Effect.ALLOW)
        assert time.monotonic() - began < 20
    finally:
        os.kill(int((tmp_path / "child").read_text()), 9)


def test_a_program_is_ended_once_nobody_waits_for_it(tmp_path: Path) -> None:
    calls: list[None] = []

    def unwanted() -> bool:
        calls.append(None)
        return len(calls) > 2

    outcome = run_program(["sleep", "60"], b"", directory=str(tmp_path), seconds=30, most=10, unwanted=unwanted)
    assert outcome.end is End.NOT_WANTED


def test_a_program_is_given_little_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "STANCH_KEY", "LD_PRELOAD", "PYTHONPATH", "BASH_ENV"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("LANG", "C.UTF-8")
    asked(tmp_path, f"import json, os; json.dump(dict(os.environ), open('env', 'w')); print('{ALLOW}')")
    given = json.loads((tmp_path / "env").read_text())
    assert given["LANG"] == "C.UTF-8"
    assert given.keys() - {"PATH", *PASSED, "LC_CTYPE"} == set()


def test_the_policy_of_a_file_is_asked_in_the_workspace_and_anew_for_each_call(tmp_path: Path) -> None:
    script = tmp_path / "policy.sh"
    script.write_text("cat > /dev/null; cat answer\n", "utf-8")
    answer = tmp_path / "answer"
    answer.write_text('{"effect": "deny", "message": "not now"}', "utf-8")
    session = opened(tmp_path, '[caller_policy]\ncommand = ["sh", "policy.sh"]\n').session()
    assert said(write(session)) == ("deny", "policy_says", "caller_policy")
    answer.write_text(ALLOW, "utf-8")
    assert said(write(session)) == ("allow", "rule", "persisted_rules")
    answer.unlink()
    assert said(write(session)) == ("ask", "layer_failed", "caller_policy")
    assert said(write(session, "policy.sh")) == ("deny", "path_protected", "integrity")
    assert said(write(session, "sub/../policy.sh")) == ("deny", "path_protected", "integrity")


def _lives(process: int) -> bool:
    """True where it runs; what waits to be reaped by whoever took it over does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
