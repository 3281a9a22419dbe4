"""The engine that answers now, made anew whenever the policy file or the store changed.

Settles when a change is noticed and how it takes effect: a new engine beside the old one, and one reference that moves.
No call waits for it. Does not settle what the policy is (`app.stored_policy`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from stanch.app.engine import Audit, Engine
from stanch.app.loading import canonical_home, engine_for
from stanch.app.organized import Organized
from stanch.app.stored_policy import Kept, combined, kept_in
from stanch.app.watched_file import WatchedFile
from stanch.paths.canonical import Canonicaliser
from stanch.policy.building import Anchor
from stanch.policy.document import Document, Policy
from stanch.policy.model_names import adding
from stanch.storage.store import Store
from stanch.storage.watching import Watch
from stanch.values.fault import BadInput, Problem, StoreUnreadable

INTERVAL = 0.3
# Rows that were edited with a database client move no revision: the whole is read again now and then.
REREAD_SECONDS = 5.0
RETRY_SECONDS = 1.0
_PATIENCE = 30.0
_LOG = logging.getLogger(__name__)


class Live:
    """The engine of the moment. `engine` may be read from any thread, at any time, and is never half of anything."""

    def __init__(
        self,
        store: Store,
        policy: Path | None,
        workspace: Path | None,
        *,
        private: Iterable[Path] = (),
        audit: Audit | None = None,
        trust: Iterable[str] = (),
        organized: Organized | None = None,
    ) -> None:
        """`organized` keeps the organization that the policy names; without it, its rules are kept in memory alone.

        Raises `BadInput` for a workspace that cannot be used.
        """
        self._trust = dict.fromkeys(trust, "trusted")
        self._store, self._audit, self._private = store, audit, tuple(private)
        self.home = canonical_home(Canonicaliser())
        self._file = WatchedFile(policy, workspace)
        self._kept = kept_in(store)
        self._read_at = time.monotonic()
        self._building = threading.Lock()
        self.organized = Organized() if organized is None else organized
        self.engine = self._made(self._file.document)
        self._watch: Watch | None = None
        self._bell, self._closed = threading.Event(), threading.Event()
        self._listen()
        self._thread = threading.Thread(target=self._run, name="stanch-live", daemon=True)
        self._thread.start()

    @property
    def file(self) -> Path | None:
        """The policy file."""
        return self._file.path

    @property
    def document(self) -> Document:
        """The policy file as it was last read; an empty one where there is none."""
        return self._file.document

    @property
    def policy(self) -> Policy:
        """The whole policy of the moment."""
        return self.engine.policy

    @property
    def in_file(self) -> frozenset[str]:
        """The ids of the groups that the file holds, as it was last read."""
        groups = self._file.document.values.get("groups", ())
        rows = groups if isinstance(groups, list) else ()
        ids = (row.get("id") for row in rows if isinstance(row, dict))
        return frozenset(one for one in ids if isinstance(one, str))

    def refresh(self) -> None:
        """Brings the engine up to date with the file and the store; returns once it is."""
        self._look(store_changed=True)

    def close(self) -> None:
        """Ends the watching. Safe to repeat."""
        self._closed.set()
        self._bell.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)
        if self._watch is not None:
            self._watch.stop()
        self.organized.close()

    def _listen(self) -> None:
        if self._watch is None or not self._watch.running:
            try:
                self._watch = self._store.watch(lambda _: self._bell.set())
            except StoreUnreadable:
                return
            # What changed before the watch began is not told by it.
            self._bell.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            rung = self._bell.wait(INTERVAL)
            self._bell.clear()
            if self._closed.is_set():
                return
            try:
                self._listen()
                self._look(store_changed=rung)
            except Exception as error:  # this thread has to go on, whatever it met
                _LOG.error("looking for a changed policy failed with %s", type(error).__name__)

    def _look(self, *, store_changed: bool) -> None:
        with self._building:
            changed = self._file.look()
            if self._is_due(store_changed):
                kept = kept_in(self._store)
                self._read_at = time.monotonic()
                changed = changed or _differ(kept, self._kept)
                self._kept = kept
            if changed:
                self.engine = self._made(self._file.document)
                self.organized.settle(self.engine.policy)

    def _is_due(self, store_changed: bool) -> bool:
        """True where what the store keeps has to be read again."""
        age = time.monotonic() - self._read_at
        if self._kept.policy is None:
            return store_changed or age > RETRY_SECONDS
        watch = self._watch
        if age > REREAD_SECONDS or watch is None or not watch.running or watch.problem is not None:
            return True
        if not store_changed:
            return False
        try:
            return self._store.policy_revision() != self._kept.revision
        except StoreUnreadable:
            return True

    def _made(self, document: Document) -> Engine:
        """The engine of the document. One that no engine can be made of denies, in the workspace there was before."""
        before: Engine | None = getattr(self, "engine", None)
        try:
            engine = self._engine_of(document, self._kept)
            if before is not None:
                engine.warm_like(before)
        except Exception as why:
            if before is None:
                raise
            expected = isinstance(why, BadInput)
            message = str(why) if expected else f"no policy can be made of it: {type(why).__name__}"
            lines = enumerate(document.text.splitlines(), 1)
            line = next((at for at, text in lines if text.startswith("workspace")), 1)
            values = {"workspace": before.policy.workspace}
            wrong = replace(document, values=values, syntax=Problem(line, "workspace" if expected else "", message))
            return self._engine_of(wrong, self._kept if expected else Kept(None, None, message))
        return engine

    def _engine_of(self, document: Document, kept: Kept) -> Engine:
        def completed(policy: Policy, home: str, anchor: Anchor) -> Policy:
            trusting = replace(policy, assignments=adding(self._trust, policy.assignments))
            return combined(trusting, document, kept, home, anchor)

        return engine_for(
            document,
            self._file.folder,
            self.file,
            audit=self._audit,
            private=self._private,
            completed=completed,
            organize=self.organized,
            organizations=self.organized.given,
        )


def _differ(one: Kept, other: Kept) -> bool:
    """True where two readings of the store make different policies, or name different versions of it."""
    if one.policy is None or other.policy is None:
        return one != other
    same = one.policy.groups == other.policy.groups and one.policy.orphans == other.policy.orphans
    return one.revision != other.revision or not same
