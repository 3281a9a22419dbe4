"""A session of a model in one world: it makes its moves, and all that comes to its side is kept.

What is random by nature is the same in both worlds (`determined`). What is left is where each world lies on the disk,
the ports, how long something took, and the letters of an encrypted cursor, of which the number is kept.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from stanch.runtime.scripted_reply import Reply, ToolUse, fail, say
from tests.delivery.stage import MODEL, Stage
from tests.fakes.model_server import ModelServer, model_server
from tests.http.served import COPILOT, served
from tests.worlds.casts import KEY, PIN, Cast
from tests.worlds.determined import DETERMINED
from tests.worlds.furnishing import Furnished

CLOUD = "cloud/scripted"
MORE = """
[providers.cloud]
dialect = "openai"
base_url = "{url}"
[agents.helper]
model = "{{helper}}"
"""
_NAMED = re.compile(r"\$\{([\w.]+)\}")
_BY_NATURE = ("date", "server", "connection", "transfer-encoding")
_SENT_BY_NATURE = ("host", "authorization", "user-agent", "x-stainless-read-timeout")
_TOOK = re.compile(rb'"microseconds":\s*[0-9.e-]+')
_CLOSED = re.compile(r"s1\.\w+\.[A-Za-z0-9_=-]{30,}")


@dataclass(frozen=True)
class Move:
    """Something that the session does. `who` is the model, or the person, of whose answers nothing is looked at."""

    method: str
    path: str
    given: Mapping[str, Any] = field(default_factory=dict)
    who: str = "model"

    def __str__(self) -> str:
        return f"{self.who}: {self.method} {self.path} {json.dumps(self.given, ensure_ascii=False, default=repr)}"


@dataclass(frozen=True)
class Turn:
    """The chat's model is asked something, and calls these tools, one after another. `below`: a subagent does."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    below: bool = False

    def __str__(self) -> str:
        calls = "; ".join(f"{tool} {json.dumps(given, ensure_ascii=False)}" for tool, given in self.calls)
        return f"{'a subagent' if self.below else 'a turn'}: {calls}"


@dataclass(frozen=True)
class Session:
    """What one session does. `free`: its ordinary asks are bypassed. The first `unseen` moves are not compared."""

    moves: tuple[Move | Turn, ...]
    model: str = MODEL
    free: bool = True
    unseen: int = 0
    name: str = "s"


@dataclass(frozen=True)
class Seen:
    """What came to the model's side by one move."""

    move: str
    data: bytes = field(repr=False)


class Played:
    """One world with its server, in which sessions are played."""

    def __init__(self, furnished: Furnished, steps: deque[Reply], models: ModelServer) -> None:
        self.furnished, self.stage, self.things = furnished, furnished.stage, furnished.things
        self._steps, self._models, self._chat = steps, models, ""
        self._root = str(self.stage.root).encode()

    def play(self, session: Session) -> list[Seen]:
        """What came to the model's side, move by move."""
        DETERMINED.begin(session.name, 0)
        self._steps.clear()
        self._chat = self.stage.chat_of(session.model)
        self.things["chat"] = self._chat
        if session.free:
            self.stage.free(self._chat)
        found: list[Seen] = []
        for number, move in enumerate(session.moves):
            DETERMINED.begin(session.name, number + 1)
            data = self._turn(move, number) if isinstance(move, Turn) else self._move(move)
            if number >= session.unseen:
                found.append(Seen(str(move), data))
        return found

    def _move(self, move: Move) -> bytes:
        path, given = self._named(move.path), self._named(dict(move.given))
        if move.who != "model":
            reply = self.stage.send(move.method, path, **given)
            if path == "/api/inbox":
                for waits in reply.json()["approvals"]:
                    self.stage.post(f"/api/inbox/approvals/{waits['request_id']}/resolve", {"action": "approve"})
            return b""
        headers = given.pop("headers", {})
        headers = {"Stanch-Session": self._chat, **headers}
        with self.stage.client(COPILOT).stream(move.method, path, headers=headers, **given) as reply:
            body, end = b"", b""
            try:
                for chunk in reply.iter_bytes():
                    body += chunk
            except httpx2.HTTPError as why:
                end = b"\n(broken off: " + type(why).__name__.encode() + b")"
        self._remember(body)
        told = [f"{reply.status_code}"]
        timed = _TOOK.search(body) is not None
        for name, value in sorted(reply.headers.multi_items()):
            if name not in _BY_NATURE and not (timed and name == "content-length"):
                told.append(f"{name}: {value}")
        return self._plain("\n".join(told).encode() + b"\n\n" + body + end)

    def _turn(self, turn: Turn, number: int) -> bytes:
        calls = [(tool, self._named(dict(given))) for tool, given in turn.calls]
        uses = [Reply((ToolUse(tool, given, f"use_{number}_{at}"),)) for at, (tool, given) in enumerate(calls)]
        if turn.below:
            begin = ToolUse("call_agent", {"agent": "helper", "prompt": "look"}, f"use_{number}_below")
            uses = [Reply((begin,)), *uses, say("what the helper found")]
        self._steps.extend((*uses, say("done")))
        before = len(self._models.requests)
        turned = self.stage.post(f"/api/sessions/{self._chat}/messages?wait=30", {"text": "go"}, 202)
        assert turned["state"] == "completed", f"{turn}: {turned} {self.stage.get('/api/inbox')}"
        self._steps.clear()
        sent = self._models.requests[before:]
        told = [f"turn {turned['state']}".encode()]
        for one in sent:
            kept = {name: value for name, value in one.headers.items() if name not in _SENT_BY_NATURE}
            told.append(f"{one.method} {one.path}\n{json.dumps(dict(sorted(kept.items())))}".encode() + b"\n" + one.raw)
        return self._plain(b"\n\n".join(told))

    def _remember(self, body: bytes) -> None:
        """Ids and cursors that later moves may name."""
        try:
            said = json.loads(body)
        except ValueError:
            return
        if not isinstance(said, dict):
            return
        reason = said.get("reason")
        call = said.get("call") or {}
        for name, value in (
            ("next", said.get("next")),
            ("call", reason.get("call_id") if isinstance(reason, dict) else None),
            ("call", call.get("id") if isinstance(call, dict) else None),
            ("made", said.get("id")),
            ("made", said["run"].get("id") if isinstance(said.get("run"), dict) else None),
        ):
            if isinstance(value, str):
                self.things[name] = value

    def _named(self, value: Any) -> Any:
        """The value with `${name}` replaced by what has that name in this world."""
        if isinstance(value, str):
            return _NAMED.sub(lambda found: self.things.get(found[1], "none-yet"), value)
        if isinstance(value, Mapping):
            return {name: self._named(one) for name, one in value.items()}
        return [self._named(one) for one in value] if isinstance(value, (list, tuple)) else value

    def _plain(self, data: bytes) -> bytes:
        data = _TOOK.sub(b'"microseconds": 0', data.replace(self._root, b"/ROOT"))
        text = data.decode("utf-8", "surrogateescape")
        text = _CLOSED.sub(lambda found: f"<closed, {len(found[0])} letters>", text)
        return text.encode("utf-8", "surrogateescape")


@contextmanager
def two_worlds(
    root: Path, *, private: bool, seed: int = 0, longer: bool = False, same: bool = False
) -> Iterator[tuple[Played, Played]]:
    """Two worlds that differ in what is withheld; `same`: in nothing.

    `private`: also in what the tier of a model in the cloud closes. `longer`: secrets of the second are.
    """
    steps: deque[Reply] = deque()
    with ExitStack() as stack:
        models = stack.enter_context(model_server(lambda _: steps.popleft() if steps else fail(400, "at its end")))
        made: list[Played] = []
        for name, cast in (("a", Cast("a", seed)), ("b", Cast("a" if same else "b", seed, longer))):
            DETERMINED.begin("furnishing", 0)
            folder = root / name
            folder.mkdir()
            value, short = cast.values[KEY], cast.values[PIN]
            more = MORE.replace("{{helper}}", CLOUD if private else MODEL)
            stage = Stage(folder, models, steps, value=value, short=short, more=more)
            stack.enter_context(served(stage))
            made.append(Played(Furnished(stage, cast, private=private), steps, models))
        assert made[0].things == made[1].things, "the same ids in both"
        yield made[0], made[1]
