"""Runs that nobody watches: what would ask is rejected at once, and the end says what was refused."""

from __future__ import annotations

from pathlib import Path

from stanch.runtime.scripted_reply import Reply, ToolUse, say, use
from stanch.values.approval import CallState
from stanch.values.turn import TurnState
from tests.runtime.families import agents, below, by_model
from tests.runtime.world import PERSON, World


def test_what_would_ask_is_rejected_at_once_and_the_model_hears_of_it(tmp_path: Path) -> None:
    script = [
        use("write_file", path="out.txt", content="x"),
        use("ask_user", question="May I?"),
        use("read_file", path="notes.txt"),
        use("read_file", path="denied.txt"),
        say("done"),
    ]
    with World(tmp_path, script) as world:
        session = world.session(approver=False)
        turn = world.ask("go", session)
        assert turn.state is TurnState.COMPLETED
        written, asked, read, denied = world.results(session)
        assert "nobody" in written, written
        assert "nobody who answers" in asked
        assert "buy milk" in read
        assert denied.startswith("Denied by rule")
        assert world.service.inbox.list().total == 0
        refused = world.service.agents.refused(turn.id)
        assert [(one.tool, one.reason["code"]) for one in refused] == [
            ("write_file", "no_approver"), ("read_file", "rule"),
        ]  # fmt: skip
        assert not (world.workspace / "out.txt").exists()


def test_the_list_is_that_of_the_turn_and_of_those_below(tmp_path: Path) -> None:
    both = Reply((ToolUse("write_file", {"path": "a", "content": "x"}), ToolUse("read_file", {"path": "notes.txt"})))
    script = by_model(
        scripted=[
            use("write_file", path="first", content="x"),
            say("one"),
            both,
            use("call_agent", agent="eve", prompt="write"),
            say("two"),
            say("three"),
        ],
        eve=[use("call_agent", agent="fay", prompt="write"), use("execute_cmd", command="make"), say("ok")],
        fay=[use("write_file", path="b", content="x"), say("ok")],
    )
    with World(tmp_path, script, more=agents("eve", "fay")) as world:
        session = world.session(approver=False)
        first, second, third = (world.ask("go", session) for _ in range(3))
        refused = world.service.agents.refused
        assert [one.arguments["path"] for one in refused(first.id)] == ["first"]
        assert [one.arguments.get("path", "make") for one in refused(second.id)] == ["a", "b", "make"]
        assert refused(third.id) == []
        eve, fay = below(world, session)
        assert (eve.approver, fay.approver) == (False, False)
        (its,) = world.service.turn_log.list(fay.id).items
        assert [one.session_id for one in refused(its.id)] == [fay.id]


def test_where_somebody_is_there_the_list_holds_what_they_rejected(tmp_path: Path) -> None:
    with World(tmp_path, [use("write_file", path="out.txt", content="x"), say("well")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        request = world.waiting()
        assert world.service.agents.refused(turn.id) == []
        world.service.approving.reject(request.request_id, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert [one.state for one in world.service.agents.refused(turn.id)] == [CallState.REJECTED]
