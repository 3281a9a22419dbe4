"""The pages of sessions over HTTP: the list, one session from its first word to its last, and its forms."""

from __future__ import annotations

import html
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stanch.runtime.scripted_asked import Asked
from stanch.runtime.scripted_reply import Reply, Thought, Words, fail, say, use
from stanch.values.message import Call, File, Message, Result, Role, Text
from tests.console.visitors import Visitor, asking
from tests.http.conversing import Talk, talking
from tests.http.served import BY, KEY, until

HOSTILE = '<script>alert("x")</script> \u202egnp.exe \u200b\u2066 \x1b[31mred\x07 שלום'
PAGE = "/console/sessions"


def page(world: Talk, session: str, query: str = "") -> str:
    """A session's page, as a person who is logged in reads it."""
    with Visitor(world) as visitor:
        return visitor.get(f"{PAGE}/{session}{query}")


def in_order(text: str, *wanted: str) -> None:
    """Fails unless these stand in the text, one behind the other."""
    at = 0
    for one in wanted:
        found = text.find(one, at)
        assert found >= 0, f"{one!r} is not there, or not behind the one before it"
        at = found + len(one)


def add(world: Talk, session: str, *messages: Message) -> None:
    world.service.messages.add_all(session, messages)


def test_an_empty_list_says_so_and_offers_to_begin(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world, Visitor(world) as visitor:
        text = visitor.get(PAGE)
        in_order(text, 'aria-current="page">Sessions', '<details class="new card" open>', "There is no session yet")
        assert 'value="coder"' in text
        assert '<option value="fake/scripted">' in text


def test_the_list_says_of_each_session_how_it_stands(tmp_path: Path) -> None:
    script = [say("one"), use("execute_cmd", command="make"), fail(400, "no")]
    with talking(tmp_path, script) as world:
        done = world.told("the first thing")
        waits = world.session(source="cli")
        world.say(waits, "the second\nthing")
        world.asked(waits)
        failed = world.session()
        world.say(failed, "the third thing", wait=30)
        elsewhere = world.session(agent_id="claude", model="gpt-5")
        asking(world, "execute_cmd", {"command": "make"}, session_id=elsewhere)
        child = world.session(agent_id="helper", parent_id=done)
        with Visitor(world) as visitor:
            text = visitor.get(PAGE)
            assert visitor.get(f"{PAGE}-rows").strip() in text
        in_order(
            *(text, f"session-{elsewhere}", "1 waits", "claude", "gpt-5"),
            *(f"session-{failed}", "the third thing", "failed"),
            *(f"session-{waits}", "the second thing", "1 waits", "at work", "cli", "fake/scripted", "trusted"),
            *(f"session-{done}", "the first thing", "completed"),
            *('<ol class="below"', f"session-{child}", "helper"),
        )


def test_a_session_is_read_from_its_first_word_to_its_last(tmp_path: Path) -> None:
    script = [
        use("read_file", saying="I look.", path="a.txt"),
        use("read_file", path="secrets/key"),
        use("execute_cmd", command="printf 'it ran\\n'"),
        use("write_file", path="b.txt", content="x"),
        use("ask_user", question="Which branch?", choices=["main", "next"]),
        Reply((Thought("hm, hm"), Words("All done."))),
        fail(400, "no"),
    ]
    with talking(tmp_path, script) as world:
        session = world.session()
        turn = world.say(session, "please go")
        resolve = "/api/inbox/approvals/{}/resolve".format
        body: dict[str, Any] = {"action": "approve", "note": "this once", "bypass_secs": 60}
        world.post(resolve(world.asked(session)["request_id"]), body | {"arguments": {"command": "printf 'edited\\n'"}})
        until(lambda: world.get("/api/inbox")["total"] == 1, "the next request")
        world.post(resolve(world.asked(session)["request_id"]), {"action": "reject", "note": "not that file"})
        until(lambda: bool(world.get("/api/inbox")["clarifications"]), "the question")
        question = world.get("/api/inbox")["clarifications"][0]["request_id"]
        world.post(f"/api/inbox/clarifications/{question}/resolve", {"answer": "next"})
        until(lambda: world.get(f"/api/turns/{turn['id']}")["state"] == "completed", "the end")
        world.post(f"/api/sessions/{session}/model", {"model": "fake/other"})
        world.set_context(f"/api/sessions/{session}/run_context", {"allow_fs_writes": ["out"]})
        world.say(session, "and now?", wait=30)
        world.client().delete(f"/api/sessions/{session}").raise_for_status()
        text = html.unescape(page(world, session))
    in_order(
        *(
            text,
            "The model is fake/scripted, as the policy file says",
            "please go",
            "fake/scripted",
            "trusted",
            "I look.",
        ),
        *("read_file", "allowed", "a.txt", "Rule 2 of default", "Result", "hello"),
        *("read_file", "denied", "secrets/key", "Rule 1 of default"),
        *("execute_cmd", "approved", "edited", "printf 'edited", "nobody has said yes", "Rule 5 of default"),
        *("Approved by ada (http)", "this once", "Result", "edited"),
        *("ada gave a bypass: shell calls are not asked about until",),
        *("write_file", "rejected", "Rejected by ada (http)", "not that file"),
        *("Which branch?", "main", "next", "Answered by ada"),
        *("What it thought", "hm, hm", "All done."),
        *("ada (http) set the model to fake/other", "another context", "may write"),
        *("and now?", "The turn failed: fake/other answered with the status 400"),
        *("ada (http) ended the session",),
    )
    assert "it ran" not in text
    assert 'id="speak"' not in text, "an ended session is told nothing"


def test_a_call_that_waits_is_answered_right_there(tmp_path: Path) -> None:
    with talking(tmp_path, [use("execute_cmd", command="make test"), say("done")]) as world, Visitor(world) as visitor:
        session = world.session()
        turn = world.say(session)
        request = world.asked(session)["request_id"]
        text = visitor.get(f"{PAGE}/{session}")
        in_order(text, "at work", 'name="turn"', f'id="card-{request}"', "make test", "Approve")
        visitor.send(f"/console/inbox/approvals/{request}", in_page=True, action="approve")
        until(lambda: world.get(f"/api/turns/{turn['id']}")["state"] == "completed", "the end")
        piece = visitor.get(f"{PAGE}/{session}/timeline")
        assert f"card-{request}" not in piece
        in_order(piece, "make test", "Approved by ada (console)", "done", '<hx-partial hx-target="#state"', "completed")


@pytest.mark.parametrize("path", ["", "/timeline", "/timeline?nested=1"])
def test_hostile_text_is_neither_markup_nor_out_of_sight(tmp_path: Path, path: str) -> None:
    with talking(tmp_path, []) as world:
        session = world.session(agent_id="agent \u202e<b>")
        asking(world, "mcp__github__create_issue", {"title": HOSTILE, HOSTILE: [HOSTILE]}, session_id=session)
        world.service.inbox.ask(session, HOSTILE, choices=[HOSTILE], by=BY)
        add(
            world,
            session,
            Message(Role.USER, (Text(HOSTILE),)),
            Message(
                Role.ASSISTANT,
                (Text(HOSTILE), Call("c1", HOSTILE, {HOSTILE: HOSTILE}), File(HOSTILE, "eA==", name=HOSTILE)),
                model=f"a/{HOSTILE}",
            ),
            Message(Role.TOOL, (Result("c1", (Text(HOSTILE),), HOSTILE),)),
        )
        text = page(world, session, path)
        for shown in ("\\u202e", "&lt;script&gt;", "U+202E RIGHT-TO-LEFT OVERRIDE", "invisible characters"):
            assert shown in text, shown
        with Visitor(world) as visitor:
            listed = visitor.get(PAGE)
        for one in (text, listed):
            assert "<script>alert" not in one
            assert not {"\u2066", "\u200b", "\u202e", "\x1b", "\x07"} & set(one)


def test_a_long_result_is_cut_and_all_of_it_is_one_step_away(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world, Visitor(world) as visitor:
        session, other = world.session(), world.session()
        long = "\n".join(f"line {at} <i>" for at in range(500))
        add(
            world,
            session,
            Message(Role.ASSISTANT, (Call("c1", "read_file", {"path": "a.txt"}),), model="a/b"),
            Message(Role.TOOL, (Result("c1", (Text(long),), "read_file"),)),
        )
        text = visitor.get(f"{PAGE}/{session}")
        assert "line 29 " in text
        assert "line 30 " not in text
        assert "500 lines" in text
        found = re.search(rf'hx-get="({PAGE}/{session}/messages/2/0)"', text)
        assert found is not None
        whole = visitor.get(found[1])
        assert "line 499 &lt;i&gt;" in whole
        assert "<html" in whole
        reply = visitor.client.get(found[1], headers={"HX-Request": "true"})
        assert "<html" not in reply.text
        assert "line 499" in reply.text
        for path in (
            f"{session}/messages/9/0",
            f"{session}/messages/2/7",
            f"{session}/messages/x/0",
            f"{other}/messages/2/0",
        ):
            visitor.get(f"{PAGE}/{path}", 404)


def test_a_long_session_comes_in_parts(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world, Visitor(world) as visitor:
        session = world.session()
        for start in (0, 100, 200):
            add(world, session, *(Message(Role.USER, (Text(f"word {at}."),)) for at in range(start, start + 90)))
        newest = visitor.get(f"{PAGE}/{session}")
        in_order(newest, "?before=171", "word 180.", "word 289.")
        before = visitor.get(f"{PAGE}/{session}?before=171")
        in_order(before, "?before=71", "word 70.", "word 179.", "The newest part")
        assert "word 289." not in before
        assert "hx-sse:connect" not in before
        assert visitor.get(f"{PAGE}/{session}?before=x")


def test_calls_of_an_agent_that_keeps_its_conversation_elsewhere_are_shown(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world:
        session = world.session(agent_id="claude")
        for command in ("first", "second"):
            asked = asking(world, "execute_cmd", {"command": command}, session_id=session)
            world.service.approving.reject(asked.request_id, note=None, by=BY)
        in_order(page(world, session), "rejected", "first", "rejected", "second")


def test_a_subagents_session_stands_in_its_parents(tmp_path: Path) -> None:
    def answers(asked: Asked) -> Reply:
        messages = asked.body["messages"]
        if "count it" in str(messages[1]):
            return say("two")
        return say("done") if messages[-1]["role"] == "tool" else use("call_agent", agent="helper", prompt="count it")

    with talking(tmp_path, answers) as world, Visitor(world) as visitor:
        session = world.told()
        child = world.get(f"/api/sessions?parent_id={session}")["items"][0]["id"]
        text = visitor.get(f"{PAGE}/{session}")
        in_order(text, "call_agent", f'id="below-{child}"', "helper", "completed", f"{PAGE}/{child}/timeline?nested=1")
        nested = visitor.get(f"{PAGE}/{child}/timeline?nested=1")
        in_order(nested, "the agent above it", "count it", "two")
        assert "hx-partial" not in nested
        in_order(visitor.get(f"{PAGE}/{child}"), f'href="{PAGE}/{session}"', "helper")


# --- forms -----------------------------------------------------------------------------------------------------------


def test_a_person_begins_a_session_and_speaks(tmp_path: Path) -> None:
    with talking(tmp_path, [say("one"), say("two")]) as world, Visitor(world) as visitor:
        reply = visitor.client.post(PAGE, data={"key": visitor.key, "agent": "coder", "model": "", "text": "a\r\nb"})
        assert reply.status_code == 303
        session = reply.headers["location"].rpartition("/")[2]
        made = world.get(f"/api/sessions/{session}")
        assert (made["source"], made["principal"]["service_id"]) == ("web", "copilot")
        until(lambda: world.get(f"/api/sessions/{session}/turns?state=completed")["total"] == 1, "an answer")
        assert world.messages(session)[0]["parts"][0]["text"] == "a\nb"
        assert "<textarea" in visitor.send(f"{PAGE}/{session}/say", in_page=True, text="more")
        until(lambda: world.get(f"/api/sessions/{session}/turns?state=completed")["total"] == 2, "an answer")
        row = world.get("/api/audit?action=turn.begin&order=newest")["items"][0]
        assert (row["actor"], row["surface"]) == ("ada", "console")


def test_what_cannot_be_said_stays_in_its_form(tmp_path: Path) -> None:
    gate = threading.Event()
    with talking(tmp_path, [replace(say("one"), gate=gate)]) as world, Visitor(world) as visitor:
        session = world.session()
        world.say(session)
        for in_page in (True, False):
            said = visitor.send(f"{PAGE}/{session}/say", 409, in_page=in_page, text="and <this>")
            in_order(said, "has a turn under way", "and &lt;this&gt;</textarea>")
        assert "Write something." in visitor.send(f"{PAGE}/{session}/say", 422, in_page=True, text=" \r\n")
        said = visitor.send(PAGE, 409, agent="idle", model="", text="go <on>")
        in_order(said, "has no model", "go &lt;on&gt;</textarea>")
        for agent, model, why in ((" ", "", "Name an agent."), ("a", "/x", "names no model")):
            in_order(visitor.send(PAGE, 422, agent=agent, model=model, text="keep me"), why, "keep me</textarea>")
        gate.set()


def test_a_person_stops_a_turn_of_that_session_and_no_other(tmp_path: Path) -> None:
    with talking(tmp_path, [use("execute_cmd", command="make")]) as world, Visitor(world) as visitor:
        session, other = world.session(), world.session()
        turn = world.say(session)["id"]
        world.asked(session)
        visitor.send(f"{PAGE}/{other}/stop", 404, in_page=True, turn=turn)
        assert world.get(f"/api/turns/{turn}")["state"] == "running"
        assert "You stopped the turn" in visitor.send(f"{PAGE}/{session}/stop", in_page=True, turn=turn)
        assert world.get(f"/api/turns/{turn}")["state"] == "stopped"
        assert "stopped" in visitor.send(f"{PAGE}/{session}/stop", 409, in_page=True, turn=turn)
        in_order(page(world, session), "taken back", "The turn was stopped: Stopped by ada")


def test_another_model_is_set(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world, Visitor(world) as visitor:
        session = world.session()
        assert "from now on" in visitor.send(f"{PAGE}/{session}/model", in_page=True, model="fake/other")
        assert world.get(f"/api/sessions/{session}")["model"] == "fake/other"
        assert "names no model" in visitor.send(f"{PAGE}/{session}/model", 422, in_page=True, model="/")
        assert world.get(f"/api/sessions/{session}")["model"] == "fake/other"


def test_every_form_needs_its_logins_key_and_a_session_that_is_there(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world, Visitor(world) as visitor, Visitor(world, KEY) as key:
        session = world.session()
        turns = world.rows("SELECT id FROM turns")
        for path in (PAGE, f"{PAGE}/{session}/say", f"{PAGE}/{session}/stop", f"{PAGE}/{session}/model"):
            fields = {"agent": "coder", "text": "go", "model": "a/b", "turn": "t"}
            for wrong in ({}, {"key": "x"}, {"key": key.key}):
                assert visitor.client.post(path, data={**fields, **wrong}).status_code == 403, path
            elsewhere = visitor.client.post(
                path, data={**fields, "key": visitor.key}, headers={"Origin": "http://evil"}
            )
            assert elsewhere.status_code == 403
        for path in ("", "/timeline", "/messages/1/0", "/stream"):
            visitor.get(f"{PAGE}/none{path}", 404)
        visitor.send(f"{PAGE}/none/say", 404, text="go")
        assert world.rows("SELECT id FROM turns") == turns
        assert world.get("/api/sessions")["total"] == 1


def test_a_message_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        add(world, session, Message(Role.USER, (Text("one"),)), Message(Role.USER, (Text("two"),)))
        world.rows("UPDATE messages SET body = '{' WHERE seq = 1")
        in_order(page(world, session), "of messages cannot be read", "two")


def test_a_message_that_is_gone_hides_no_other(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world, Visitor(world) as visitor:
        session = world.session()
        add(world, session, *(Message(Role.USER, (Text(f"word {at}."),)) for at in range(1, 4)))
        world.rows("DELETE FROM messages WHERE seq = 2")
        in_order(visitor.get(f"{PAGE}/{session}"), "word 1.", "word 3.")
        visitor.get(f"{PAGE}/{session}/messages/2/0", 404)
