"""A store, a policy file that can be edited, and services on them, for tests of what becomes of calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from stanch.app.calls import Submitted
from stanch.app.service import Service
from stanch.app.sessions import hands_of
from stanch.storage.engine import url_of
from stanch.storage.store import Store
from stanch.values.approval import CallRecord
from stanch.values.context import RunContext
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import Actor
from tests.stores.template import new_file

SECONDS = 30.0
ADA, BEN, AGENT = Actor("ada", "test"), Actor("ben", "test"), Actor("coder", "test")
POLICY = """\
version = 1

[approvals.expires_after]
cron = 60

[[groups]]
id = "default"

[[groups.rules]]
tool = "@write"
path = "closed"
action = "deny"

[[groups.rules]]
tool = "@write"
path = "free"
action = "allow"

[[groups.rules]]
tool = "@write"
path = "guarded"
action = "ask"
mandatory = true

[[groups.rules]]
tool = "*"
action = "ask"
"""


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.at = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The time it shows. It moves a little each time, so that no two records are of the same moment."""
        self.at += timedelta(microseconds=1)
        return self.at

    def move(self, seconds: float) -> None:
        """Lets time pass."""
        self.at += timedelta(seconds=seconds)


class Gates:
    """A workspace with a policy file, and what serves it."""

    def __init__(self, root: Path, clock: Callable[[], datetime] | None = None) -> None:
        self.workspace = root.resolve() / "repo"
        self.workspace.mkdir()
        self.policy, self.clock = self.workspace / "stanch.toml", clock
        self.policy.write_text(POLICY, "utf-8")
        new_file(root / "stanch.db")
        self.store = Store(url_of(f"sqlite:///{root / 'stanch.db'}"), clock)
        self.services: list[Service] = []
        self.service = self.opened()

    def opened(self, *, alone: bool = False) -> Service:
        """A further service on the same store, as another process would have it, or this one after a restart."""
        made = Service.open(
            store=self.store, policy=self.policy, workspace=self.workspace, alone=alone, clock=self.clock
        )
        self.services.append(made)
        return made

    def write_policy(self, text: str) -> None:
        """Changes the policy, and has it read."""
        draft = self.policy.with_suffix(".draft")
        draft.write_text(text, "utf-8")
        draft.replace(self.policy)
        until(lambda: self._read(text), "the policy that was written")

    def _read(self, text: str) -> bool:
        self.service.refresh()
        return self.service._live._file.document.text == text

    def session(self, **fields: Any) -> str:
        """A new session."""
        given: dict[str, Any] = {"agent_id": "coder", "source": Source.WEB, "principal": WHO, "by": ADA, **fields}
        return self.service.sessions.create(**given).id

    def context(self, session: str, context: RunContext | None) -> None:
        """Gives a session another context."""
        self.service.sessions.set_context(session, context, by=ADA)

    def ask(self, session: str, tool: str = "write_file", **arguments: Any) -> Submitted:
        """A call, asked for."""
        return self.service.calls.submit(session, tool, arguments or {"path": "a.txt", "content": "x"}, by=AGENT)

    def approved(self, session: str, tool: str = "write_file", **arguments: Any) -> CallRecord:
        """A call that a person has approved."""
        made = self.ask(session, tool, **arguments)
        assert made.approval is not None, made.decision.reason
        return self.service.approving.approve(made.approval.request_id, by=ADA).call

    def close(self) -> None:
        """Ends all of it."""
        for service in self.services:
            service.close()
        self.store.close()


WHO = hands_of(Principal(PrincipalKind.USER, "ada"))


def until(holds: Callable[[], bool], what: str) -> None:
    """Returns once it holds; fails where that takes too long."""
    pause, end = threading.Event(), time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, f"this did not come: {what}"
        pause.wait(0.02)
