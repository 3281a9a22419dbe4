"""A server is killed while it is written to: whatever it acknowledged is there, and nothing is there by half."""

from __future__ import annotations

import http.client
import random
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stanch.storage.store import Store
from tests.server.processes import SECONDS, Forked

LONGEST_LIFE = 0.15


@dataclass(slots=True)
class Memory:
    """What clients know of a store that they write to: the last number acknowledged, and the one that was on its way.

    `groups` are copies that must be there, `gone` copies that must not be. `number` counts copies, `writes` changes.
    """

    session: str = ""
    rule: int = 0
    known: dict[str, int] = field(default_factory=lambda: {"context": 0, "rule": 0})
    tried: dict[str, int] = field(default_factory=lambda: {"context": 0, "rule": 0})
    groups: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    number: int = 0
    writes: int = 0


@pytest.mark.parametrize("rounds", [40, pytest.param(1000, marks=pytest.mark.soak)])
def test_a_kill_loses_nothing_that_was_acknowledged(workspace: Path, rounds: int) -> None:
    seed = random.randrange(1 << 32)
    print(f"random seed: {seed}")
    chance, memory, data = random.Random(seed), Memory(), workspace.parent / "data"
    (workspace / "stanch.toml").unlink()
    for _ in range(rounds):
        server = Forked(data, cwd=workspace)
        server.ready()
        if memory.session:
            look(server, memory)
        else:
            begin(server, memory)
        write_until_killed(server, memory, chance.uniform(0, LONGEST_LIFE))
        look_at_the_log(data)
    assert memory.writes > rounds


def test_a_kill_at_the_start_leaves_a_store_that_starts(workspace: Path) -> None:
    chance = random.Random()
    for number in range(12):
        data = workspace.parent / f"data{number}"
        server = Forked(data, cwd=workspace)
        server.code(chance.uniform(0, 0.4))
        kill(server)
        again = Forked(data, cwd=workspace)
        again.ready()
        assert again.ask("GET", "/api/tool-permission-groups").json["total"] == 1
        kill(again)
        look_at_the_log(data)


def kill(server: Forked) -> None:
    """Ends it at once; it must not have ended by itself."""
    server.kill()
    assert server.code() == -signal.SIGKILL, server.complained


def begin(server: Forked, memory: Memory) -> None:
    """Makes the session and the rule that are then changed over and over."""
    memory.session = told(server, "POST", "/api/sessions", {"agent_id": "coder", "source": "web"})["id"]
    memory.rule = told(server, "POST", "/api/approval/rules", rule(0))["id"]


def rule(number: int) -> dict[str, Any]:
    """A rule that says its number wherever it can."""
    return {
        "group_id": "default",
        "tool_pattern": "x",
        "action": "ask",
        "priority": number,
        "path_pattern": f"p{number}",
        "note": f"n{number}",
    }


def context(number: int) -> dict[str, Any]:
    """A run context that says its number wherever it can."""
    return {"allow_fs_writes": [f"w{number}"], "allow_fs_reads": [f"r{number}"], "system_prompt": [f"s{number}"]}


def told(server: Forked, method: str, path: str, body: Any = None) -> Any:
    """What the server answers to a change that it makes. Raises where it no longer answers."""
    reply = server.ask(method, path, body)
    assert 200 <= reply.status < 300, reply
    return reply.json


def write_until_killed(server: Forked, memory: Memory, life: float) -> None:
    """Three clients write one change after the other; the server is killed some time after the first was made."""
    first = threading.Event()
    wrong: list[BaseException] = []

    def client(write: Any) -> None:
        try:
            with suppress(OSError, http.client.HTTPException):
                while True:
                    write(server, memory)
                    memory.writes += 1
                    first.set()
        except BaseException as error:
            wrong.append(error)
            first.set()

    threads = [threading.Thread(target=client, args=(write,)) for write in (write_context, write_rule, write_group)]
    for thread in threads:
        thread.start()
    assert first.wait(SECONDS)
    server.code(life)
    kill(server)
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert wrong == []


def write_context(server: Forked, memory: Memory) -> None:
    number = memory.tried["context"] = memory.tried["context"] + 1
    told(server, "POST", f"/api/sessions/{memory.session}/run_context", context(number))
    memory.known["context"] = number


def write_rule(server: Forked, memory: Memory) -> None:
    number = memory.tried["rule"] = memory.tried["rule"] + 1
    told(server, "PUT", f"/api/approval/rules/{memory.rule}", rule(number))
    memory.known["rule"] = number


def write_group(server: Forked, memory: Memory) -> None:
    """Copies the group, or removes a copy."""
    memory.number += 1
    name = f"copy{memory.number}"
    if memory.number % 3 and memory.groups:
        name = memory.groups.pop()
        told(server, "DELETE", f"/api/tool-permission-groups/{name}")
        memory.gone.add(name)
    else:
        told(server, "POST", "/api/tool-permission-groups/default/duplicate", {"id": name, "name": name})
        memory.groups.add(name)


def look(server: Forked, memory: Memory) -> None:
    """Holds what the server has against what it acknowledged: the last change, or the one that was on its way."""
    session = told(server, "GET", f"/api/sessions/{memory.session}")["run_context"]
    number = int(session["system_prompt"][0][1:]) if session else 0
    assert memory.known["context"] <= number <= memory.tried["context"]
    if number:
        assert {name: session[name] for name in context(number)} == context(number)
    memory.known["context"] = memory.tried["context"] = number

    found = told(server, "GET", f"/api/approval/rules/{memory.rule}")
    number = found["priority"]
    assert memory.known["rule"] <= number <= memory.tried["rule"]
    assert {name: found[name] for name in rule(number)} == rule(number)
    memory.known["rule"] = memory.tried["rule"] = number

    groups = {group["id"] for group in everything(server, "/api/tool-permission-groups")} - {"default"}
    assert memory.groups <= groups, "a copy that was acknowledged is lost"
    assert not memory.gone & groups, "a copy that was removed is back"
    whole = len(everything(server, "/api/approval/rules?group_id=default"))
    for name in groups:
        assert len(everything(server, f"/api/approval/rules?group_id={name}")) == whole, "a copy was made by half"
        told(server, "DELETE", f"/api/tool-permission-groups/{name}")
    memory.groups.clear()
    memory.gone.clear()


def everything(server: Forked, path: str) -> list[Any]:
    """Every item of a list."""
    found: list[Any] = []
    cursor = ""
    while True:
        page = told(server, "GET", f"{path}{'&' if '?' in path else '?'}limit=100{cursor}")
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def look_at_the_log(data: Path) -> None:
    """The chain of what was changed holds, from its first row to the last."""
    store = Store.open(f"sqlite:///{data}/stanch.db")
    report = store.verify_audit()
    assert report.broken is None
    assert report.intact == store.last_event()
    store.close()
