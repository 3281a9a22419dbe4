"""A server is killed while a run is under way: no step is done twice, and the one that was at work is told of."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.server.processes import SECONDS, Forked, until
from tests.server.test_kills import kill, look_at_the_log, told

OPEN = """
version = 1
[[groups]]
id = "default"
[[groups.rules]]
tool = "*"
action = "allow"
"""
POLICY = f"""{OPEN}
[[groups.rules]]
tool = "execute_cmd"
command = "cat *"
action = "ask"
mandatory = true
"""
STEPS = 12


def step(command: str) -> dict[str, Any]:
    return {"tool": "execute_cmd", "arguments": {"command": command}, "result": "recorded"}


def states(server: Forked, run: str) -> list[str]:
    return [one["state"] for one in server.get(f"/api/runs/{run}")["steps"]]


def asking(server: Forked, path: str, body: Any) -> threading.Thread:
    """Sends it, and waits for no answer."""

    def send() -> None:
        with suppress(OSError, HTTPException):
            server.ask("POST", path, body)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def started(workspace: Path, policy: str = POLICY) -> Forked:
    (workspace / "stanch.toml").write_text(policy, "utf-8")
    server = Forked(workspace.parent / "data", cwd=workspace)
    server.ready()
    return server


def again(server: Forked) -> Forked:
    kill(server)
    after = Forked(server.data, cwd=server.cwd)
    after.ready()
    return after


def newest(server: Forked, old: str) -> str | None:
    items = server.get(f"/api/runs?of_run={old}")["items"]
    return str(items[0]["id"]) if items else None


def test_a_step_that_was_at_work_is_told_to_be_interrupted(workspace: Path) -> None:
    log, pipe = workspace / "log", workspace / "pipe"
    os.mkfifo(pipe)
    server = started(workspace, OPEN)
    session = told(server, "POST", "/api/sessions", {"agent_id": "coder", "source": "web"})["id"]
    body = {
        "name": "n",
        "steps": [step(f"echo 1 >> {log}"), step(f"echo 2 >> {log}; cat {pipe}"), step(f"echo 3 >> {log}")],
    }
    old = told(server, "POST", "/api/runs", body)["id"]
    thread = asking(server, f"/api/runs/{old}/execute", {"session": session})
    until(lambda: log.exists() and log.read_text("utf-8") == "1\n2\n", "the second step")
    server = again(server)
    thread.join(SECONDS)
    run = newest(server, old)
    assert run is not None
    found = server.get(f"/api/runs/{run}")
    assert (found["run"]["state"], found["run"]["failed_at"]) == ("failed", 2)
    assert [one["state"] for one in found["steps"]] == ["completed", "interrupted", "pending"]
    assert found["steps"][1]["reason"]["code"] == "interrupted"
    assert server.get(f"/api/calls/{found['steps'][1]['call_id']}")["state"] == "interrupted"
    assert server.ask("POST", f"/api/runs/{run}/resume", {}).status == 409
    assert log.read_text("utf-8") == "1\n2\n"
    kill(server)
    look_at_the_log(server.data)


def test_a_run_that_waits_goes_on_after_a_kill(workspace: Path) -> None:
    log = workspace / "log"
    server = started(workspace)
    session = told(server, "POST", "/api/sessions", {"agent_id": "coder", "source": "web"})["id"]
    (workspace / "a.txt").write_text("words", "utf-8")
    body = {"name": "n", "steps": [step(f"echo 1 >> {log}"), step("cat a.txt"), step(f"echo 3 >> {log}")]}
    old = told(server, "POST", "/api/runs", body)["id"]
    shown = told(server, "POST", f"/api/runs/{old}/execute", {"session": session})
    assert shown["run"]["state"] == "paused", shown
    run = shown["run"]["id"]
    server = again(server)
    request = server.get(f"/api/calls/{shown['steps'][1]['call_id']}")["request_id"]
    told(server, "POST", f"/api/inbox/approvals/{request}/resolve", {"action": "approve"})
    server = again(server)
    done = told(server, "POST", f"/api/runs/{run}/resume", {})
    assert done["run"]["state"] == "completed"
    assert done["steps"][1]["values"]["result"].startswith("words")
    assert log.read_text("utf-8") == "1\n3\n"
    kill(server)
    look_at_the_log(server.data)


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_a_kill_at_any_time_does_nothing_twice(workspace: Path, kills: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"random seed: {seed}")
    chance, log = random.Random(seed), workspace / "log"
    log.touch()
    server = started(workspace, OPEN)
    session = told(server, "POST", "/api/sessions", {"agent_id": "coder", "source": "web"})["id"]
    olds: list[str] = []
    for number in range(kills):
        steps = [step(f"echo {number}.{at} >> {log}") for at in range(STEPS)]
        olds.append(told(server, "POST", "/api/runs", {"name": "n", "steps": steps})["id"])
        before = len(log.read_text("utf-8").splitlines())
        thread = asking(server, f"/api/runs/{olds[-1]}/execute", {"session": session})
        wanted = before + chance.randrange(STEPS - 2)
        until(lambda wanted=wanted: len(log.read_text("utf-8").splitlines()) > wanted, "a step")  # type: ignore[misc]
        server.code(chance.uniform(0, 0.05))
        server = again(server)
        thread.join(SECONDS)
        run = newest(server, olds[-1])
        assert run is not None
        look(server, run, log, number)
    kill(server)
    look_at_the_log(server.data)


def look(server: Forked, run: str, log: Path, number: int) -> None:
    """What is told of a run is what was done, and going on with it does nothing again."""
    if server.get(f"/api/runs/{run}")["run"]["state"] == "paused":
        assert told(server, "POST", f"/api/runs/{run}/resume", {})["run"]["state"] == "completed"
    found, done = states(server, run), Counter(log.read_text("utf-8").split())
    for at, state in enumerate(found):
        times = done[f"{number}.{at}"]
        assert times == 1 if state == "completed" else times <= 1, (found, done)
        assert state in ("completed", "interrupted") or times == 0, (found, done)
    assert found.count("interrupted") <= 1
