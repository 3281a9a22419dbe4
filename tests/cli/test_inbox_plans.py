"""`stanch inbox plan`: a plan's calls are shown before any of them is answered, and no other is answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Stanch
from tests.http.served import PERSON, World, served


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A server whose address and token are in the environment."""
    with served(World(tmp_path)) as running:
        token = running.client(PERSON).headers["Authorization"].partition(" ")[2]
        monkeypatch.setenv("STANCH_URL", running.url)
        monkeypatch.setenv("STANCH_TOKEN", token)
        yield running


def submitted(world: World, *commands: str) -> str:
    """A plan of commands that wait."""
    calls = [{"tool": "execute_cmd", "arguments": {"command": one}} for one in commands]
    said = world.post("/api/judge/plan", {"session_id": world.session(), "calls": calls, "submit": True})
    assert [one["outcome"] for one in said] == ["asks"] * len(commands)
    return str(said[0]["plan_id"])


def states(world: World, plan_id: str) -> list[str]:
    return [one["state"] for one in world.get(f"/api/inbox/plans/{plan_id}")["requests"]]


def mark(out: str) -> str:
    found = re.search(r"--approve ([0-9a-f]{16})", out)
    assert found is not None, out
    return found[1]


def test_the_calls_of_a_plan_are_listed_together_and_shown_whole(world: World, stanch: Stanch) -> None:
    plan_id = submitted(world, "make one", "make two")
    world.post(
        f"/api/sessions/{world.session()}/calls", {"tool": "execute_cmd", "arguments": {"command": "make alone"}}, 201
    )
    lines = stanch("inbox", "list").out.splitlines()
    assert lines[0] == f"{plan_id}  a plan of which 2 calls wait"
    assert [line.split()[0] for line in (lines[1], lines[3])] == ["1", "2"]
    assert lines[5].startswith("req_")
    out = stanch("inbox", "plan", plan_id).out
    assert out.index("make one") < out.index("call 2") < out.index("make two")
    assert "make alone" not in out


def test_it_is_approved_with_the_mark_of_its_showing_alone(world: World, stanch: Stanch) -> None:
    plan_id = submitted(world, "make one", "make two")
    for wrong in ("", "0" * 16, "all", plan_id):
        refused = stanch("inbox", "plan", plan_id, "--approve", wrong)
        assert (refused.code, states(world, plan_id)) == (1, ["open"] * 2)
    done = stanch("inbox", "plan", plan_id, "--approve", mark(stanch("inbox", "plan", plan_id).out), "--note", "fine")
    assert (done.code, states(world, plan_id)) == (0, ["approved"] * 2)
    assert done.out == "approved  call 1  execute_cmd\napproved  call 2  execute_cmd\n"
    assert "nothing of it waits" in stanch("inbox", "plan", plan_id).out


def test_what_became_another_since_its_showing_has_nothing_answered(world: World, stanch: Stanch) -> None:
    plan_id = submitted(world, "make one", "make two")
    shown = mark(stanch("inbox", "plan", plan_id).out)
    request = world.get(f"/api/inbox/plans/{plan_id}")["requests"][0]["request_id"]
    stanch("inbox", "reject", request)
    late = stanch("inbox", "plan", plan_id, "--approve", shown)
    assert (late.code, late.out, states(world, plan_id)) == (1, "", ["rejected", "open"])
    assert "Nothing was answered" in late.err


def test_some_of_it_is_answered(world: World, stanch: Stanch) -> None:
    plan_id = submitted(world, "make one", "make two", "make three")
    shown = mark(stanch("inbox", "plan", plan_id).out)
    done = stanch("inbox", "plan", plan_id, "--reject", shown, "--only", "1", "--only", "3")
    assert (done.code, states(world, plan_id)) == (0, ["rejected", "open", "rejected"])
    assert done.out.splitlines()[-1] == "1 of it still wait"
    again = mark(stanch("inbox", "plan", plan_id).out)
    assert stanch("inbox", "plan", plan_id, "--approve", again, "--only", "1").code == 2
    said: dict[str, Any] = json.loads(stanch("inbox", "plan", plan_id, "--json").out)
    assert said["mark"] == again
    assert states(world, plan_id)[1] == "open"


@pytest.mark.parametrize(
    "options",
    [("--only", "1"), ("--note", "x"), ("--approve", "a", "--reject", "a"), ("--approve", "a", "--only", "0")],
)
def test_what_makes_no_sense_is_refused(world: World, stanch: Stanch, options: tuple[str, ...]) -> None:
    plan_id = submitted(world, "make one")
    assert stanch("inbox", "plan", plan_id, *options).code == 2
    assert stanch("inbox", "plan", "plan_none").code == 2
    assert states(world, plan_id) == ["open"]
