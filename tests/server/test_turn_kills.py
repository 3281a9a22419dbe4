"""A server is killed while its agents are at work: no message is lost or changed, no call is run twice, all turns end.

The model is a script that the test serves. It goes by the conversation alone, as a model does, so that it does not
matter how often it is asked. Commands write their number to a file, by themselves or once a person has approved.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stanch.runtime.scripted_asked import Asked
from stanch.runtime.scripted_reply import Reply, ToolUse, say
from tests.fakes.model_server import ModelServer, model_server
from tests.server.processes import SECONDS, Forked, until
from tests.server.test_kills import kill, look_at_the_log, told

LONGEST_LIFE = 0.5
STEPS = 4
TURNS_OF_A_SESSION = 12
POLICY = """
version = 1
[providers.fake]
dialect = "openai"
base_url = {url!r}
[models]
default_tier = "trusted"
[agents.bob]
model = "fake/scripted"
[[groups]]
id = "default"
[[groups.rules]]
tool = "execute_cmd"
command = "echo *"
action = "allow"
[[groups.rules]]
tool = "@write"
path = "log"
action = "allow"
[[groups.rules]]
tool = "@read"
path = "**"
action = "allow"
"""


@dataclass(slots=True)
class Memory:
    """What the test was told: messages as they were read, by session, and the turn that it asked for last."""

    session: str = ""
    turn: str = ""
    turns: int = 0
    seen: dict[str, list[str]] = field(default_factory=dict)
    killed_at_work: int = 0


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=pytest.mark.soak)])
def test_a_kill_loses_no_message_and_runs_nothing_twice(workspace: Path, kills: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"random seed: {seed}")
    chance, memory, data = random.Random(seed), Memory(), workspace.parent / "data"
    with model_server(answer) as models:
        (workspace / "stanch.toml").write_text(POLICY.format(url=models.openai_url), "utf-8")
        for number in range(kills):
            server = Forked(data, cwd=workspace)
            server.ready()
            look(server, memory)
            work_until_killed(server, memory, models, chance.uniform(0, LONGEST_LIFE))
            if number % 5 == 0:
                look_at_the_log(data)
        server = Forked(data, cwd=workspace)
        server.ready()
        with person(server):
            until(lambda: over(server, memory), "the end of the last turn, which nobody asked for again", 0.05)
        look(server, memory)
        kill(server)
    look_at_the_log(data)
    check_the_commands(workspace, memory)
    assert memory.killed_at_work >= kills // 3, memory


def answer(asked: Asked) -> Reply:
    """One command after the other, the last two at once, then a word. Each has the turn's and its own number."""
    messages = asked.body["messages"]
    last = max(at for at, message in enumerate(messages) if message["role"] == "user")
    turn = messages[last]["content"]
    done = sum(len(message.get("tool_calls") or ()) for message in messages[last:])
    if done >= STEPS:
        return say(f"{turn} has ended")
    count = 2 if done == STEPS - 2 else 1  # one of the two is asked about
    return Reply(tuple(ToolUse("execute_cmd", {"command": command(turn, done + more)}) for more in range(count)))


def command(turn: str, step: int) -> str:
    """Every other one is asked about."""
    number = f"{turn}-{step}"
    return f"printf '{number}\\n' >> log" if step % 2 else f"echo '{number}' >> log"


def work_until_killed(server: Forked, memory: Memory, models: ModelServer, life: float) -> None:
    """The agent is at work and a person answers, while somebody reads; the server is killed in the middle."""
    asked = len(models.asked)
    if not memory.turn or over(server, memory):
        begin(server, memory)
    with person(server), reader(server, memory):
        until(lambda: len(models.asked) > asked or over(server, memory), "a request to the model", 0.02)
        server.code(life)
        with suppress(OSError, http.client.HTTPException):
            memory.killed_at_work += not over(server, memory)
        kill(server)


def begin(server: Forked, memory: Memory) -> None:
    """Says something to the agent."""
    if memory.turns % TURNS_OF_A_SESSION == 0:
        memory.session = told(server, "POST", "/api/sessions", {"agent_id": "bob", "source": "cli"})["id"]
        memory.seen[memory.session] = []
    memory.turns += 1
    said = told(server, "POST", f"/api/sessions/{memory.session}/messages", {"text": f"turn{memory.turns}"})
    memory.turn = said["id"]


def over(server: Forked, memory: Memory) -> bool:
    """True once the last turn has come to its end; it must not end in any other way."""
    state = told(server, "GET", f"/api/turns/{memory.turn}")["state"]
    assert state in ("running", "completed"), state
    return bool(state == "completed")


@contextmanager
def at_work(work: Any) -> Iterator[None]:
    """Does it over and over in a thread, until the block ends or nobody answers."""
    dead, wrong = threading.Event(), []

    def run() -> None:
        try:
            with suppress(OSError, http.client.HTTPException):
                while not dead.is_set():
                    work()
                    dead.wait(0.02)
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        dead.set()
        thread.join(SECONDS)
    assert not thread.is_alive()
    assert wrong == []


def person(server: Forked) -> Any:
    """Approves whatever waits."""

    def approve() -> None:
        for request in told(server, "GET", "/api/inbox")["approvals"]:
            path = f"/api/inbox/approvals/{request['request_id']}/resolve"
            reply = server.ask("POST", path, {"action": "approve"})
            assert reply.status in (200, 409), reply

    return at_work(approve)


def reader(server: Forked, memory: Memory) -> Any:
    """Reads the session's messages."""
    return at_work(lambda: look(server, memory))


def look(server: Forked, memory: Memory) -> None:
    """Every message that was ever read is there as it was, in its place; new ones come behind."""
    if memory.session:
        seen = memory.seen[memory.session]
        items = told(server, "GET", f"/api/sessions/{memory.session}/messages?limit=500")["items"]
        now = [json.dumps(item, sort_keys=True) for item in items]
        assert now[: len(seen)] == seen, "a message was lost or changed"
        assert [item["seq"] for item in items] == [*range(1, len(items) + 1)]
        memory.seen[memory.session] = now


def check_the_commands(workspace: Path, memory: Memory) -> None:
    """What was run was run once, and what a result says was run was."""
    ran = Counter((workspace / "log").read_text("utf-8").split())
    assert set(ran.values()) == {1}, ran
    results: Counter[str] = Counter()
    asked: set[str] = set()
    for session in memory.seen.values():
        commands: dict[str, str] = {}
        for message in map(json.loads, session):
            for part in message["parts"]:
                if part["type"] == "call":
                    commands[part["id"]] = part["arguments"]["command"].split("'")[1].removesuffix("\\n")
                elif part["type"] == "result":
                    number, text = commands[part["call_id"]], part["content"][0]["text"]
                    results[number] += 1
                    assert "exit code 0" in text or text.startswith("Interrupted"), text
                    if "exit code 0" in text:
                        assert ran[number] == 1
        asked.update(commands.values())
    assert asked == {f"turn{turn}-{step}" for turn in range(1, memory.turns + 1) for step in range(STEPS)}
    assert set(results) == asked
    assert set(results.values()) == {1}, "each call has one result"
    assert ran.keys() <= asked
