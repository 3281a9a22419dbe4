"""Subagents at work, over real HTTP: what they may do, what comes back, and what happens when one is stopped."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import pytest

from stanch.app.subagents import MOST_DEPTH, Subagents
from stanch.runtime.scripted_reply import fail, say, use
from stanch.values.approval import CallState
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.turn import TurnState
from tests.runtime.families import agents, below, by_model, tags
from tests.runtime.world import PERSON, RULES, World, until

QUIET = """
[[groups]]
id = "quiet"
[[groups.rules]]
tool = "execute_cmd"
action = "deny"
[[groups.rules]]
tool = "@read"
path = "notes.txt"
action = "deny"

[[groups]]
id = "loud"
[[groups.rules]]
tool = "*"
action = "allow"
"""
LOUD_EVE = "[sessions.defaults.agent.eve]\nsecurity_group = 'loud'\n"


def test_what_a_subagent_found_comes_back_with_its_marks_over_two_steps(tmp_path: Path) -> None:
    script = by_model(
        scripted=[use("call_agent", agent="eve", prompt="look"), use("read_file", path="notes.txt"), say("done")],
        eve=[use("read_file", path="deep/down/open.txt"), use("call_agent", agent="fay", prompt="look"), say("eve's")],
        fay=[use("grep_files", pattern="milk", path="."), say("fay's word")],
    )
    with World(tmp_path, script, more=agents("eve", "fay")) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        eve, fay = below(world, session)
        assert (eve.parent_id, fay.parent_id) == (session, eve.id)
        assert world.results(session)[0] == "eve's"
        assert world.results(eve.id)[1] == "fay's word"
        notes, opened = str(world.workspace / "notes.txt"), str(world.workspace / "deep/down/open.txt")
        assert {tag.name for tag in tags(world, fay.id)} == {notes}
        assert {tag.name for tag in tags(world, eve.id)} == {notes, opened}
        came_back = world.messages(session)[2].parts[0].tags
        assert {tag.name for tag in came_back} == {notes, opened}
        assert all(tag.span is None for tag in came_back)
        assert all(one.ended_at is not None for one in (eve, fay))


def test_an_agent_stands_at_most_so_far_below_another(tmp_path: Path) -> None:
    names = [f"a{number}" for number in range(MOST_DEPTH + 1)]
    scripts = {
        name: [use("call_agent", agent=after, prompt="go on"), say(f"{name} ends")]
        for name, after in itertools.pairwise(names)
    }
    script = by_model(scripted=[use("call_agent", agent="a0", prompt="go on"), say("done")], **scripts)
    with World(tmp_path, script, more=agents(*names)) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        line = below(world, session)
        assert [one.agent_id for one in line] == names[:MOST_DEPTH]
        (said,) = world.results(line[-1].id)
        assert f"at most {MOST_DEPTH} below" in said
        assert world.records(line[-1].id)[0].state is CallState.FAILED
        assert world.results(session) == ["a0 ends"]


def test_what_is_hidden_from_an_agent_is_hidden_below_it(tmp_path: Path) -> None:
    script = by_model(
        scripted=[use("call_agent", agent="eve", prompt="look"), say("done")],
        eve=[use("execute_cmd", command="echo hi"), use("call_agent", agent="fay", prompt="look"), say("ok")],
        fay=[use("execute_cmd", command="echo hi"), say("ok")],
    )
    more = agents("eve", "fay") + LOUD_EVE
    with World(tmp_path, script, more=more, rules=QUIET + RULES) as world:
        session = world.session(context=RunContext(security_group="quiet"))
        assert world.ask("go", session).state is TurnState.COMPLETED
        eve, fay = below(world, session)
        assert eve.run_context is not None
        assert eve.run_context.security_group == "loud"
        for body in world.models.bodies():
            offered = {tool["function"]["name"] for tool in body["tools"]}
            assert "execute_cmd" not in offered
            assert "read_file" in offered
        assert (
            world.service.check(eve.parent_id or "", "execute_cmd", {"command": "echo hi"}).decision.effect
            is Effect.DENY
        )
        for one in (eve, fay):
            assert "hi" not in world.results(one.id)[0].split()


def test_a_search_by_a_subagent_shows_nothing_that_an_ancestor_may_not_see(tmp_path: Path) -> None:
    script = by_model(
        scripted=[use("call_agent", agent="eve", prompt="look"), say("done")],
        eve=[use("grep_files", pattern="m", path="."), use("call_agent", agent="fay", prompt="look"), say("ok")],
        fay=[
            use("grep_files", pattern="m", path=str(tmp_path / "workspace")),
            use("list_files", pattern="**/*", path="."),
            use("read_file", path="notes.txt"),
            say("ok"),
        ],
    )
    more = agents("eve", "fay") + LOUD_EVE + "[sessions.defaults.agent.fay]\nsecurity_group = 'loud'\n"
    with World(tmp_path, script, more=more, rules=QUIET + RULES) as world:
        session = world.session(context=RunContext(security_group="quiet", working_directory="deep"))
        assert world.ask("go", session).state is TurnState.COMPLETED
        eve, fay = below(world, session)
        for found in (world.results(eve.id)[0], *world.results(fay.id)[:2]):
            assert "open.txt" in found
            assert "withheld" in found
        assert world.results(fay.id)[2].startswith("Denied")
        said = world.models.raw()
        for hidden in (
            b"marker secret",
            b"marker denied",
            b"marker one",
            b"buy milk",
            b"key.txt",
            b"more.txt",
            b"denied.txt",
        ):
            assert hidden not in said


def test_an_agent_that_nobody_knows(tmp_path: Path) -> None:
    script = by_model(scripted=[use("call_agent", agent="mallory", prompt="look"), say("done")])
    with World(tmp_path, script, more=agents("eve")) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        (said,) = world.results(session)
        assert "no agent 'mallory'" in said
        assert "bob" in said
        assert below(world, session) == []


def test_another_of_ones_own_kind(tmp_path: Path) -> None:
    script = by_model(
        scripted=[
            use("call_agent", agent="bob", prompt="look"),
            use("read_file", path="notes.txt"),
            say("in"),
            say("out"),
        ]
    )
    with World(tmp_path, script) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        assert world.results(session) == ["in"]
        assert [one.model for one in below(world, session)] == ["fake/scripted"]


TIERS = """
[tiers.blind]
label = "Blind"
[tiers.blind.otherwise]
read = "allow"
write = "allow"
execute = "allow"
network = "allow"
[[tiers.blind.cells]]
path = "notes.txt"
read = "deny"
"""


def tiered(**assigned: str) -> str:
    """Tiers, and which models are in them."""
    return TIERS + "[models.assignments]\n" + "".join(f"'fake/{name}' = '{tier}'\n" for name, tier in assigned.items())


@pytest.mark.parametrize("blind", ["scripted", "eve"])
def test_a_call_is_under_the_tier_of_every_model_of_the_line(tmp_path: Path, blind: str) -> None:
    script = by_model(
        scripted=[use("call_agent", agent="eve", prompt="look"), say("done")],
        eve=[use("read_file", path="notes.txt"), use("grep_files", pattern="m", path="."), say("ok")],
    )
    with World(tmp_path, script, more=agents("eve") + tiered(**{blind: "blind"})) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        (eve,) = below(world, session)
        assert eve.model == "fake/eve"
        read, found = world.results(eve.id)
        assert "tier" in read
        assert "marker open" in found
        assert b"buy milk" not in world.models.raw()


def test_what_a_subagents_model_may_not_read_does_not_reach_it_in_its_task(tmp_path: Path) -> None:
    # The caller may read the file, copies it into the task of one that may not, and that one hands it on.
    words = "a long line that nobody else may see: marker nine"
    script = by_model(
        scripted=[
            use("read_file", path="notes.txt"),
            use("call_agent", agent="fay", prompt=f"Check this: {words}. It is for eve."),
            say("done"),
        ],
        fay=[use("call_agent", agent="eve", prompt=f"Check this: {words}. Say what it means."), say("ok")],
        eve=[say("ok")],
    )
    with World(tmp_path, script, more=agents("eve", "fay") + tiered(eve="blind")) as world:
        (world.workspace / "notes.txt").write_text(words + "\n")
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        asked = {body["model"]: str(body["messages"]) for body in world.models.bodies()}
        assert "marker nine" in asked["fay"]
        assert "marker nine" not in asked["eve"]
        assert "Say what it means" in asked["eve"]
        assert 'trust tier "Blind" does not have read access' in asked["eve"]


def test_a_task_reaches_a_model_whole_that_is_of_the_tier_for_which_a_person_answered(tmp_path: Path) -> None:
    words = "a long line that everybody of the tier may see: marker nine"
    script = by_model(
        scripted=[
            use("read_file", path="notes.txt"),
            use("call_agent", agent="eve", prompt=f"Check this: {words}."),
            say("done"),
        ],
        eve=[say("ok")],
    )
    more = agents("eve") + tiered(scripted="blind", eve="blind").replace("'deny'", "'ask'").replace('"deny"', '"ask"')
    with World(tmp_path, script, more=more) as world:
        (world.workspace / "notes.txt").write_text(words + "\n")
        session = world.session()
        turn = world.begin("go", session)
        world.service.approving.approve(world.waiting().request_id, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        (body,) = [body for body in world.models.bodies() if body["model"] == "eve"]
        assert "marker nine" in str(body["messages"])


def test_a_subagent_that_fails_is_a_failed_call_and_not_the_end(tmp_path: Path) -> None:
    script = by_model(
        scripted=[use("call_agent", agent="eve", prompt="look"), say("done")],
        eve=[fail(400, "echo: marker")],
    )
    with World(tmp_path, script, more=agents("eve")) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        (said,) = world.results(session)
        assert "eve did not come to an end" in said
        assert "400" in said
        assert "marker" not in said
        assert [one.state for one in world.records(session)] == [CallState.FAILED]
        (eve,) = below(world, session)
        assert eve.ended_at is not None


@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_a_subagent_asks_a_person(tmp_path: Path, answer: str) -> None:
    script = by_model(
        scripted=[use("call_agent", agent="eve", prompt="write"), say("done")],
        eve=[use("write_file", path="out.txt", content="hi"), say("eve's word")],
    )
    with World(tmp_path, script, more=agents("eve")) as world:
        session = world.session()
        turn = world.begin("go", session)
        request = world.waiting()
        (eve,) = below(world, session)
        assert (request.session_id, request.agent_id) == (eve.id, "eve")
        assert request.context_label == f"Subagent of {session}"
        getattr(world.service.approving, answer)(request.request_id, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert world.results(session) == ["eve's word"]
        assert (world.workspace / "out.txt").exists() == (answer == "approve")


@pytest.mark.parametrize("how", ["stop the turn", "end the session"])
def test_the_end_of_an_agent_is_the_end_of_those_below_it(tmp_path: Path, how: str) -> None:
    script = by_model(
        scripted=[use("call_agent", agent="eve", prompt="write"), say("again")],
        eve=[use("call_agent", agent="fay", prompt="write"), say("never")],
        fay=[use("write_file", path="out.txt", content="hi"), say("never")],
    )
    with World(tmp_path, script, more=agents("eve", "fay")) as world:
        session = world.session()
        turn = world.begin("go", session)
        world.waiting()
        if how == "stop the turn":
            world.service.agents.stop(turn.id, by=PERSON)
        else:
            world.service.sessions.end(session, by=PERSON)
        until(lambda: world.service.inbox.list().total == 0 or None)
        until(lambda: all(one.ended_at is not None for one in below(world, session)) or None)
        for one in below(world, session):
            (its,) = world.service.turn_log.list(one.id).items
            assert its.state is TurnState.STOPPED  # type: ignore[union-attr]
        assert world.service.turn_log.get(turn.id).state is TurnState.STOPPED
        assert not (world.workspace / "out.txt").exists()
        if how == "stop the turn":
            assert world.ask("once more", session).state is TurnState.COMPLETED


def test_a_context_that_is_changed_holds_for_a_subagent_from_its_next_turn(tmp_path: Path) -> None:
    script = by_model(
        scripted=[use("call_agent", agent="eve", prompt="write"), say("done")],
        eve=[use("ask_user", question="Well?"), use("read_file", path="notes.txt"), say("ok")],
    )
    with World(tmp_path, script, more=agents("eve"), rules=QUIET + RULES) as world:
        session = world.session()
        turn = world.begin("go", session)
        asked = world.question()
        (eve,) = below(world, session)
        world.service.sessions.set_context(eve.id, RunContext(security_group="quiet"), by=PERSON)
        world.service.inbox.answer(asked.request_id, "yes", by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert "buy milk" in world.results(eve.id)[1]


def test_a_call_that_is_being_stored_when_its_turn_is_stopped_does_not_stay_in_the_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, going_on = threading.Event(), threading.Event()
    with World(tmp_path, [use("write_file", path="a", content="b"), say("again")]) as world:
        gate = world.service.agents._gate
        submit = gate.submit

        def slow(*given: Any) -> Any:
            entered.set()
            assert going_on.wait(60)
            return submit(*given)

        monkeypatch.setattr(gate, "submit", slow)
        session = world.session()
        turn = world.begin("go", session)
        assert entered.wait(60)
        stopping = threading.Thread(target=lambda: world.service.agents.stop(turn.id, by=PERSON))
        stopping.start()
        until(lambda: world.service.turn_log.get(turn.id).state is TurnState.STOPPED or None)
        going_on.set()
        stopping.join(60)
        until(lambda: [one.state for one in world.records(session)] == [CallState.CANCELLED] or None)
        assert world.service.inbox.list().total == 0


def test_a_turn_that_is_taken_up_keeps_the_context_that_it_was_taken_up_with(tmp_path: Path) -> None:
    script = [use("ask_user", question="Well?"), use("read_file", path="notes.txt"), say("ok")]
    with World(tmp_path, script, rules=QUIET + RULES) as world:
        session = world.session()
        turn = world.begin("go", session)
        world.question()
        world.restart()
        until(lambda: world.service.turns.of(session))
        world.service.sessions.set_context(session, RunContext(security_group="quiet"), by=PERSON)
        world.service.inbox.answer(world.question().request_id, "yes", by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert "buy milk" in world.results(session)[1]


def test_a_subagent_that_cannot_be_opened_ends_its_call_and_not_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("marker of what broke")

    monkeypatch.setattr(Subagents, "task", breaks)
    with World(tmp_path, [use("call_agent", agent="bob", prompt="go"), say("done")]) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        assert world.results(session) == ["call_agent broke: RuntimeError"]
        assert [call.state for call in world.records(session)] == [CallState.FAILED]
