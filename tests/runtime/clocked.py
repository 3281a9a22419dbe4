"""Services on one store whose jobs are run by a clock that a test moves, and whose agents talk to a scripted model."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from stanch.app.service import Service
from stanch.runtime.scripted import Answers
from stanch.runtime.scripted_reply import Reply
from stanch.storage.store import Store
from stanch.values.message import Result, Text
from stanch.values.records import Broken, JobRecord
from stanch.values.turn import JobRunRecord, TurnRecord
from tests.fakes.model_server import ModelServer, model_server
from tests.runtime.world import PERSON, until

EVERY_MINUTE = "* * * * *"
POLICY = """
version = 1
workspace = {workspace!r}
[providers.fake]
dialect = "openai"
base_url = {url!r}
[models]
default_tier = "trusted"
[agents.bob]
model = "fake/scripted"
[agents.idle]
[approvals.expires_after]
cron = 3600
[sessions.defaults.source.cron]
security_group = "jobs"
[[groups]]
id = "jobs"
[[groups.rules]]
tool = "execute_cmd"
command = "echo *"
action = "allow"
[[groups.rules]]
tool = "@write"
path = "log"
action = "allow"
[[groups]]
id = "default"
[[groups.rules]]
tool = "@read"
path = "**"
action = "allow"
"""


class Clock:
    """Now, and later where a test says so: a minute from now at the latest, unless something has to expire."""

    def __init__(self) -> None:
        self._ahead = timedelta()
        self._now = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        with self._lock:
            return self._now + self._ahead

    def on(self, **by: float) -> datetime:
        """Moves on by these minutes, seconds and the like."""
        with self._lock:
            self._ahead += timedelta(**by)
        return self()


class Clocked:
    """A workspace, a policy, a scripted model, a store, and as many services on it as are opened."""

    def __init__(self, folder: Path, script: Iterable[Reply | Answers] | Answers, *, url: str = "") -> None:
        self.folder, self.workspace, self.clock = folder, folder / "workspace", Clock()
        self.url = url or f"sqlite:///{folder}/stanch.db"
        self._script, self._stack = script, ExitStack()
        self.services: list[Service] = []

    def __enter__(self) -> Clocked:
        self.workspace.mkdir()
        (self.workspace / "notes.txt").write_text("buy milk\n")
        self.models: ModelServer = self._stack.enter_context(model_server(self._script))
        self.policy = self.folder / "stanch.toml"
        self.policy.write_text(POLICY.format(workspace=str(self.workspace), url=self.models.openai_url))
        self.open()
        return self

    def open(self, *, alone: bool = False) -> Service:
        """One more process, so to say."""
        store = Store.open(self.url)
        self._stack.callback(store.close)
        store.migrate()
        made = Service.open(store=store, policy=self.policy, workspace=None, clock=self.clock, alone=alone)
        self._stack.callback(made.close)
        self.services.append(made)
        return made

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @property
    def service(self) -> Service:
        """The process that was started last."""
        return self.services[-1]

    def job(self, **given: Any) -> JobRecord:
        """A job that is due every minute, from the next one on."""
        fields: dict[str, Any] = {
            "name": "Daily digest",
            "cron": EVERY_MINUTE,
            "prompt": "go",
            "agent_id": "bob",
            "enabled": True,
            "context": None,
            "by": PERSON,
        }
        return self.service.jobs.create(**fields | given)

    def due(self) -> list[str]:
        """The next minute comes, and whatever is due is run; gives the sessions."""
        self.clock.on(minutes=1)
        return self.service.scheduler.run_due()

    def runs(self, job: JobRecord) -> list[JobRunRecord]:
        """The runs of the job, first the one that was due first."""
        page = self.service.job_runs.list(job.id, limit=500)
        return [one for one in reversed(page.items) if not isinstance(one, Broken)]

    def ended(self, job: JobRecord) -> JobRunRecord:
        """The newest run, once it has ended."""
        return until(lambda: self.runs(job)[-1] if self.runs(job)[-1].ended_at is not None else None)

    def turn(self, session: str) -> TurnRecord:
        """The session's turn."""
        (turn,) = self.service.turn_log.list(session).items
        assert isinstance(turn, TurnRecord)
        return turn

    def results(self, session: str) -> list[str]:
        """The words of every result in the session."""
        return [
            "".join(one.text for one in part.content if isinstance(one, Text))
            for message in self.service.messages.all(session)
            for part in message.parts
            if isinstance(part, Result)
        ]
