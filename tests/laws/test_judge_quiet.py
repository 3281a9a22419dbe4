"""Law: a judgment does nothing. No approver, hook, model, notification, grant, inbox row or execution row comes of it.

A real service over a store is asked, with a session that has an approver, a grant, a hook, a policy and an ancestor;
every table is read before and after, row for row, and nothing may be sent to anybody. What it says is held against the
gate's answer to the same call made in earnest.
"""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import stanch
from stanch.app.embedding import Embedded
from stanch.app.planning import Outcome, PlannedCall
from stanch.judge.question import Probe
from stanch.policy.policies import PolicyRequest, Says
from stanch.values.decision import Effect
from stanch.values.reason import LayerId
from stanch.values.verdict import Face, State

PATHS = ("a.txt", "sub/b", "secrets/k", "granted/x", "memory/m.md", "link/c", "../out", "a\0", "new/deep/er", ".")
BEATS = {"nodes"}  # every process says from time to time that it is there
RULES = """version = 1
workspace = "."
[[groups]]
id = "default"
rules = [
  {tool = "*", path = "secrets", action = "deny"},
  {tool = "@write", path = "sub", action = "deny", agent = "parent"},
  {tool = "@read", path = "new", action = "ask", mandatory = true},
  {tool = "@read", action = "allow"},
]
"""


class World:
    """An embedded service in which everything that must not happen is counted."""

    def __init__(self, root: Path) -> None:
        self.root, self.happened = root, list[str]()
        work = root / "w"
        for name in ("sub", "secrets", "granted", "elsewhere"):
            (work / name).mkdir(parents=True)
        (work / "link").symlink_to("elsewhere")
        (work / "stanch.toml").write_text(RULES)
        self.file = root / "stanch.db"
        self.embedded: Embedded = stanch.embed(
            work / "stanch.toml", store=self.file, hooks=[self.hook], policy_for=lambda _: self.policy
        )
        context = stanch.RunContext(allow_fs_writes=(str(work / "granted"),))
        parent = self.embedded.session("parent", on_behalf_of="ada", context=context)
        self.session = self.embedded.session("child", on_behalf_of="ada", parent=parent, context=context)

    def hook(self, request: PolicyRequest) -> Says | None:
        self.happened.append("a hook was asked")
        return None

    def policy(self, request: PolicyRequest) -> Says | None:
        if request.approval_reach.value == "person":
            self.happened.append("a person could be asked")
        return Says(Effect.ASK, "who are you?") if request.arguments.get("file_path") == "granted/x" else None

    def rows(self) -> dict[str, list[Any]]:
        with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True) as database:
            names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: sorted(map(repr, database.execute(f"SELECT * FROM {name}"))) for name in {*names} - BEATS}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path.resolve())
    yield made
    made.embedded.close()


def _path(random: Random) -> str:
    """One of the places that somebody speaks of, or whatever lies near one, below or above."""
    path = random.choice(PATHS)
    while random.random() < 0.3:
        path += random.choice(("/x", "/..", "/.", "/secrets", "//y", "/link", f"/{random.randrange(50)}"))
    return path


def _asked(world: World, random: Random, count: int) -> list[tuple[Probe, Any]]:
    probes = [Probe(random.choice(list(Face)), "law", _path(random)) for _ in range(count)]
    found: list[tuple[Probe, Any]] = []
    while probes:
        some, probes = probes[:40], probes[40:]
        found += zip(some, world.embedded.judge(world.session).batch(some), strict=True)
    return found


def _hold(world: World, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: Any, **__: Any) -> Any:
        world.happened.append("somebody was called over the network")
        raise OSError

    monkeypatch.setattr(socket.socket, "connect", connect)
    before = world.rows()
    found = _asked(world, Random(count), count)
    world.embedded.service.judges.plan(
        world.session, [PlannedCall("write_file", {"path": path, "content": "x"}) for path in PATHS]
    )
    assert world.rows() == before
    assert world.happened == []
    assert world.embedded.waiting() == []
    assert {one.state for _, one in found} >= {State.DENY, State.ASK, State.MANDATED_ASK, State.NO_OBJECTION}
    once = {(probe.face, probe.file_path): verdict for probe, verdict in found}
    for (face, path), verdict in once.items():
        tool = "read_file" if face is Face.READ else "write_file"
        arguments = {"path": path} if face is Face.READ else {"path": path, "content": ""}
        decision = world.embedded.service.check(world.session, tool, arguments).decision
        if verdict.state is State.DENY:
            assert decision.effect is Effect.DENY
            assert verdict.reason is not None
            assert verdict.reason.rule == decision.reason.rule
        elif verdict.state is State.NO_OBJECTION:
            assert decision.effect is not Effect.DENY or decision.answer.layer is LayerId.INTEGRITY
            if face is Face.WRITE:
                assert decision.effect is Effect.ALLOW


def test_a_judgment_does_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _hold(world, 400, monkeypatch)


@pytest.mark.soak
def test_ten_thousand_judgments_do_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _hold(world, 10_000, monkeypatch)


def test_a_plan_says_what_would_come_of_each_call(world: World) -> None:
    calls = [
        PlannedCall("read_file", {"path": "a.txt"}),
        PlannedCall("write_file", {"path": "secrets/k", "content": "x"}),
        PlannedCall("write_file", {"path": "granted/run.sh", "content": "x"}),
        PlannedCall("execute_cmd", {"command": "sh granted/run.sh"}),
        PlannedCall("write_file", {"path": "a.txt", "content": "x"}),
        PlannedCall("read_file", {"path": "a.txt"}),
        PlannedCall("execute_cmd", {"command": "echo $UNKNOWN > $WHERE"}),
        PlannedCall("read_file", {}),
    ]
    got = world.embedded.service.judges.plan(world.session, calls)
    assert [one.outcome for one in got] == [
        Outcome.PASSES, Outcome.REFUSED, Outcome.PASSES, Outcome.UNKNOWN, Outcome.ASKS, Outcome.PASSES, Outcome.UNKNOWN,
        Outcome.REFUSED,
    ]  # fmt: skip
    assert [one.after for one in got] == [(), (), (), (2,), (), (4,), (), ()]
    assert got[6].cause == "command_unread"
    assert got[0].unasked == (LayerId.HOOKS,)
    assert world.happened == []
