"""A session as it goes on: what is told, in which order, from where a follower stopped, and from other nodes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stanch.app.service import Service
from stanch.runtime.live import Kind
from stanch.runtime.scripted_reply import say, use
from stanch.storage.store import Store
from stanch.surfaces import following
from stanch.surfaces.http import live
from stanch.values.message import Message, Role, Text
from tests.http.conversing import Event, Follower, Talk, talking
from tests.http.served import BY, SECONDS

Follow = Callable[..., Follower]


@pytest.fixture
def follow() -> Iterator[Follow]:
    """Follows a session."""
    made: list[Follower] = []

    def begin(world: Talk, session: str, query: str = "", **headers: str) -> Follower:
        made.append(Follower(world, session, query, **headers))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def names(events: list[Event]) -> list[str]:
    return [one.event for one in events]


def seqs(events: list[Event]) -> list[int | None]:
    return [one.id for one in events if one.event == "message"]


def add(world: Talk, session: str, text: str = "x") -> None:
    world.service.messages.add(session, Message(Role.USER, (Text(text),)))


def test_a_turn_is_told_from_its_words_to_its_end(tmp_path: Path, follow: Follow) -> None:
    script = [
        use("read_file", saying="I look. ", path="a.txt"),
        use("execute_cmd", command="true"),
        use("ask_user", question="Which?", choices=["this", "that"]),
        say("All of it is done now."),
    ]
    with talking(tmp_path, script) as world:
        session = world.session()
        follower = follow(world, session)
        turn = world.say(session)
        told = follower.until("call", tool="execute_cmd", state="awaiting_approval")
        world.post(f"/api/inbox/approvals/{told[-1].data['request_id']}/resolve", {"action": "approve"})
        told += follower.until("question")
        assert told[-1].data["choices"] == ["this", "that"]
        world.post(f"/api/inbox/clarifications/{told[-1].data['request_id']}/resolve", {"answer": "this"})
        told += follower.until("turn", state="completed")
        assert seqs(told) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert told[-1].data["id"] == turn["id"]
        written = "".join(one.data["text"] for one in told if one.event == "text")
        assert written == "I look. All of it is done now."
        # Words of an answer come before it is stored, and none of them after it.
        last = [at for at, one in enumerate(told) if one.event == "text"][-1]
        assert last < next(at for at, one in enumerate(told) if one.id == 8)
        first = next(at for at, one in enumerate(told) if one.event == "text")
        assert first < next(at for at, one in enumerate(told) if one.id == 2)
        states = [one.data["state"] for one in told if one.event == "call" and one.data["tool"] == "execute_cmd"]
        assert states == ["awaiting_approval", "running", "completed"]
        assert [one.data for one in told if one.event == "message"] == world.messages(session)


def test_a_follower_goes_on_where_it_stopped(tmp_path: Path, follow: Follow) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        for _ in range(3):
            add(world, session)
        followers = [
            (follow(world, session, "?after_seq=0"), [1, 2, 3, 4]),
            (follow(world, session, **{"Last-Event-ID": "1"}), [2, 3, 4]),
            (follow(world, session, "?after_seq=0", **{"Last-Event-ID": "2"}), [3, 4]),
            (follow(world, session), [4]),
            (follow(world, session, "?after_seq=99"), [4]),
        ]
        add(world, session)
        for follower, wanted in followers:
            assert [follower.events.get(timeout=SECONDS).id for _ in wanted] == wanted


def test_words_of_a_message_that_was_told_already_are_not_told_behind_it(tmp_path: Path, follow: Follow) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        follower, tell = follow(world, session), world.service.agents.happenings.tell
        add(world, session)
        follower.until("message")
        world.service.messages.add(session, Message(Role.ASSISTANT, (Text("late"),), model="a/b"))
        follower.until("message")
        tell(session, Kind.TEXT, text="late")
        tell(session, Kind.MESSAGE, role="assistant")
        tell(session, Kind.TEXT, text="next")
        assert [one.data["text"] for one in follower.until("text")] == ["next"]


def test_none_is_left_out_of_many(tmp_path: Path, follow: Follow) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        world.service.messages.add_all(session, [Message(Role.USER, (Text(str(at)),)) for at in range(250)])
        follower = follow(world, session, "?after_seq=5")
        assert [follower.events.get(timeout=SECONDS).id for _ in range(245)] == list(range(6, 251))


def test_another_node_adds_messages_and_ends_turns(tmp_path: Path, follow: Follow) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        follower = follow(world, session)
        store = Store.open(world.store_url)
        other = Service.open(store=store, policy=world.policy, workspace=world.workspace)
        try:
            turn = other.turn_log.begin(session, [Message(Role.USER, (Text("hi"),))], by=BY)
            told = follower.until("turn", state="running")
            other.messages.add(session, Message(Role.ASSISTANT, (Text("ho"),), model="a/b"), turn.id)
            other.turn_log.stop(turn.id, by=BY)
            told += follower.until("turn", state="stopped")
        finally:
            other.close()
            store.close()
        assert seqs(told) == [1, 2]
        assert told[-1].data["problem"]["code"] == "cancelled"


def test_whoever_comes_late_is_told_how_the_newest_turn_stands(tmp_path: Path, follow: Follow) -> None:
    gate = threading.Event()
    with talking(tmp_path, [say("one"), replace(say("two"), gate=gate)]) as world:
        session = world.told()
        assert names(follow(world, session).until("turn", state="completed")) == ["turn"]
        world.say(session, "more")
        late = follow(world, session)
        late.until("turn", state="running")
        gate.set()
        told = late.until("turn", state="completed")
        assert [one.data["text"] for one in told if one.event == "text"] == ["two"]
        assert seqs(told) == [4]


def test_a_message_that_cannot_be_read_is_told_as_that_once(tmp_path: Path, follow: Follow) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        for _ in range(3):
            add(world, session)
        world.rows("UPDATE messages SET body = '{' WHERE seq = 2")
        follower = follow(world, session, "?after_seq=0")
        told = [follower.events.get(timeout=SECONDS) for _ in range(3)]
        assert [(one.id, one.event) for one in told] == [(1, "message"), (2, "broken"), (3, "message")]
        add(world, session)
        assert follower.events.get(timeout=SECONDS).id == 4


def test_nothing_of_another_session_is_told(tmp_path: Path, follow: Follow) -> None:
    with talking(tmp_path, [say("canary-41")]) as world:
        mine = world.session()
        follower = follow(world, mine)
        world.told("canary-42")
        add(world, mine)
        (one,) = follower.until("message")
        assert "canary" not in str(one)


def test_a_stream_ends_when_its_token_is_revoked(
    tmp_path: Path, follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.1)
    with talking(tmp_path, []) as world:
        follower = follow(world, world.session())
        token = world.get("/api/tokens")["items"][0]["id"]
        world.client().delete(f"/api/tokens/{token}").raise_for_status()
        assert follower.ended.wait(SECONDS)


def test_a_stream_ends_when_the_server_does(tmp_path: Path, follow: Follow) -> None:
    with talking(tmp_path, []) as world:
        follower = follow(world, world.session())
        world.service.events.close()
        assert follower.ended.wait(SECONDS)


@pytest.mark.parametrize("query", ["?after_seq=x", "?after_seq=-1", "?since=1", "?after_seq=99999999999999999999"])
def test_a_place_that_is_none_is_refused(tmp_path: Path, query: str) -> None:
    with talking(tmp_path, []) as world:
        path = f"/api/sessions/{world.session()}/live"
        assert world.client().get(f"{path}{query}").status_code == 422
        assert world.client().get(path, headers={"Last-Event-ID": "x"}).status_code == 422
