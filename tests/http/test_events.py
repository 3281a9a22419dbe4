"""The stream of events: what happens, in order, from where a listener stopped, on every node, until the server ends."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from stanch.storage.store import Store
from stanch.surfaces.http import events
from stanch.values.identity import Source
from tests.http.served import BY, PERSON, PLAIN, SECONDS, World, served, until
from tests.http.test_calls import resolve, started, submitted


class Event(NamedTuple):
    """One event as it came."""

    id: int
    event: str
    data: Any


class Listener:
    """Who listens to a stream, in a thread of its own."""

    def __init__(self, world: World, query: str = "", **headers: str) -> None:
        self.events: queue.Queue[Event] = queue.Queue()
        self.comments: list[str] = []
        self.ended = threading.Event()
        self.ready = threading.Event()
        token = world.client().headers["Authorization"]
        self._client = httpx2.Client(
            base_url=world.url, headers={"Authorization": token, **headers}, timeout=SECONDS, verify=PLAIN
        )
        self._response: Any = None
        self._thread = threading.Thread(target=self._run, args=(f"/api/events{query}",), daemon=True)
        self._thread.start()
        assert self.ready.wait(SECONDS)

    def _run(self, path: str) -> None:
        try:
            with self._client.stream("GET", path) as response:
                self._response = response
                assert response.status_code == 200, response.read()
                self._read(response)
        except httpx2.HTTPError:
            pass
        finally:
            self.ready.set()
            self.ended.set()

    def _read(self, response: Any) -> None:
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line.startswith(":"):
                self.comments.append(line)
                self.ready.set()
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                self.events.put(Event(int(fields["id"]), fields["event"], json.loads(fields["data"])))
                fields = {}

    def next(self) -> Event:
        """The next event."""
        return self.events.get(timeout=SECONDS)

    def until(self, action: str) -> list[Event]:
        """The events up to and with the next of this action."""
        found = [self.next()]
        while found[-1].event != action:
            found.append(self.next())
        return found

    def close(self) -> None:
        """Goes. WHY not by closing alone: that would wait for the thread that reads."""
        if self._response is not None and not self.ended.is_set():
            self._response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._client.close()
        self._thread.join(SECONDS)


@pytest.fixture
def listen(world: World) -> Iterator[Callable[..., Listener]]:
    """Listens to the stream."""
    with _listening() as begin:
        yield lambda *words, **headers: begin(world, *words, **headers)


@contextmanager
def _listening() -> Iterator[Callable[..., Listener]]:
    made: list[Listener] = []

    def begin(world: World, *words: str, **headers: str) -> Listener:
        made.append(Listener(world, *words, **headers))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def test_what_happens_is_told_in_order_with_names_only(world: World, listen: Callable[..., Listener]) -> None:
    listener = listen()
    session = world.session()
    made = submitted(world, session, arguments={"path": "a.txt", "content": "canary-17"})
    resolve(world, made["request"]["request_id"], note="canary-18", bypass_secs=60)
    started(world, made["call"]["id"])
    world.post(f"/api/calls/{made['call']['id']}/finish", {"outcome": "completed"})
    question = world.post(f"/api/sessions/{session}/questions", {"question": "canary-19?"}, 201)
    world.post(f"/api/inbox/clarifications/{question['request_id']}/resolve", {"answer": "canary-20"})
    held = world.get(f"/api/sessions/{session}/bypasses")["items"][0]["id"]
    world.client().delete(f"/api/sessions/{session}/bypasses/{held}").raise_for_status()
    world.post("/api/projects", {"name": "not told"}, 201)
    world.client().delete(f"/api/sessions/{session}").raise_for_status()
    told = listener.until("session.end")
    assert [one.event for one in told] == [
        "session.create",
        "call.ask",
        "approval.approved",
        "call.start",
        "call.complete",
        "clarification.ask",
        "clarification.answered",
        "bypass.end",
        "session.end",
    ]
    assert [one.id for one in told] == sorted({one.id for one in told})
    assert told[1].data["detail"]["request"] == made["request"]["request_id"]
    assert (told[2].data["actor"], told[2].data["surface"]) == ("ada", "http")
    assert "canary" not in str(told)


def test_a_listener_goes_on_where_it_stopped(world: World, listen: Callable[..., Listener]) -> None:
    first = listen()
    sessions = [world.session() for _ in range(3)]
    seen = [first.next() for _ in sessions]
    first.close()
    later = [world.session() for _ in range(250)]
    for listener in (
        listen("", **{"Last-Event-ID": str(seen[0].id)}),
        listen(f"?after={seen[0].id}"),
        listen("?after=1", **{"Last-Event-ID": str(seen[0].id)}),
    ):
        told = [listener.next().data["subject"] for _ in range(2 + len(later))]
        assert told == sessions[1:] + later
    from_now = listen("?after=99999999")
    assert world.session() == from_now.next().data["subject"]


@pytest.mark.parametrize("query", ["?after=x", "?after=-1", "?after=1.5", "?since=1", "?after=99999999999999999999"])
def test_a_place_that_is_none_is_refused(world: World, query: str) -> None:
    assert world.client().get(f"/api/events{query}").status_code == 422
    assert world.client().get("/api/events", headers={"Last-Event-ID": "x"}).status_code == 422


def test_a_quiet_stream_says_that_it_is_there(
    world: World, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.2)
    listener = listen()
    until(lambda: len(listener.comments) > 2, "heartbeats")


def test_a_stream_ends_when_its_token_is_revoked(
    world: World, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.1)
    listener = listen()
    time.sleep(0.2)
    token = world.get("/api/tokens")["items"][0]["id"]
    world.client().delete(f"/api/tokens/{token}").raise_for_status()
    assert listener.ended.wait(SECONDS)


def test_a_stream_ends_when_the_server_does(tmp_path: Path) -> None:
    with _listening() as begin:
        begun = time.monotonic()
        with served(World(tmp_path)) as world:
            listener = begin(world)
            world.session()
            listener.next()
            world.service.events.close()
            assert listener.ended.wait(SECONDS)
        assert time.monotonic() - begun < SECONDS


def test_nodes_on_one_store_tell_each_others_events(world: World, listen: Callable[..., Listener]) -> None:
    listener = listen()
    other = Store.open(world.store_url)
    made = other.create_session(agent_id="a", source=Source.WEB, principal=PERSON, by=BY)
    assert listener.next().data["subject"] == made.id
    other.close()
