"""A process that ends in the middle of a turn, and the next one that goes on with it."""

from __future__ import annotations

from pathlib import Path

from stanch.runtime.scripted_reply import Reply, ToolUse, say, use
from stanch.tiers.dialects.ours import write_messages
from stanch.values.approval import CallState
from stanch.values.turn import TurnState
from tests.runtime.world import PERSON, World, until


def test_a_call_that_waited_goes_on_once_it_is_approved(tmp_path: Path) -> None:
    with World(tmp_path, [use("write_file", path="a", content="b"), say("done")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        request = world.waiting()
        before = write_messages(world.messages(session))
        world.restart()
        assert write_messages(world.messages(session)) == before
        assert world.waiting().request_id == request.request_id
        world.service.approving.approve(request.request_id, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert (world.workspace / "a").read_text() == "b"
        assert write_messages(world.messages(session))[: len(before)] == before
        assert len(world.models.asked) == 2


def test_a_call_that_was_approved_while_no_process_ran_is_run_once(tmp_path: Path) -> None:
    with World(tmp_path, [use("write_file", path="a", content="b"), say("done")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        request = world.waiting()
        world._embedded.close()
        world.start()  # no agents run in it yet
        world.service.approving.approve(request.request_id, by=PERSON)
        assert not (world.workspace / "a").exists()
        world.restart()
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert [one.state for one in world.records(session)] == [CallState.COMPLETED]


def test_calls_side_by_side_of_which_one_was_run_are_not_run_again(tmp_path: Path) -> None:
    both = Reply(
        (ToolUse("execute_cmd", {"command": "echo x >> log"}), ToolUse("write_file", {"path": "a", "content": "b"}))
    )
    more = "[[groups]]\nid='default'\n[[groups.rules]]\ntool='execute_cmd'\ncommand='echo *'\naction='allow'\n"
    more += "[[groups.rules]]\ntool='@write'\npath='log'\naction='allow'\n"
    with World(tmp_path, [both, say("done")], rules=more) as world:
        session = world.session()
        turn = world.begin("go", session)
        request = world.waiting()
        until(lambda: len(world.results(session)) == 1 or None)
        world.restart()
        world.service.approving.approve(request.request_id, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert (world.workspace / "log").read_text() == "x\n"
        assert len(world.results(session)) == 2
        assert len(world.models.asked) == 2


def test_a_call_that_ran_when_its_process_ended_is_not_repeated(tmp_path: Path) -> None:
    rules = "[[groups]]\nid='default'\n[[groups.rules]]\ntool='execute_cmd'\naction='allow'\n"
    script = [use("execute_cmd", command="sleep 20"), say("done")]
    with World(tmp_path, script, rules=rules) as world:
        session = world.session()
        turn = world.begin("go", session)
        until(lambda: any(one.state is CallState.RUNNING for one in world.records(session)) or None)
        world.restart()
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        (said,) = world.results(session)
        assert said.startswith("Interrupted")
        assert [one.state for one in world.records(session)] == [CallState.INTERRUPTED]


def test_a_question_waits_on(tmp_path: Path) -> None:
    with World(tmp_path, [use("ask_user", question="Well?"), say("done")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        asked = world.question()
        world.restart()
        assert world.question().request_id == asked.request_id
        world.service.inbox.answer(asked.request_id, "yes", by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert world.results(session) == ["yes"]
        assert world.service.inbox.list().total == 0


def test_a_question_that_was_answered_meanwhile_is_not_asked_again(tmp_path: Path) -> None:
    with World(tmp_path, [use("ask_user", question="Well?"), say("done")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        asked = world.question()
        world._embedded.close()
        world.start()
        world.service.inbox.answer(asked.request_id, "yes", by=PERSON)
        world.restart()
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert world.results(session) == ["yes"]
        assert world.service.inbox.list().total == 0


def test_a_turn_whose_model_had_not_answered_is_asked_again(tmp_path: Path) -> None:
    import threading

    gate = threading.Event()
    held = Reply(say("never seen").pieces, gate=gate)
    with World(tmp_path, [held, say("the second time")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        world.models.wait_for(1)
        world.restart()
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        gate.set()
        assert world.messages(session)[-1].parts[0].text == "the second time"  # type: ignore[union-attr]


def test_a_subagent_whose_process_ended_ends_with_it_and_its_parent_is_told(tmp_path: Path) -> None:
    more = "[agents.eve]\nmodel = 'fake/eve'\n"
    script = {
        "scripted": [use("call_agent", agent="eve", prompt="look"), say("done")],
        "eve": [use("write_file", path="a", content="b")],
    }
    steps = {name: iter(replies) for name, replies in script.items()}
    with World(tmp_path, lambda asked: next(steps[asked.model]), more=more) as world:
        session = world.session()
        turn = world.begin("go", session)
        request = world.waiting()
        assert request.session_id != session
        world.restart()
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert world.results(session)[0].startswith("Interrupted")
        until(lambda: world.service.inbox.list().total == 0 or None)
        assert not (world.workspace / "a").exists()
