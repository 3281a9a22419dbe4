"""The one store behind every door, on SQLite or PostgreSQL.

Settles how a store is opened, brought up to date, watched and closed. Does not settle how each noun is kept (`groups`,
`rules`, `sessions`, `messages`, `turns`, `projects`, `tickets`, `jobs`, `tokens`, `vault`, `audit`).

Every method may be called from any thread, and blocks. Every method may raise `StoreUnreadable`: no failure of the
database is ever an empty answer. Every change is one transaction with its audit row and a new revision; one that is
refused, or fails, changes nothing. Messages alone have no audit row: they are never changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import URL

from stanch.storage.audit import Audit
from stanch.storage.causes import translated
from stanch.storage.engine import WRITES, engine_for, has_file, make_file, url_of
from stanch.storage.groups import Groups
from stanch.storage.job_runs import JobRuns
from stanch.storage.jobs import Jobs
from stanch.storage.listening import Ear
from stanch.storage.messages import MESSAGES_CHANNEL
from stanch.storage.migrating import bring_up_to_date, missing
from stanch.storage.plan_rows import PlanRows
from stanch.storage.projects import Projects
from stanch.storage.rules import Rules
from stanch.storage.sessions import Sessions
from stanch.storage.telling import Telling
from stanch.storage.tickets import Tickets
from stanch.storage.tier_answers import TierAnswers
from stanch.storage.tokens import Tokens
from stanch.storage.transactions import CHANNEL, state_of
from stanch.storage.turns import Turns
from stanch.storage.vault import VaultRows
from stanch.storage.waiting import Waiting
from stanch.storage.watching import Watch
from stanch.values.fault import StoreUnreadable
from stanch.values.records import Readiness


class Store(
    Groups,
    Rules,
    Sessions,
    Projects,
    Tickets,
    Jobs,
    Tokens,
    Audit,
    Waiting,
    PlanRows,
    Telling,
    Turns,
    JobRuns,
    TierAnswers,
    VaultRows,
):
    """What is kept between calls. Made by `Store.open`."""

    def __init__(self, url: URL, clock: Callable[[], datetime] | None = None) -> None:
        """`url` is one of `engine.url_of`; `clock` says what time it is."""
        self._url = url
        self._engine = engine_for(url)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._closed = threading.Event()
        self._watching = threading.Lock()
        self._watches: list[Watch] = []
        self.changes = 0
        """How many changes were made through this object; it goes up before whoever made one goes on."""

    @classmethod
    def open(cls, url: str) -> Store:
        """The store at `sqlite:///PATH` or `postgresql://...`, as it is: nothing is read, made or changed yet.

        Raises `BadInput` for another kind of URL, whose message does not repeat it.
        """
        return cls(url_of(url))

    def close(self) -> None:
        """Stops every watch and gives back every connection. Whatever is asked later raises `StoreUnreadable`."""
        self._closed.set()
        for watch in self._all_watches():
            watch.stop()
        self._engine.dispose()

    def ready(self) -> Readiness:
        """Whether the store can be reached and is of this version's schema; if not, its `problem` says what to do."""
        try:
            if not has_file(self._url):
                return Readiness(False, "the store does not exist yet; migrate it")
            with self._reading() as connection:
                lacking = missing(connection)
        except StoreUnreadable as why:
            return Readiness(False, str(why))
        return Readiness(lacking is None, lacking or "")

    def migrate(self) -> None:
        """Makes the tables, or brings older ones up to date, in one transaction. Does nothing where all is done.

        A new store gets the group `default` with its seeded rules, once: nothing brings back what was edited later.
        """
        self._stay_open()
        if self.ready().ready:
            return
        with translated():
            make_file(self._url)
            with self._engine.connect() as connection:
                connection.execution_options(**{WRITES: True})
                with connection.begin():
                    bring_up_to_date(connection, self._clock().astimezone(UTC))
        self._changed()

    def revision(self) -> int:
        """The number of the newest change. A cheap question, made to be asked often."""
        with self._reading() as connection:
            return int(state_of(connection)["revision"])

    def policy_revision(self) -> int:
        """The revision of the newest change of a group or a rule."""
        with self._reading() as connection:
            return int(state_of(connection)["policy_revision"])

    def watch(self, callback: Callable[[int], None], *, interval: float = 0.5) -> Watch:
        """Calls `callback` with the new revision, in a thread of its own, whenever the store changed, until stopped.

        Several changes may make one call. A revision is told within `interval` seconds; on PostgreSQL, and for changes
        through this very object, at once. The first call is for the first change after this method returned.
        """
        return self._watch(self.revision, CHANNEL, callback, interval)

    def watch_messages(self, callback: Callable[[int], None], *, interval: float = 0.5) -> Watch:
        """Calls `callback` with the number of the newest message whenever there is one, as `watch` does for changes.

        `moved_since` says whose messages these are.
        """
        return self._watch(self.newest_message, MESSAGES_CHANNEL, callback, interval)

    def _watch(self, read: Callable[[], int], channel: str, callback: Callable[[int], None], interval: float) -> Watch:
        watch = Watch(read, callback, interval)
        if self._url.drivername != "sqlite":
            watch.at_end(Ear(self._url, channel, watch.ring, interval).stop)
        with self._watching:
            self._watches = [one for one in self._watches if one.running] + [watch]
        if self._closed.is_set():
            watch.stop()
        return watch

    def _changed(self) -> None:
        self.changes += 1
        for watch in self._all_watches():
            watch.ring()

    def _all_watches(self) -> list[Watch]:
        with self._watching:
            return list(self._watches)
