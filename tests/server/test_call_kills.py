"""A server is killed while calls are asked for, approved and run: nothing is lost, run twice, or run unapproved.

The clients are those of a real day: agents that ask, a person who answers, a runner that starts what may start and says
how it ended. What a client was told is held against what the server knows after its next start.
"""

from __future__ import annotations

import http.client
import random
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.server.processes import SECONDS, Forked
from tests.server.test_kills import kill, look_at_the_log, told

LONGEST_LIFE = 0.25
AT_ONCE = 4


@dataclass(slots=True)
class Memory:
    """What the clients were told, and what they tried.

    `asked` are calls that wait, each with its request; `approved` and `rejected` are answers on their way or given;
    `ran` counts the times that a runner was told to run a call, `over` are calls whose end was acknowledged.
    """

    session: str = ""
    asked: dict[str, str] = field(default_factory=dict)
    approved: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)
    acknowledged: dict[str, str] = field(default_factory=dict)
    ran: Counter[str] = field(default_factory=Counter)
    over: set[str] = field(default_factory=set)
    interrupted: set[str] = field(default_factory=set)
    number: int = 0
    done: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def has_seen_all(self) -> bool:
        """True once each was done, and a kill came while a call was running. WHY no count: a busy machine does less."""
        return all(self.done[what] for what in ("ask", "approve", "reject", "run")) and bool(self.interrupted)


# WHY in parts: several workers can take them at once.
@pytest.mark.parametrize(
    ("rounds", "part"), [*((50, part) for part in range(4)), pytest.param(1000, 0, marks=pytest.mark.soak)]
)
def test_a_kill_loses_no_approval_and_runs_nothing_twice(workspace: Path, rounds: int, part: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"random seed: {seed}")
    chance, memory, data = random.Random(seed), Memory(), workspace.parent / "data"
    (workspace / "stanch.toml").unlink()  # the rules of a new store: a command asks
    for number in range(4 * rounds):
        if number >= rounds and memory.has_seen_all():
            break
        server = Forked(data, cwd=workspace)
        server.ready()
        if not memory.session:
            memory.session = told(server, "POST", "/api/sessions", {"agent_id": "coder", "source": "web"})["id"]
        look(server, memory)
        work_until_killed(server, memory, chance, chance.uniform(0, LONGEST_LIFE))
        if number % 20 == 0:
            look_at_the_log(data)
    server = Forked(data, cwd=workspace)
    server.ready()
    look(server, memory)
    finish(server, memory)
    kill(server)
    look_at_the_log(data)
    assert memory.has_seen_all(), (memory.done, memory.interrupted)


def work_until_killed(server: Forked, memory: Memory, chance: random.Random, life: float) -> None:
    """Agents, a person and a runner are at work; the server is killed some time after the first was answered."""
    first, dead = threading.Event(), threading.Event()
    wrong: list[BaseException] = []

    def client(work: Any, seed: int) -> None:
        own = random.Random(seed)
        try:
            with suppress(OSError, http.client.HTTPException):
                while not dead.is_set():
                    if work(server, memory, own):
                        first.set()
                    else:
                        dead.wait(0.002)
        except BaseException as error:
            wrong.append(error)
            first.set()

    works = (ask, answer, answer, run, run)
    threads = [threading.Thread(target=client, args=(work, chance.randrange(1 << 32))) for work in works]
    for thread in threads:
        thread.start()
    assert first.wait(SECONDS)
    server.code(life)
    kill(server)
    dead.set()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert wrong == []


def ask(server: Forked, memory: Memory, _: random.Random) -> bool:
    """An agent asks for a call, unless enough of them wait; false where there is nothing to do."""
    with memory.lock:
        waiting = len(memory.asked.keys() - memory.acknowledged.keys())
        memory.number += 1
        number = memory.number
    if waiting >= AT_ONCE:
        return False
    path = f"/api/sessions/{memory.session}/calls"
    said = told(server, "POST", path, {"tool": "execute_cmd", "arguments": {"command": f"make n{number}"}})
    assert said["call"]["state"] == "awaiting_approval"
    with memory.lock:
        memory.asked[said["call"]["id"]] = said["call"]["request_id"]
        memory.done["ask"] += 1
    return True


def answer(server: Forked, memory: Memory, chance: random.Random) -> bool:
    """A person answers something that waits; another one may be faster, and then says so."""
    with memory.lock:
        waiting = sorted(memory.asked.keys() - memory.acknowledged.keys())
    if not waiting:
        return False
    call = chance.choice(waiting)
    action = "approve" if chance.random() < 0.7 else "reject"
    with memory.lock:
        (memory.approved if action == "approve" else memory.rejected).add(call)
    path = f"/api/inbox/approvals/{memory.asked[call]}/resolve"
    reply = server.ask("POST", path, {"action": action})
    assert reply.status in (200, 409), reply
    if reply.status == 200:
        with memory.lock:
            memory.acknowledged[call] = action
            memory.done[action] += 1
    return True


def run(server: Forked, memory: Memory, chance: random.Random) -> bool:
    """A runner starts a call that was approved, runs it, and says that it is done."""
    with memory.lock:
        tried = sorted(memory.approved - memory.over - memory.interrupted)
    if not tried:
        return False
    call = chance.choice(tried)
    reply = server.ask("POST", f"/api/calls/{call}/start", {})
    assert reply.status in (200, 409), reply
    if reply.status != 200 or reply.json["call"]["state"] != "running":
        return False
    with memory.lock:
        memory.ran[call] += 1
    told(server, "POST", f"/api/calls/{call}/finish", {"outcome": "completed"})
    with memory.lock:
        memory.over.add(call)
        memory.done["run"] += 1
    return True


def look(server: Forked, memory: Memory) -> None:
    """Holds what the server knows against what clients were told."""
    states = {call: told(server, "GET", f"/api/calls/{call}")["state"] for call in memory.asked}
    waiting = {one["request_id"] for one in inbox(server)}
    for call, request in memory.asked.items():
        state, said = states[call], memory.acknowledged.get(call)
        assert memory.ran[call] <= 1, "a call was run twice"
        if memory.ran[call]:
            assert call in memory.approved, "a call was run that nobody approved"
        assert state != "running", "a call runs that no process runs"
        if said is None and call not in memory.approved | memory.rejected:
            assert (state, request in waiting) == ("awaiting_approval", True), "a request is lost"
        elif said == "approve":
            assert state in ("pending", "completed", "interrupted"), "an approval is lost"
        elif said == "reject":
            assert state == "rejected", "a rejection is lost"
        if call in memory.over:
            assert state == "completed", "an end is lost"
        if state == "interrupted":
            memory.interrupted.add(call)
        if state == "awaiting_approval":
            assert request in waiting, "a request that waits is not in the inbox"
        else:
            assert request not in waiting
    for call in [call for call, state in states.items() if state in ("completed", "rejected", "interrupted")]:
        memory.asked.pop(call)
        memory.acknowledged.pop(call, None)
        memory.approved.discard(call)
        memory.rejected.discard(call)


def inbox(server: Forked) -> list[Any]:
    """Every request that waits."""
    found: list[Any] = []
    cursor = ""
    while True:
        page = told(server, "GET", f"/api/inbox?limit=100{cursor}")
        found += page["approvals"]
        if page.get("next") is None:
            return found
        cursor = f"&cursor={page['next']}"


def finish(server: Forked, memory: Memory) -> None:
    """What still waits can be approved now, and goes on."""
    for call, request in memory.asked.items():
        state = told(server, "GET", f"/api/calls/{call}")["state"]
        if state == "awaiting_approval":
            told(server, "POST", f"/api/inbox/approvals/{request}/resolve", {"action": "approve"})
        started = told(server, "POST", f"/api/calls/{call}/start", {})
        assert started["call"]["state"] == "running"
        ended = told(server, "POST", f"/api/calls/{call}/finish", {"outcome": "completed"})
        assert (ended.get("call") or ended)["state"] == "completed"
