"""Turns of an agent, from a person's words to its last, over real HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.runtime.scripted_reply import Reply, ToolUse, Words, fail, say, use
from stanch.values.approval import CallState
from stanch.values.fault import Conflict
from stanch.values.message import Origin, Role
from stanch.values.turn import TurnState
from tests.runtime.world import PERSON, World, until

DIALECTS = ("openai", "openai-responses", "anthropic")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_reads_is_refused_and_ends(tmp_path: Path, dialect: str) -> None:
    script = [
        use("read_file", path="notes.txt", saying="Let me look."),
        use("read_file", path="secrets/key.txt"),
        use("no_such_tool", x=1),
        say("All done."),
    ]
    with World(tmp_path, script, dialect=dialect) as world:
        session = world.session()
        turn = world.ask("what do my notes say?", session)
        assert turn.state is TurnState.COMPLETED, turn.problem
        first, second, third = world.results(session)
        assert "buy milk" in first
        assert second.startswith("Denied by rule 1")
        assert "marker" not in second
        assert "no_such_tool" in third
        assert world.messages(session)[-1].parts[0].text == "All done."  # type: ignore[union-attr]
        assert [one.state for one in world.records(session)] == [CallState.COMPLETED, CallState.REJECTED]
        assert b"marker secret" not in world.models.raw()
        # What the model is sent is what is stored, and the next turn goes on with it.
        assert b"buy milk" in world.models.requests[-1].raw


@pytest.mark.parametrize("tool", ["grep_files", "list_files"])
def test_a_search_from_the_root_leaks_nothing(tmp_path: Path, tool: str) -> None:
    arguments = {"pattern": "marker"} if tool == "grep_files" else {"pattern": "**/*"}
    with World(tmp_path, [use(tool, path=".", **arguments), say("ok")]) as world:
        session = world.session()
        assert world.ask("search", session).state is TurnState.COMPLETED
        (found,) = world.results(session)
        assert "open.txt" in found
        assert "notes.txt" in found
        for hidden in ("denied.txt", "key.txt", "more.txt", "marker denied", "marker secret"):
            assert hidden not in found
        assert "3 files withheld" in found.replace("entries", "files") or "withheld" in found
        assert b"marker denied" not in world.models.raw()
        assert b"marker secret" not in world.models.raw()


def test_results_are_marked_with_what_they_came_from(tmp_path: Path) -> None:
    script = [use("read_file", path="notes.txt"), use("grep_files", pattern="marker", path="."), say("ok")]
    with World(tmp_path, script) as world:
        session = world.session()
        world.ask("go", session)
        tags = [
            tag
            for message in world.messages(session)
            if message.role is Role.TOOL
            for p in message.parts
            for tag in p.tags
        ]
        names = {tag.name for tag in tags}
        assert names == {str(world.workspace / "notes.txt"), str(world.workspace / "deep/down/open.txt")}
        assert all(tag.origin is Origin.PATH for tag in tags)


def test_an_ask_waits_for_a_person_and_goes_on(tmp_path: Path) -> None:
    script = [use("write_file", path="out.txt", content="hello"), say("written")]
    with World(tmp_path, script) as world:
        session = world.session()
        turn = world.begin("write it", session)
        request = world.waiting()
        assert request.session_id == session
        assert not (world.workspace / "out.txt").exists()
        world.service.approving.approve(request.request_id, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert (world.workspace / "out.txt").read_text() == "hello"


def test_a_rejected_call_tells_the_model_why(tmp_path: Path) -> None:
    with World(tmp_path, [use("write_file", path="out.txt", content="hello"), say("well")]) as world:
        session = world.session()
        turn = world.begin("write it", session)
        world.service.approving.reject(world.waiting().request_id, note="not on a Monday", by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        (said,) = world.results(session)
        assert "not on a Monday" in said
        assert not (world.workspace / "out.txt").exists()


def test_an_edited_call_runs_as_it_was_edited(tmp_path: Path) -> None:
    from stanch.app.approving import Edit

    with World(tmp_path, [use("write_file", path="out.txt", content="hello"), say("well")]) as world:
        turn = world.begin("write it")
        edit = Edit(arguments={"path": "out.txt", "content": "goodbye"})
        world.service.approving.approve(world.waiting().request_id, edit=edit, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert (world.workspace / "out.txt").read_text() == "goodbye"


def test_calls_side_by_side_are_each_judged_and_each_answered(tmp_path: Path) -> None:
    three = Reply(
        (
            ToolUse("read_file", {"path": "notes.txt"}, "same"),
            ToolUse("read_file", {"path": "deep/down/open.txt"}, "same"),
            ToolUse("read_file", {"path": "denied.txt"}, "other"),
        )
    )
    with World(tmp_path, [three, say("ok")], dialect="openai") as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        assert len({call.id for call in world.calls(session)}) == 3
        results = world.results(session)
        assert sorted("marker one" in one for one in results) == [False, False, True]
        assert sorted("marker open" in one for one in results) == [False, False, True]


def test_an_agent_asks_a_person(tmp_path: Path) -> None:
    with World(tmp_path, [use("ask_user", question="Tea or coffee?", choices=["tea", "coffee"]), say("ok")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        asked = world.question()
        assert asked.choices == ("tea", "coffee")
        world.service.inbox.answer(asked.request_id, "tea", by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert world.results(session) == ["tea"]


def test_a_command_runs_where_the_session_works(tmp_path: Path) -> None:
    with World(tmp_path, [use("execute_cmd", command="echo $PWD"), say("ok")]) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        (said,) = world.results(session)
        assert said.startswith(str(world.workspace))
        assert "exit code 0" in said


def test_one_turn_at_a_time(tmp_path: Path) -> None:
    with World(tmp_path, [use("ask_user", question="Well?"), say("ok")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        asked = world.question()
        with pytest.raises(Conflict):
            world.begin("and this", session)
        world.service.inbox.answer(asked.request_id, "yes", by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED


def test_a_stopped_turn_takes_its_call_out_of_the_inbox_and_the_session_goes_on(tmp_path: Path) -> None:
    with World(tmp_path, [use("write_file", path="a", content="b"), say("again")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        request = world.waiting()
        assert world.service.agents.stop(turn.id, by=PERSON).state is TurnState.STOPPED
        assert until(lambda: world.service.inbox.list().total == 0 or None)
        with pytest.raises(Conflict):
            world.service.approving.approve(request.request_id, by=PERSON)
        assert world.ask("once more", session).state is TurnState.COMPLETED
        assert [message.role for message in world.messages(session)] == [
            Role.USER,
            Role.ASSISTANT,
            Role.TOOL,
            Role.USER,
            Role.ASSISTANT,
        ]
        assert "Stopped" in world.results(session)[0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_failing_model_ends_the_turn_in_words_without_content(tmp_path: Path, dialect: str) -> None:
    with World(tmp_path, [fail(400, "echo: marker of the answer")], dialect=dialect) as world:
        turn = world.ask("go")
        assert turn.state is TurnState.FAILED
        assert turn.problem is not None
        assert turn.problem.code == "model_failed"
        assert "400" in turn.problem.sentence
        assert "marker" not in turn.problem.sentence


def test_no_answer_at_all_ends_the_turn(tmp_path: Path) -> None:
    with World(
        tmp_path,
        [say("never")],
        more="[agents.eve]\nmodel = 'dead/x'\n[providers.dead]\ndialect = 'openai'\nbase_url = 'http://127.0.0.1:9'\n",
    ) as world:
        turn = world.ask("go", world.session("eve"))
        assert turn.state is TurnState.FAILED
        assert turn.problem is not None
        assert turn.problem.code == "model_failed"
        assert "dead/x" in turn.problem.sentence


def test_a_session_without_a_model_is_told_so_before_anything_is_stored(tmp_path: Path) -> None:
    with World(tmp_path, []) as world:
        session = world.session("nobody")
        with pytest.raises(Conflict, match="has no model"):
            world.begin("go", session)
        assert world.messages(session) == []


def test_what_a_rule_refuses_by_name_is_not_offered(tmp_path: Path) -> None:
    rules = "[[groups]]\nid = 'default'\n[[groups.rules]]\ntool = 'execute_cmd'\naction = 'deny'\n"
    with World(tmp_path, [use("execute_cmd", command="echo hi"), say("ok")], rules=rules) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        offered = [tool["function"]["name"] for tool in world.models.bodies()[0]["tools"]]
        assert "execute_cmd" not in offered
        assert "read_file" in offered
        assert "hi" not in world.results(session)[0]
        assert world.records(session) == []


def test_a_turn_that_never_ends_is_ended(tmp_path: Path) -> None:
    more = "[agents.eve]\nmodel = 'fake/scripted'\nmost_steps = 3\n"
    with World(tmp_path, lambda _: use("read_file", path="notes.txt"), more=more) as world:
        turn = world.ask("go", world.session("eve"))
        assert turn.state is TurnState.FAILED
        assert turn.problem is not None
        assert turn.problem.code == "too_many_steps"
        assert len(world.models.asked) == 3


def test_words_and_a_call_in_one_answer_are_both_kept(tmp_path: Path) -> None:
    both = Reply((Words("Reading."), ToolUse("read_file", {"path": "notes.txt"})))
    with World(tmp_path, [both, say("ok")]) as world:
        session = world.session()
        world.ask("go", session)
        kinds = [type(part).__name__ for part in world.messages(session)[1].parts]
        assert kinds == ["Text", "Call"]


@pytest.mark.parametrize("odd", ["x" * 513, "x\0y", "x\ud800"])
def test_an_id_that_no_store_can_hold_ends_neither_the_turn_nor_the_session(tmp_path: Path, odd: str) -> None:
    script = [Reply((ToolUse("read_file", {"path": "notes.txt"}, id=odd),)), say("done"), say("again")]
    with World(tmp_path, script) as world:
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        assert "marker one" in world.results(session)[0]
        assert world.ask("and again", session).state is TurnState.COMPLETED
