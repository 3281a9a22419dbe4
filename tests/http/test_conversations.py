"""Conversations over REST: what is said to an agent, what comes back, and turns that a person stops."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from pydantic import TypeAdapter

from stanch.runtime.scripted_asked import Asked
from stanch.runtime.scripted_reply import Reply, Words, fail, say, use
from stanch.surfaces.http.shown_messages import MessageShown, message_json
from stanch.tiers.dialects.ours import read_message
from stanch.values.message import Message
from stanch.values.turn import MessageRecord
from tests.http.conversing import MODEL, talking
from tests.http.served import AGENTS, CLIENT, KEY, WORKFLOW, World, until
from tests.tiers.drawn_messages import messages

PLACE = ("seq", "turn_id", "created_at")


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """Holds a model's answer back until it is set."""
    gate = threading.Event()
    yield gate
    gate.set()


def told(one: dict[str, Any]) -> Message:
    """The message of an item, as the shape of the library reads it."""
    return read_message({key: value for key, value in one.items() if key not in PLACE})


def test_a_person_speaks_and_the_whole_conversation_is_read(tmp_path: Path) -> None:
    with talking(tmp_path, [use("read_file", saying="I look. ", path="a.txt"), say("done")]) as world:
        session = world.session()
        turn = world.say(session, "please")
        assert (turn["session_id"], turn["asked_by"], turn["surface"]) == (session, "ada", "http")
        assert turn["model"] == MODEL
        until(lambda: world.get(f"/api/turns/{turn['id']}")["state"] == "completed", "the end")
        found = world.messages(session)
        assert [one["seq"] for one in found] == [1, 2, 3, 4]
        assert {one["turn_id"] for one in found} == {turn["id"]}
        assert [one["role"] for one in found] == ["user", "assistant", "tool", "assistant"]
        assert found[0]["parts"] == [{"type": "text", "text": "please"}]
        assert found[1]["parts"][1]["tool"] == "read_file"
        assert found[2]["parts"][0]["content"] == [{"type": "text", "text": "hello\nworld\n"}]
        assert [told(one) for one in found] == world.service.messages.all(session)
        ended = world.get(f"/api/sessions/{session}/turns")
        assert [(one["id"], one["state"], one["problem"]) for one in ended["items"]] == [
            (turn["id"], "completed", None)
        ]
        row = world.get(f"/api/audit?action=turn.begin&subject={turn['id']}")["items"][0]
        assert (row["actor"], row["surface"]) == ("ada", "http")


def test_a_word_mentions_a_file_where_the_caller_says_so(tmp_path: Path) -> None:
    with talking(tmp_path, [say("one"), say("two")]) as world:
        session = world.session()
        world.say(session, "see @a.txt", wait=30)
        world.say(session, "see @a.txt", wait=30, mentions=True)
        said = [one["parts"] for one in world.messages(session) if one["role"] == "user"]
        assert [len(parts) for parts in said] == [1, 2]
        assert "hello" in said[1][1]["text"]
        refused = world.say(session, "see @/etc/passwd", status=422, mentions=True)
        assert "@/etc/passwd" in json.dumps(refused)
        assert len(world.messages(session)) == 4


def test_an_answer_may_be_waited_for(tmp_path: Path, held: threading.Event) -> None:
    with talking(tmp_path, [say("one"), replace(say("two"), gate=held)]) as world:
        session = world.session()
        assert world.say(session, wait=30)["state"] == "completed"
        assert world.messages(session)[-1]["parts"][0]["text"] == "one"
        assert world.say(session, wait=1)["state"] == "running", "the time is up"


def test_whoever_waits_for_an_answer_keeps_nobody_from_giving_one(tmp_path: Path) -> None:
    def answers(asked: Asked) -> Reply:
        return say("done") if asked.body["messages"][-1]["role"] == "tool" else use("execute_cmd", command="true")

    with talking(tmp_path, answers) as world:
        sessions = [world.session() for _ in range(45)]  # more than there are threads
        ended: list[str] = []
        waiting = [
            threading.Thread(target=lambda one=one: ended.append(world.say(one, wait=60)["state"]), daemon=True)
            for one in sessions
        ]
        for thread in waiting:
            thread.start()
        for session in sessions:
            world.post(f"/api/inbox/approvals/{world.asked(session)['request_id']}/resolve", {"action": "approve"})
        for thread in waiting:
            thread.join(60)
        assert ended == ["completed"] * len(sessions)


def test_messages_come_in_pages(tmp_path: Path) -> None:
    with talking(tmp_path, [say("one"), say("two")]) as world:
        session = world.told()
        world.say(session, "and", wait=30)
        path = f"/api/sessions/{session}/messages"
        first = world.get(f"{path}?limit=3")
        rest = world.get(f"{path}?limit=3&cursor={first['next']}")
        assert [one["seq"] for one in first["items"] + rest["items"]] == [1, 2, 3, 4]
        assert (first["total"], rest["next"]) == (4, None)
        assert [one["seq"] for one in world.get(f"{path}?after_seq=2")["items"]] == [3, 4]
        for query in ("after_seq=-1", "after_seq=x", "after_seq=99999999999999999999", "since=1", "limit=0"):
            assert world.client().get(f"{path}?{query}").status_code == 422, query


def test_one_turn_at_a_time_which_a_person_stops(tmp_path: Path, held: threading.Event) -> None:
    with talking(tmp_path, [replace(say("late"), gate=held), say("again")]) as world:
        session = world.session()
        turn = world.say(session)
        world.models.wait_for(1)
        busy = world.say(session, "more", status=409)
        assert turn["id"] in busy["detail"]
        assert "ada" in busy["detail"]
        stopped = world.post(f"/api/turns/{turn['id']}/stop")
        assert (stopped["state"], stopped["problem"]["code"]) == ("stopped", "cancelled")
        assert world.post(f"/api/turns/{turn['id']}/stop", status=409)["type"].endswith("conflict")
        held.set()
        assert world.say(session, "more", wait=30)["state"] == "completed"
        words = [part["text"] for one in world.messages(session) for part in one["parts"]]
        assert words == ["go", "more", "again"]
        states = [one["state"] for one in world.get(f"/api/sessions/{session}/turns")["items"]]
        assert states == ["completed", "stopped"]
        assert world.get(f"/api/sessions/{session}/turns?state=stopped")["total"] == 1


def test_stopping_takes_back_what_the_turn_waits_for(tmp_path: Path) -> None:
    with talking(tmp_path, [use("execute_cmd", command="make"), use("ask_user", question="Which?")]) as world:
        session = world.session()
        turn = world.say(session)
        request = world.asked(session)
        world.post(f"/api/turns/{turn['id']}/stop")
        until(lambda: world.get("/api/inbox")["total"] == 0, "an empty inbox")
        path = f"/api/inbox/approvals/{request['request_id']}/resolve"
        assert world.post(path, {"action": "approve"}, 409)["resolution"]["state"] == "cancelled"
        turn = world.say(session, "then ask")
        until(lambda: bool(world.get("/api/inbox")["clarifications"]), "a question")
        world.post(f"/api/turns/{turn['id']}/stop")
        until(lambda: world.get("/api/inbox")["total"] == 0, "an empty inbox")


def test_a_turn_that_fails_says_why_without_content(tmp_path: Path) -> None:
    with talking(tmp_path, [fail(400, "canary-23 is no request")]) as world:
        turn = world.say(world.session(), wait=30)
        assert (turn["state"], turn["problem"]["code"]) == ("failed", "model_failed")
        assert "400" in turn["problem"]["sentence"]
        assert "canary" not in json.dumps(turn)


def test_what_cannot_begin_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world:
        bare, idle, unknown, ended = (
            world.session(model="gpt-5"),
            world.session(agent_id="idle"),
            world.session(model="nowhere/gpt-5"),
            world.session(),
        )
        world.client().delete(f"/api/sessions/{ended}").raise_for_status()
        for session, status, why in (
            (bare, 409, "names no provider: write it as provider/model"),
            (idle, 409, "[agents.idle]"),
            (unknown, 409, "there is no provider 'nowhere'"),
            (ended, 409, "has ended"),
            ("nobody", 404, "nobody"),
        ):
            assert why in world.say(session, status=status)["detail"]
        session, stored = world.session(), world.dump()
        for body in (
            {},
            {"text": ""},
            {"text": " \n"},
            {"text": 7},
            {"text": "x" * 1_000_001},
            {"text": "x", "to": "y"},
        ):
            said = world.post(f"/api/sessions/{session}/messages", body, 422)
            assert "'text'" in said["detail"] or "'to'" in said["detail"]
        world.post(f"/api/sessions/{session}/messages", {"text": "é" * 600_000}, 413)
        for wait in ("601", "-1", "x", "1.5"):
            assert (
                world.client().post(f"/api/sessions/{session}/messages?wait={wait}", json={"text": "x"}).status_code
                == 422
            )
        assert world.dump() == stored
        assert [world.messages(one) for one in (bare, idle, unknown, ended, session)] == [[]] * 5
        for path in (
            "/api/turns/none",
            "/api/sessions/none/turns",
            "/api/sessions/none/messages",
            "/api/sessions/none/live",
        ):
            assert world.client().get(path).status_code == 404
        world.post("/api/turns/none/stop", status=404)


@pytest.mark.parametrize("model", ["", " ", "/gpt-5", "openai/", " openai/gpt-5", "openai/gpt\u202e"])
def test_a_model_has_a_name_that_can_be_one(world: World, model: str) -> None:
    session, project = world.session(), world.post("/api/projects", {"name": "p"}, 201)["id"]
    for path, body in (
        ("/api/sessions", {"agent_id": "a", "model": model}),
        (f"/api/projects/{project}/session", {"agent_id": "a", "model": model}),
        (f"/api/sessions/{session}/model", {"model": model}),
    ):
        assert world.post(path, body, 422)["errors"][0]["field"] == "model", path
    for fine in ("openai/gpt-5", "gpt-5", "a/b/c:free", None):
        assert world.post(f"/api/sessions/{session}/model", {"model": fine})["model"] == fine


@pytest.mark.parametrize("principal", [*AGENTS, CLIENT, WORKFLOW], ids=lambda one: f"{one.kind}-{one.service_id}")
def test_an_agent_neither_speaks_nor_reads_nor_stops_not_even_in_its_own_session(
    tmp_path: Path, principal: Any, held: threading.Event
) -> None:
    with talking(tmp_path, [replace(say("canary-31"), gate=held)]) as world:
        session = world.session(principal={"kind": "delegated", "id": "ada", "service_id": "coder"})
        turn, client = world.say(session, "canary-32"), world.client(principal)
        for method, path, body in (
            ("POST", f"/api/sessions/{session}/messages", {"text": "more"}),
            ("GET", f"/api/sessions/{session}/messages", None),
            ("GET", f"/api/sessions/{session}/turns", None),
            ("GET", f"/api/sessions/{session}/live", None),
            ("GET", f"/api/turns/{turn['id']}", None),
            ("POST", f"/api/turns/{turn['id']}/stop", {}),
        ):
            reply = client.request(method, path, json=body)
            assert (reply.status_code, "canary" in reply.text) == (403, False), (method, path)
        assert world.get(f"/api/turns/{turn['id']}")["state"] == "running"
        assert world.client(KEY).post(f"/api/turns/{turn['id']}/stop", json={}).status_code == 200


def test_a_message_that_cannot_be_read_is_named_among_the_others(tmp_path: Path) -> None:
    with talking(tmp_path, [say("one")]) as world:
        session = world.told()
        world.rows("UPDATE messages SET body = '{' WHERE seq = 1")
        broken, whole = world.messages(session)
        assert broken["table"] == "messages"
        assert whole["seq"] == 2


@given(messages())
def test_every_message_is_as_described(message: Message) -> None:
    record = MessageRecord(
        number=1, session_id="s", seq=1, created_at=datetime.now(UTC), message=replace(message, id="1")
    )
    TypeAdapter(MessageShown).validate_json(json.dumps(message_json(record)))


def test_what_a_model_wrote_is_shown_as_it_is(tmp_path: Path) -> None:
    words = 'a \u202e "b" \\ \x1b é\n'
    with talking(tmp_path, [Reply((Words(words),))]) as world:
        assert world.messages(world.told())[-1]["parts"][0]["text"] == words
