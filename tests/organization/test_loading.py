"""While an organization's rules are loading nothing passes, and once they are there nothing is left of that.

One session and one server, from before the rules are known until after: nothing is opened or registered anew.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stanch.app import organization_opening
from stanch.app.judging import Judge
from stanch.app.organization import Organization
from stanch.judge.question import Probe
from stanch.values.decision import Effect
from stanch.values.reason import Code, LayerId
from stanch.values.verdict import Cause, Face, State
from tests.http.served import World
from tests.http.served import served as serving
from tests.organization.served import Clock, Server, served, until, whole

LIST = "mcp__files__list"
POLICY = f"""version = 1
[[groups]]
id = "default"
rules = [{{ tool = "mcp__*", action = "allow" }}, {{ tool = "@read", action = "allow" }}]
[tools.{LIST}]
effects = [{{ class = "read", argument = "path", optional = true }}]
"""
LOADING = "loading: ask again in a moment"
ALLOWED = [{"tool": "mcp__*", "action": "allow"}]
CLOSED = [{"tool": "mcp__*", "action": "deny"}]
PASSING = {"calls", "approvals", "audit"}
"""The tables that say what was asked for, and what became of it."""
MOVING = {"store_state", "nodes"}
"""Those that say which revision this is, and which processes are alive."""


class Rules:
    """A server that lets the first answer wait until it `comes`."""

    def __init__(self, rules: list[dict[str, str]]) -> None:
        self.rules, self.comes = rules, threading.Event()

    def __call__(self, server: Server, raw: bytes) -> Iterable[bytes]:
        while not (self.comes.wait(0.05) or server.ended.is_set()):
            pass
        return [whole(self.rules)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of whatever organization a policy names. It stands, so that none is asked of itself a second time."""
    made = Clock()
    monkeypatch.setattr(organization_opening, "Organization", functools.partial(Organization, now=made))
    return made


def kept(world: World) -> dict[str, list[tuple[Any, ...]]]:
    """All that is stored but what was asked for: grants, rules, answers of persons, sessions."""
    names = [str(name) for (name,) in world.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
    return {name: world.rows(f"SELECT * FROM {name}") for name in names if name not in PASSING | MOVING}


def executed(world: World, session: str) -> Any:
    """What running the tool as a call of the session is answered with."""
    return world.client().post(f"/api/tools/{LIST}/execute", json={"session": session, "arguments": {}})


def submitted(world: World, session: str) -> Any:
    """The call, as an agent of another program asks for it."""
    return world.post(f"/api/sessions/{session}/calls", {"tool": LIST, "arguments": {}}, 201)


def checked(world: World, session: str) -> tuple[str, str, str]:
    """The gate's answer over REST: its effect, the layer of its reason, and whether that says to ask again."""
    said = world.check(LIST, {}, session_id=session)
    return said["effect"], said["reason"]["layer"], LOADING if LOADING in said["reason"]["sentence"] else ""


def judged(world: World, session: str) -> tuple[str, str | None]:
    """The judge's answer over REST."""
    said = world.post("/api/judge", {"face": "attachment", "access": "read", "path": "a", "session_id": session})
    return said["verdict"], said.get("cause")


@pytest.mark.parametrize("failure", ["ask", "deny"])
@pytest.mark.parametrize("rules", [ALLOWED, []], ids=["rules", "no rules"])
def test_what_was_refused_while_rules_were_loading_is_allowed_once_they_are_there(
    tmp_path: Path, clock: Clock, rules: list[dict[str, str]], failure: str
) -> None:
    source, ran = Rules(rules), list[Any]()

    def listing(arguments: Any) -> str:
        ran.append(dict(arguments))
        return "listed"

    with served(source) as server:
        text = f"on_layer_failure = '{failure}'\n{POLICY}[organization]\nsource = {json.dumps(server.url)}\n"
        with serving(World(tmp_path, text)) as world:
            service, name = world.service, world.session()
            service.turn(name)
            session = service.check(name, LIST, {}).session
            judge = Judge([session])
            probe = Probe(Face.READ, "attachment", "a")
            until(lambda: len(server.asked) == 1, "the first try")
            before = kept(world)

            clock.on(0.1)
            for _ in range(3):
                decision = session.check(LIST, {})
                assert (decision.effect, decision.reason.code) == (Effect(failure), Code.LAYER_FAILED)
                assert (decision.reason.layer, decision.reason.detail) == (LayerId.ORG_RULES, LOADING)
                verdict = judge(probe)
                assert (verdict.state, verdict.cause) == (State.UNANSWERABLE, Cause.ORG_UNAVAILABLE)
                assert checked(world, name) == (failure, "org_rules", LOADING)
                assert judged(world, name) == ("unanswerable", "org_unavailable")
            waiting = [submitted(world, name) for _ in range(2)]
            state = "awaiting_approval" if failure == "ask" else "rejected"
            assert [one["call"]["state"] for one in waiting] == [state] * 2
            assert "ask again in a moment" in waiting[0]["answer"]["reason"]["sentence"]

            clock.on(0.1)
            service.tools.add(LIST, listing)
            assert executed(world, name).status_code == 403
            assert ran == []

            clock.on(3.3)
            source.comes.set()
            until(lambda: service.organizations.statuses()[0].words == "current", "the rules")
            assert session.check(LIST, {}).effect is Effect.ALLOW
            assert judge(probe).state is State.NO_OBJECTION
            assert checked(world, name) == ("allow", "persisted_rules", "")
            assert judged(world, name) == ("no_objection", None)
            assert service.check(name, LIST, {}).session is session, "the turn that began before goes on"
            again = submitted(world, name)
            assert (again["call"]["state"], again["request"]) == ("pending", None)
            assert world.post(f"/api/calls/{again['call']['id']}/start", {})["call"]["state"] == "running"
            assert executed(world, name).json()["value"] == "listed"
            assert ran == [{}]
            assert len(server.asked) == 1
            assert kept(world) == before

            _take_back(world, waiting, asked=failure == "ask")
            source.rules = CLOSED
            service.organizations.refresh()
            assert session.check(LIST, {}).effect is Effect.DENY, "nor is it remembered that it was allowed"
            assert checked(world, name)[:2] == ("deny", "org_rules")


def _take_back(world: World, waiting: list[Any], *, asked: bool) -> None:
    """What was asked of a person meanwhile is still theirs to answer, and is judged by the rules of then."""
    open_ones = world.get("/api/inbox")["total"]
    if not asked:
        assert open_ones == 0
        return
    assert open_ones == 3, "two that were submitted, and one that was to be run"
    approved, cancelled = (one["call"]["id"] for one in waiting)
    request = waiting[0]["request"]["request_id"]
    world.post(f"/api/inbox/approvals/{request}/resolve", {"action": "approve"})
    assert world.post(f"/api/calls/{approved}/start", {})["call"]["state"] == "running"
    world.post(f"/api/calls/{cancelled}/cancel")
    assert world.get("/api/inbox")["total"] == 1


def test_without_an_organization_nothing_is_ever_loading(tmp_path: Path) -> None:
    with serving(World(tmp_path, POLICY)) as world:
        name = world.session()
        answered = world.service.check(name, LIST, {}, trace=True)
        assert answered.decision.effect is Effect.ALLOW
        assert [one.asked for one in answered.decision.trace if one.layer is LayerId.ORG_RULES] == [False]
        assert checked(world, name) == ("allow", "persisted_rules", "")
        assert judged(world, name) == ("no_objection", None)


@pytest.mark.usefixtures("clock")
def test_an_organization_that_is_gone_before_its_rules_came_holds_nothing_up(tmp_path: Path) -> None:
    source = Rules(CLOSED)
    with served(source) as server:
        named = f"{POLICY}[organization]\nsource = {json.dumps(server.url)}\n"
        with serving(World(tmp_path, named)) as world:
            name = world.session()
            until(lambda: len(server.asked) == 1, "the first try")
            assert checked(world, name) == ("ask", "org_rules", LOADING)
            assert submitted(world, name)["call"]["state"] == "awaiting_approval"
            world.write_policy(POLICY)
            world.service.refresh()
            assert checked(world, name) == ("allow", "persisted_rules", "")
            assert judged(world, name) == ("no_objection", None)
            assert submitted(world, name)["call"]["state"] == "pending"
            source.comes.set()
            assert world.service.organizations.statuses() == ()
            assert checked(world, name) == ("allow", "persisted_rules", "")
