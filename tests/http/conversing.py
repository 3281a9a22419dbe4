"""A server whose agents talk to a scripted model, and who listens to a session as it goes on."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from stanch.runtime.scripted import Answers
from stanch.runtime.scripted_reply import Reply
from tests.fakes.model_server import ModelServer, model_server
from tests.http.served import PLAIN, SECONDS, World, served, until

MODEL = "fake/scripted"
POLICY = """
version = 1
[providers.fake]
dialect = "openai"
base_url = "{url}"
[models]
default_tier = "trusted"
[agents.coder]
model = "fake/scripted"
[agents.helper]
model = "fake/scripted"
[agents.idle]
[[groups]]
id = "default"
[[groups.rules]]
tool = "@read"
path = "/**/secrets"
action = "deny"
mandatory = true
[[groups.rules]]
tool = "@read"
path = "**"
action = "allow"
[[groups.rules]]
tool = "ask_user"
action = "allow"
[[groups.rules]]
tool = "call_agent"
action = "allow"
[[groups.rules]]
tool = "*"
action = "ask"
note = "nobody has said yes to this"
"""


class Talk(World):
    """A world with an agent `coder`, whose model answers by a script."""

    models: ModelServer

    def say(self, session: str, text: str = "go", *, wait: int = 0, status: int = 202, **more: Any) -> Any:
        """What a person's words are answered with: a turn."""
        query = f"?wait={wait}" if wait else ""
        return self.post(f"/api/sessions/{session}/messages{query}", {"text": text, **more}, status)

    def told(self, text: str = "go", **session: Any) -> str:
        """The session of an agent that was told this, and has answered."""
        made = self.session(**session)
        turn = self.say(made, text, wait=30)
        assert turn["state"] == "completed", turn
        return made

    def messages(self, session: str) -> list[Any]:
        """The messages of a session."""
        items: list[Any] = self.get(f"/api/sessions/{session}/messages?limit=500")["items"]
        return items

    def asked(self, session: str) -> Any:
        """The request for approval of a call of the session, once there is one."""
        path = f"/api/inbox?session_id={session}"
        until(lambda: bool(self.get(path)["approvals"]), "a request for approval")
        return self.get(path)["approvals"][0]


@contextmanager
def talking(root: Path, script: Iterable[Reply | Answers] | Answers, policy: str = POLICY) -> Iterator[Talk]:
    """The world, served, for as long as the block lasts."""
    with model_server(script) as models:
        world = Talk(root, policy.format(url=models.openai_url))
        world.models = models
        (world.workspace / "a.txt").write_text("hello\nworld\n", "utf-8")
        with served(world):
            yield world


class Event(NamedTuple):
    """One event as it came."""

    id: int | None
    event: str
    data: Any


class Follower:
    """Who follows a session, in a thread of its own."""

    def __init__(self, world: World, session: str, query: str = "", **headers: str) -> None:
        self.events: queue.Queue[Event] = queue.Queue()
        self.ended = threading.Event()
        self._ready = threading.Event()
        token = world.client().headers["Authorization"]
        self._client = httpx2.Client(
            base_url=world.url, headers={"Authorization": token, **headers}, timeout=SECONDS, verify=PLAIN
        )
        path = f"/api/sessions/{session}/live{query}"
        self._thread = threading.Thread(target=self._run, args=(path,), daemon=True)
        self._thread.start()
        assert self._ready.wait(SECONDS)

    def _run(self, path: str) -> None:
        try:
            with self._client.stream("GET", path) as response:
                assert response.status_code == 200, response.read()
                self._read(response)
        except httpx2.HTTPError:
            pass
        finally:
            self._ready.set()
            self.ended.set()

    def _read(self, response: Any) -> None:
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line.startswith(":"):
                self._ready.set()
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                number = int(fields["id"]) if "id" in fields else None
                self.events.put(Event(number, fields["event"], json.loads(fields["data"])))
                fields = {}

    def until(self, event: str, **data: Any) -> list[Event]:
        """The events up to and with the next of this name that says this."""
        found: list[Event] = []
        while True:
            found.append(self.events.get(timeout=SECONDS))
            if found[-1].event == event and data.items() <= found[-1].data.items():
                return found

    def close(self) -> None:
        """Goes."""
        self._client.close()
        self._thread.join(SECONDS)
