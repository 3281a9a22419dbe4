"""An agent at work on a small workspace, whose model is a script behind real HTTP.

with World(tmp_path, [use("read_file", path="notes.txt"), say("done")]) as world:
    turn = world.ask("what do my notes say?")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import stanch
from stanch.app.service import Service
from stanch.runtime.scripted import Answers
from stanch.runtime.scripted_reply import Reply
from stanch.values.approval import ApprovalRecord, CallRecord, ClarificationRecord
from stanch.values.identity import Source
from stanch.values.message import Call, Message, Result, Text
from stanch.values.records import Actor, Broken
from stanch.values.turn import TurnRecord
from tests.fakes.model_server import ModelServer, model_server

PERSON = Actor("ada", "test")
SECONDS = 60.0
Item = TypeVar("Item")

RULES = """
[[groups]]
id = "default"

[[groups.rules]]
tool = "@read"
path = "/**/secrets"
action = "deny"
mandatory = true

[[groups.rules]]
tool = "@read"
path = "denied.txt"
action = "deny"

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
tool = "execute_cmd"
command = "echo *"
action = "allow"
"""


class World:
    """A workspace, a policy, a store, a scripted model; `service` is the process that has them."""

    def __init__(
        self,
        folder: Path,
        script: Iterable[Reply | Answers] | Answers,
        *,
        dialect: str = "openai",
        rules: str = RULES,
        more: str = "",
        tier: str = "trusted",
    ) -> None:
        self.folder, self.workspace = folder, folder / "workspace"
        self._script, self._dialect, self._rules, self._more, self._tier = script, dialect, rules, more, tier
        self._stack = ExitStack()
        self.files = {
            "notes.txt": "buy milk\nmarker one\n",
            "denied.txt": "marker denied\n",
            "secrets/key.txt": "marker secret\n",
            "deep/down/secrets/more.txt": "marker secret too\n",
            "deep/down/open.txt": "marker open\n",
        }

    def __enter__(self) -> World:
        for name, text in self.files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.models: ModelServer = self._stack.enter_context(model_server(self._script))
        url = self.models.url if self._dialect == "anthropic" else self.models.openai_url
        self.policy = self.folder / "stanch.toml"
        self.policy.write_text(
            f"version = 1\nworkspace = {str(self.workspace)!r}\n"
            f"[providers.fake]\ndialect = {self._dialect!r}\nbase_url = {url!r}\n"
            f"[models]\ndefault_tier = {self._tier!r}\n[agents.bob]\nmodel = 'fake/scripted'\n"
            f"{self._more}\n{self._rules}"
        )
        self.start()
        return self

    def start(self) -> None:
        """Starts a process, so to say, on the store as it is."""
        self._embedded = stanch.embed(self.policy, store=self.folder / "stanch.db", key_file=self.folder / "vault.key")

    def restart(self) -> None:
        """Ends it, and starts another one on what it left behind."""
        self._embedded.close()
        self.start()
        self.service.agents.start()

    @property
    def service(self) -> Service:
        return self._embedded.service

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._embedded.close()
        self._stack.close()

    def session(self, agent: str = "bob", **given: Any) -> str:
        return self._embedded.session(agent, source=Source.CLI, on_behalf_of="ada", **given)

    def begin(self, text: str, session: str | None = None) -> TurnRecord:
        return self.service.agents.begin(session or self.session(), text, by=PERSON)

    def ask(self, text: str, session: str | None = None) -> TurnRecord:
        """The turn, once it has ended."""
        return self.service.agents.wait(self.begin(text, session).id, SECONDS)

    def messages(self, session: str) -> list[Message]:
        return self.service.messages.all(session)

    def results(self, session: str) -> list[str]:
        """The words of every result in the session, in order."""
        return [
            "".join(one.text for one in part.content if isinstance(one, Text))
            for message in self.messages(session)
            for part in message.parts
            if isinstance(part, Result)
        ]

    def calls(self, session: str) -> list[Call]:
        return [part for message in self.messages(session) for part in message.parts if isinstance(part, Call)]

    def records(self, session: str) -> list[CallRecord]:
        page = self.service.calls.list(session)
        return [one for one in reversed(page.items) if not isinstance(one, Broken)]

    def waiting(self) -> ApprovalRecord:
        """The one request for approval that waits, once it does."""

        def one() -> ApprovalRecord | None:
            items = self.service.inbox.list().approvals.items
            return items[0] if items and not isinstance(items[0], Broken) else None

        return until(one)

    def question(self) -> ClarificationRecord:
        """The one question that waits, once it does."""

        def one() -> ClarificationRecord | None:
            items = self.service.inbox.list().clarifications.items
            return items[0] if items and not isinstance(items[0], Broken) else None

        return until(one)


def until(found: Callable[[], Item | None]) -> Item:
    """What a function finds, once it finds something; fails where that takes too long."""
    end = time.monotonic() + SECONDS
    while True:
        item = found()
        if item is not None:
            return item
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.02)
