"""What a person who watches sees across all sessions: what holds, what changed, what is wrong with the rules.

Settles how a watcher hears of changes, and what lint says of the policy of the moment. Does not settle what is done
about any of it (`app.approving`, `app.policy_groups`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from stanch.app.live import Live
from stanch.policy.document import Policy
from stanch.policy.lint import Finding, lint
from stanch.storage.store import Store
from stanch.storage.watching import Watch
from stanch.values.approval import BypassRecord, ClarificationRecord
from stanch.values.records import Broken


class Overview:
    """What is asked across sessions."""

    def __init__(self, store: Store, live: Live) -> None:
        self._store, self._live = store, live
        self._listeners: dict[object, Callable[[], None]] = {}
        self._watching = threading.Lock()
        self._watch: Watch | None = None
        self._linted: tuple[Policy, list[Finding]] | None = None

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls the listener, in a thread that is not its own, after each change; returns what ends that.

        One watch serves every listener. Raises `StoreUnreadable`.
        """
        key = object()
        with self._watching:
            if self._watch is None or not self._watch.running:
                self._watch = self._store.watch(lambda _: self._tell())
            self._listeners[key] = listener
        return lambda: self._forget(key)

    def _forget(self, key: object) -> None:
        with self._watching:
            self._listeners.pop(key, None)

    def _tell(self) -> None:
        with self._watching:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()

    def bypasses(self) -> tuple[BypassRecord | Broken, ...]:
        """Every bypass that holds now, of all sessions, oldest first."""
        return self._store.held_bypasses()

    def question(self, request_id: str) -> ClarificationRecord:
        """The question, open or not. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_clarification(request_id)

    def findings(self) -> list[Finding]:
        """What lint proves of the policy of the moment, the rules of the database too."""
        policy, linted = self._live.policy, self._linted
        if linted is None or linted[0] is not policy:
            self._linted = linted = (policy, lint(policy))
        return linted[1]
