"""The workbenches of all sessions: where each lies, who may use it now, and what it holds for a person.

Settles that one call at a time works in a workbench, over all processes that share its disk. Does not settle what runs
in one (`app.workbench_running`), nor what may come in (`app.workbench_gates`).
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stanch.app.workbench_memory import Memories, Remembered
from stanch.app.workbench_outputs import Outputs
from stanch.content.workbench_disk import LOCK, Directory
from stanch.delivery.source import Source
from stanch.delivery.workbench import (
    Entries,
    EntryKind,
    Memory,
    after_run,
    as_found,
    begun,
    still_tainted,
)
from stanch.host.locking import Held, Lock
from stanch.provenance.registry import Registry
from stanch.provenance.seals import Seals
from stanch.storage.store import Store
from stanch.values.fault import BadInput, Conflict, StoreUnreadable
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.records import Actor, Broken, SessionRecord

_PLAIN_ID = re.compile(r"[0-9a-f]{8,64}")
_PAUSE = 0.05


class Busy(Conflict):
    """Another call works in the workbench."""

    def __init__(self) -> None:
        super().__init__("another call works in this workbench; call again once it has ended")


class Workbenches:
    """All workbenches. Safe to use from any thread."""

    def __init__(self, root: Path | None, store: Store, seals: Seals, *, patience: float = 15.0) -> None:
        """`root` is made with the first workbench; None: there can be none. `patience`: how long one waits at most."""
        self._root, self._memories, self._patience = root, Memories(store, seals), patience

    @contextmanager
    def held(
        self, session_id: str, *, by: Actor, cancelled: threading.Event | None = None, patience: float | None = None
    ) -> Iterator[Bench]:
        """The session's workbench, for nobody else within the block.

        Raises `Busy` where another call has it for longer than one waits, `BadInput` where there can be none,
        `Forgotten` where what it remembers cannot be read, and `StoreUnreadable`.
        """
        directory = self._directory(session_id)
        with self._locked(directory, cancelled or threading.Event(), patience):
            # INVARIANT: only now: whoever holds it may be in the middle of a copy.
            directory.make()
            bench = Bench(directory, self._memories.of(session_id), by)
            bench.look()
            yield bench

    def look(self, session_id: str) -> tuple[Memory, Registry, Entries]:
        """What the workbench remembers and holds, for a person, whoever works in it now. Raises as `held` does."""
        memory, registry = self.remembered(session_id)
        return memory, registry, self._directory(session_id).entries()

    def remembered(self, session_id: str) -> tuple[Memory, Registry]:
        """What the workbench remembers alone. Raises `Forgotten` and `StoreUnreadable`."""
        found = self._memories.of(session_id)
        return found.memory, found.registry

    def directory(self, session_id: str) -> Directory:
        """The directory of the session's workbench, for a person who reads in it. Raises `BadInput`."""
        return self._directory(session_id)

    def outputs(self, session_id: str) -> Outputs:
        """What was withheld from the session's model, for a person. Raises `BadInput`."""
        return Outputs(self._directory(session_id).root / "outputs")

    def clear(self, session_id: str, *, by: Actor) -> None:
        """Removes all of the workbench, and then forgets what it remembered. Raises `Busy` and `StoreUnreadable`."""
        directory = self._directory(session_id)
        with self._locked(directory, threading.Event(), 0.0):
            # INVARIANT: the bytes go first, so that none is ever left of which nothing is remembered.
            directory.clear()
            self._memories.forget(session_id, by=by)

    def retire(
        self, session_id: str, *, goes: Callable[[int], bool], by: Actor, detail: Mapping[str, Any] | None = None
    ) -> bool:
        """Removes the workbench of a session that has ended, with its directory; `detail` goes with the audit row.

        False where it stays: there is none, another call works in it, or `goes` says so of how many of its outputs
        nobody has read. A process that dies on the way leaves the rest with all that is remembered of it. Raises
        `StoreUnreadable`.
        """
        directory = self._directory(session_id)
        try:
            lock = _tried(directory)
        except FileNotFoundError:
            return False
        if lock is None:
            return False
        with lock:
            # INVARIANT: asked only now; a run that went on when its session ended may have left one meanwhile.
            if not goes(self.outputs(session_id).unread()):
                return False
            directory.clear()
            self._memories.forget(session_id, by=by, detail=detail)
            directory.vanish()
        # WHY once more: some disks that nodes share keep a file under another name for as long as it is held.
        directory.leave()
        return True

    def sessions(self) -> list[SessionRecord | Broken]:
        """The sessions that have a workbench here, newest first. Raises `StoreUnreadable`."""
        try:
            with os.scandir(self._root or "") as found:
                names = [one.name for one in found if one.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreUnreadable(f"the workbenches cannot be listed: {(error.strerror or '').lower()}") from None
        records = self._memories.sessions_called(names, directory_name) if names else []
        broken = [one for one in records if isinstance(one, Broken)]
        kept = [one for one in records if not isinstance(one, Broken)]
        return [*broken, *sorted(kept, key=lambda one: (one.created_at, one.id), reverse=True)]

    def _directory(self, session_id: str) -> Directory:
        if self._root is None:
            raise BadInput("there is no directory for workbenches here")
        return Directory(self._root / directory_name(session_id))

    @contextmanager
    def _locked(self, directory: Directory, cancelled: threading.Event, patience: float | None) -> Iterator[None]:
        end = time.monotonic() + (self._patience if patience is None else patience)
        while (lock := _made(directory)) is None:
            if time.monotonic() >= end or cancelled.wait(_PAUSE):
                raise Busy
        with lock:
            yield


def directory_name(session_id: str) -> str:
    """What the directory of a session's workbench is called."""
    # WHY a digest for any other: an id may be a text that no file can be called by.
    if _PLAIN_ID.fullmatch(session_id) is not None:
        return session_id
    return f"session-{hashlib.sha256(session_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _made(directory: Directory) -> Lock | None:
    """The lock of a directory that is made for it; None where somebody else has it, or is about to remove it."""
    directory.make_root()
    try:
        return _tried(directory)
    except FileNotFoundError:
        return None


def _tried(directory: Directory) -> Lock | None:
    """The lock; None where somebody else has it. Raises `FileNotFoundError` and `StoreUnreadable`."""
    try:
        lock = Lock(directory.root / LOCK)
    except Held:
        return None
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreUnreadable(f"the workbench cannot be used: {(error.strerror or 'unknown').lower()}") from None
    # INVARIANT: whoever has removed the directory held the lock that lay in it, which holds nobody off any more.
    if lock.stands:
        return lock
    lock.release()
    return None


class Bench:
    """One workbench that is held. Safe to use from any thread of whoever holds it."""

    def __init__(self, directory: Directory, remembered: Remembered, by: Actor) -> None:
        self.directory, self._remembered, self._by = directory, remembered, by
        self._lock = threading.RLock()

    @property
    def session_id(self) -> str:
        """Whose workbench it is."""
        return self._remembered.session_id

    @property
    def registry(self) -> Registry:
        """Every secret that ever came near it."""
        return self._remembered.registry

    @property
    def memory(self) -> Memory:
        """What else it remembers."""
        return self._remembered.memory

    def look(self) -> Entries:
        """What lies in it now; of a taint, what is left of it is remembered."""
        with self._lock:
            entries = self.directory.entries()
            found = as_found(self.memory, entries)
            if found != self.memory:
                self._keep(found)
        return entries

    def takes(self, source: Source, *, tainted_entry: str | None = None) -> Reason | None:
        """Remembers an item that a gate has admitted, before its bytes come; else why it cannot come in.

        `tainted_entry` is where its copy will lie, of an item that nobody can vouch for. Raises `StoreUnreadable`.
        """
        with self._lock:
            memory = self.memory.filled_from(source)
            if memory is None:
                return Reason(Code.REGISTRY_FULL, LayerId.DELIVERY, subject=f"{source.kind.value} {source.id}")
            if tainted_entry is not None:
                memory = memory.tainted_by(source, tainted_entry)
            self._remembered.keep(memory, by=self._by)
        return None

    def vouched_for(self, entry: str) -> None:
        """Says that a copy which somebody can vouch for has taken the place of whatever was there."""
        with self._lock:
            self._keep(self.memory.vouched_for(entry))

    def makes_way(self, path: str) -> None:
        """Removes what stands where a file is to lie, or a folder above it, where nobody can vouch for it.

        WHY: that a file cannot be put there would say what tainted code has made. Raises `StoreUnreadable`.
        """
        with self._lock:
            entries, memory = self.directory.entries(), self.memory
            parts = path.split("/")
            for count in range(1, len(parts) + 1):
                one = "/".join(parts[:count])
                found = entries.get(one)
                if found is None:
                    return
                wanted = EntryKind.FILE if count == len(parts) else EntryKind.FOLDER
                if found.kind is not wanted and (memory.everything or one in memory.tainted):
                    self.directory.remove(one, tree=True)
                    return

    def _keep(self, memory: Memory) -> None:
        """Keeps the memory. Where it is free of a taint by that, no folder says any more what was done to it before.

        INVARIANT: only then is it kept; who dies in between leaves it tainted.
        """
        if self.memory.is_tainted and not memory.is_tainted:
            self.directory.renew()
        self._remembered.keep(memory, by=self._by)

    @contextmanager
    def run(self) -> Iterator[bool]:
        """One run within the block; gives whether it begins tainted, so that nothing of it may go to the model."""
        with self._lock:
            self.look()
            before = self.directory.settled() if self.memory.is_tainted else {}
            tainted = self.memory.is_tainted
            if tainted:
                # INVARIANT: it is remembered before anything runs; a process that dies leaves all of it tainted.
                self._remembered.keep(begun(self.memory), by=self._by)
        try:
            yield tainted
        finally:
            if tainted:
                with self._lock:
                    self._keep(self._after(before, self.directory.entries()))

    def _after(self, before: Entries, after: Entries) -> Memory:
        """What is remembered once a run that began tainted has ended. What is clean is made to say nothing of it."""
        memory, folders = after_run(self.memory, before, after)
        left = [path for path in folders if not self.directory.plain(path)]
        # WHY: which of many files were read would be told by them, and reading changes nothing else of a file.
        clean = () if memory.everything else [path for path in after if path not in memory.tainted]
        left += [path for path in clean if not self.directory.quiet(path)]
        return still_tainted(memory, left)
