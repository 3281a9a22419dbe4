"""Where stored content is written in every state, and asked for by everybody: a server, a vault, a chat, a model.

written = stage.written(State.ENTRIES)
stage.write(State.ENTRIES, "PUT", "/api/files/text/a.txt", json={"content": written})
reply = stage.ask("GET", "/api/files/text/a.txt")           as the chat's model, over REST
found = stage.tool("files_read", path="a.txt")              as an agent that runs here
"""

from __future__ import annotations

import json
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stanch.app.content import Content
from stanch.delivery.admit import Delivery
from stanch.runtime.scripted_asked import Asked
from stanch.runtime.scripted_reply import Reply, fail, say, use
from stanch.secrets.encodings import forms
from stanch.secrets.text import Secret
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.vault import SecretScope
from tests.fakes.model_server import ModelServer, model_server
from tests.http.served import BY, CLIENT, COPILOT, KEY, PERSON, WORKFLOW, World, served

NAME = "PAY_KEY"
LABEL = "{{PAY_KEY}}"
SHORT_NAME = "PIN"
MODEL, CURIOUS = "fake/scripted", "cloud/scripted"
BRAM = Principal(PrincipalKind.USER, "bram")
OTHERS = (PERSON, KEY, CLIENT, WORKFLOW)
"""Everybody but the chat's model: nothing is classified for them."""
POLICY = """
version = 1
[providers.fake]
dialect = "openai"
base_url = "{url}"
[models]
default_tier = "trusted"
[models.assignments]
"cloud/*" = "cloud"
[tiers.cloud]
label = "In the cloud"
otherwise = {{ read = "allow", write = "allow", execute = "allow", network = "allow" }}
[[tiers.cloud.cells]]
path = "private"
read = "deny"
[agents.coder]
model = "fake/scripted"
"""


class State(StrEnum):
    """What is known of an item: the columns of the policy table, the last of them in its two ways."""

    UNKNOWN = "unknown"
    ENTRIES = "entries"
    UNRECORDED = "unrecorded"
    EMPTY = "empty"


CLEAN = (State.UNRECORDED, State.EMPTY)
COLUMNS = {"U": (State.UNKNOWN,), "E": (State.ENTRIES,), "C": CLEAN}


class Stage(World):
    """A world whose vault holds a secret, with a chat whose model may be told of everything.

    `value` is the secret's, `short` that of another one, too short to be found in a text. `chat` is the session of
    the chat's model, `freed` says that its ordinary asks are bypassed.
    """

    def __init__(
        self,
        root: Path,
        models: ModelServer,
        steps: deque[Reply],
        *,
        value: str | None = None,
        short: str = "4711",
        more: str = "",
    ) -> None:
        super().__init__(root, POLICY.format(url=models.openai_url) + more.format(url=models.openai_url))
        self.models, self._steps = models, steps
        self.value = value or f"pk-{secrets.token_urlsafe(18)}+/="
        self.short = short
        self.service.vault.set(NAME, Secret(self.value), by=BY)
        self.service.vault.set(SHORT_NAME, Secret(self.short), by=BY)
        self.chat = ""

    def begin(self) -> None:
        """Makes the chat. The world is served by now."""
        self.chat = self.chat_of(MODEL)

    def chat_of(self, model: str | None, principal: Principal = COPILOT, **fields: Any) -> str:
        """A new session in which this model acts."""
        who = {"kind": principal.kind.value, "id": principal.id, "service_id": principal.service_id}
        return self.session(principal=who, **({} if model is None else {"model": model}), **fields)

    def secret(self, name: str, value: str, *, user: str | None = None) -> None:
        """Puts one more secret into the vault, a user's or the workspace's."""
        scope = SecretScope.WORKSPACE if user is None else SecretScope.USER
        self.service.vault.set(name, Secret(value), scope=scope, owner=user, by=BY)

    # How content is written.

    def written(self, state: State, before: str = "the key is ", after: str = " and nothing else\n") -> str:
        """A text of that state: the secret stands in it, but for the clean ones."""
        return f"{before}{self.value if state in (State.UNKNOWN, State.ENTRIES) else 'nowhere'}{after}"

    def headers(self, state: State, *names: str) -> dict[str, str]:
        """What a writer says of itself for what it writes to be of that state. The content has to fit: `written`."""
        if state is State.UNRECORDED:
            return {}
        complete = "no" if state is State.UNKNOWN else "yes"
        return {"Stanch-Secrets": ", ".join(names or (NAME,)), "Stanch-Secrets-Complete": complete}

    def write(self, state: State, method: str, path: str, **given: Any) -> httpx2.Response:
        """What a workflow's request is answered with; whatever it stores is of that state. It has to succeed."""
        headers = {**self.headers(state), **given.pop("headers", {})}
        reply = self.send(method, path, WORKFLOW, headers=headers, **given)
        assert reply.status_code < 300, reply.text
        return reply

    # How it is asked for.

    def send(self, method: str, path: str, principal: Principal = PERSON, **given: Any) -> httpx2.Response:
        """What anybody's request is answered with."""
        return self.client(principal).request(method, path, **given)

    def ask(
        self, method: str, path: str, *, session: str | None = None, call: str | None = None, **given: Any
    ) -> httpx2.Response:
        """What a request of the chat's model is answered with. `call` is a call that was approved."""
        headers = {"Stanch-Session": self.chat if session is None else session, **given.pop("headers", {})}
        if call is not None:
            headers["Stanch-Call"] = call
        return self.send(method, path, COPILOT, headers=headers, **given)

    def free(self, session: str | None = None) -> None:
        """Suspends the ordinary asks of the chat, so that its model may write without a person's yes to each."""
        self.post(f"/api/sessions/{session or self.chat}/bypasses", {"secs": 0, "scope": "all"}, 201)

    def submitted(self, tool: str, arguments: Mapping[str, Any], session: str | None = None) -> Any:
        """A call that the chat's model asks for, with what it is answered."""
        path = f"/api/sessions/{session or self.chat}/calls"
        reply = self.send("POST", path, COPILOT, json={"tool": tool, "arguments": dict(arguments)})
        assert reply.status_code == 201, reply.text
        return reply.json()

    def approved(self, tool: str, arguments: Mapping[str, Any], session: str | None = None) -> str:
        """The id of a call that the chat's model asked for, and a person has said yes to."""
        call = self.submitted(tool, arguments, session)["call"]
        assert call["state"] == "awaiting_approval", call
        self.post(f"/api/inbox/approvals/{call['request_id']}/resolve", {"action": "approve"})
        return str(call["id"])

    def tool(self, name: str, /, **arguments: Any) -> str:
        """What the model is told of a call of one tool, by an agent that runs here. Nothing may ask a person."""
        return self.tool_in(self.chat_of(MODEL), name, **arguments)

    def tool_in(self, session: str, name: str, /, **arguments: Any) -> str:
        """The same, in a session that is there."""
        self._steps.extend((use(name, **arguments), say("done")))
        self.free(session)
        turn = self.post(f"/api/sessions/{session}/messages?wait=30", {"text": "go"}, 202)
        assert turn["state"] == "completed", turn
        told = [one for one in self.models.bodies()[-1]["messages"] if one["role"] == "tool"]
        assert len(told) == 1, "the model was told of one call"
        return str(told[0]["content"])

    # What came of it.

    def holds(self, given: str | bytes) -> bool:
        """True where the secret's value stands in it, in whatever encoding."""
        data = given.encode() if isinstance(given, str) else given
        return any(form in data for form in forms(self.value))

    def assert_clean(self, given: httpx2.Response | str | bytes) -> None:
        """Fails where any form of the secret's value is in what a model got."""
        seen = given.content if isinstance(given, httpx2.Response) else given
        assert not self.holds(seen), "the value is in what the model got"

    def assert_withheld(self, reply: httpx2.Response, code: str, *, saved: bool = False) -> None:
        """Fails where the answer is no refusal of content with this code."""
        assert reply.status_code == 403, reply.text
        said = reply.json()
        assert said["type"].endswith(":content-withheld"), said
        assert (said["code"], said.get("saved", False)) == (code, saved), said
        self.assert_clean(reply)

    @property
    def content(self) -> Content:
        """Stored content, as doors have it."""
        return self.service.content

    @property
    def reads(self) -> int:
        """How often it was read what is known of an item."""
        return self.content.seals.reads


@contextmanager
def gate_off() -> Iterator[None]:
    """Takes the gate away for as long as the block lasts: nobody is classified. For comparing answers alone."""
    patch = pytest.MonkeyPatch()
    patch.setattr(Delivery, "classified", False)
    try:
        yield
    finally:
        patch.undo()


@contextmanager
def staged(root: Path) -> Iterator[Stage]:
    """A stage, served, for as long as the block lasts."""
    steps: deque[Reply] = deque()

    def answer(_: Asked) -> Reply:
        return steps.popleft() if steps else fail(400, "the script is at its end")

    with ExitStack() as stack:
        models = stack.enter_context(model_server(answer))
        stage = Stage(root, models, steps)
        stack.enter_context(served(stage))
        stage.begin()
        yield stage


def lines_of(reply: httpx2.Response) -> Iterable[Any]:
    """The JSON values of an answer that has one in each line."""
    return [json.loads(line) for line in reply.text.splitlines() if line]
