"""Stanch inside another program: approved calls run once, also after a restart, on a store that nobody else opens."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stanch
from tests.app.gates import POLICY, until


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "stanch.toml").write_text(POLICY, "utf-8")
    return tmp_path


@pytest.fixture
def gate(workspace: Path) -> Iterator[stanch.Embedded]:
    with stanch.embed(workspace / "stanch.toml", store=workspace / "calls.db") as opened:
        yield opened


def write(_: str, arguments: Any) -> str:
    """What an application does with a call."""
    return f"wrote {arguments['path']}"


def test_a_call_is_run_once_it_is_approved(gate: stanch.Embedded) -> None:
    session = gate.session("coder")
    ended: list[stanch.Ran[str]] = []
    given = {"path": "a.txt", "content": "x"}
    thread = threading.Thread(target=lambda: ended.append(gate.run(session, "write_file", given, write)))
    thread.start()
    until(lambda: len(gate.waiting(session)) == 1, "the request")
    gate.approve(gate.waiting()[0].request_id, by="ada", arguments={"path": "b.txt", "content": "x"})
    thread.join(30)
    (ran,) = ended
    assert (ran.ran, ran.result, ran.call.edited) == (True, "wrote b.txt", True)


def test_what_is_refused_says_why(gate: stanch.Embedded) -> None:
    session = gate.session("coder")
    denied = gate.run(session, "write_file", {"path": "closed/x", "content": ""}, write)
    assert (denied.ran, denied.result, denied.call.reason["code"]) == (False, None, "rule")
    alone = gate.session("coder", approver=False)
    asked = gate.run(alone, "write_file", {"path": "x", "content": ""}, write)
    assert (asked.call.state, asked.call.reason["code"]) == (stanch.CallState.REJECTED, "no_approver")
    left = gate.run(session, "write_file", {"path": "x", "content": ""}, write, wait_seconds=0)
    gate.reject(gate.waiting()[0].request_id, by="ada", note="not there")
    after = gate.resume(left.call.id, write)
    assert (after.call.state, after.call.reason["note"]) == (stanch.CallState.REJECTED, "not there")
    with pytest.raises(stanch.Conflict):
        gate.approve(str(left.call.request_id), by="ben")
    with pytest.raises(stanch.NotFound):
        gate.approve("req_none", by="ada")


def test_a_call_outlives_its_program(workspace: Path) -> None:
    policy, store = workspace / "stanch.toml", workspace / "calls.db"
    with stanch.embed(policy, store=store) as first:
        left = first.run(first.session("coder"), "write_file", {"path": "x", "content": ""}, write, wait_seconds=0)
    with stanch.embed(policy, store=store) as second:
        second.approve(second.waiting()[0].request_id, by="ada")
        assert second.resume(left.call.id, write).result == "wrote x"
        assert second.resume(left.call.id, write).result is None


def test_no_agent_touches_the_store(gate: stanch.Embedded) -> None:
    session = gate.session("coder")
    for name in ("calls.db", "calls.db-wal"):
        decision = gate.service.check(session, "read_file", {"path": name}).decision
        assert (decision.effect, decision.reason.code) == (stanch.Effect.DENY, stanch.Code.PATH_PROTECTED)
