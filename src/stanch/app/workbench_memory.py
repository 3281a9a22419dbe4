"""What a workbench remembers, as it is read, and kept before anything follows from it.

Settles that what cannot be opened is no empty memory, and that history, places and taint stand in the store before
bytes come in. Does not settle what is remembered (`delivery.workbench`), nor what a row holds (`storage.workbenches`).
INVARIANT: of a history nothing is ever lost but by a person who empties the workbench.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from stanch.delivery.workbench import Memory, read, written
from stanch.provenance.registry import Registry
from stanch.provenance.seals import Seals
from stanch.provenance.states import Entry, Exact, Unknown
from stanch.secrets.sealing import Place
from stanch.storage.store import Store
from stanch.storage.workbenches import WorkbenchRows
from stanch.values.fault import BrokenRow, StoreUnreadable
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.records import Actor, Broken, SessionRecord
from stanch.values.workbench import WorkbenchRecord

TABLE = "workbenches"
_MOST_TOLD = 50


class Forgotten(StoreUnreadable):
    """A workbench is there, and what it remembers cannot be read. `reason` says why."""

    def __init__(self, session_id: str, why: str) -> None:
        self.reason = Reason(Code.WORKBENCH_UNREADABLE, LayerId.DELIVERY, subject=f"session {session_id}", detail=why)
        super().__init__(f"what the workbench remembers cannot be read ({why})")


class Memories:
    """The memories of all workbenches. Safe to use from any thread."""

    def __init__(self, store: Store, seals: Seals) -> None:
        self._rows, self._seals = WorkbenchRows(store), seals

    def of(self, session_id: str) -> Remembered:
        """What the session's workbench remembers. Raises `Forgotten` and `StoreUnreadable`."""
        try:
            row = self._rows.workbench(session_id)
        except BrokenRow as why:
            raise Forgotten(session_id, why.problem) from None
        if row is None:
            return Remembered(self._rows, self._seals, session_id, Memory(), (), 0)
        memory, entries = opened_row(self._seals, row)
        return Remembered(self._rows, self._seals, session_id, memory, entries, row.revision)

    def forget(self, session_id: str, *, by: Actor, detail: Mapping[str, Any] | None = None) -> None:
        """Forgets all that the workbench remembers, also where it cannot be read. `detail` goes with the audit row."""
        self._rows.forget_workbench(session_id, by=by, detail=detail)

    def sessions_called(self, names: Collection[str], name_of: Callable[[str], str]) -> list[SessionRecord | Broken]:
        """The sessions whose workbenches have one of these names."""
        return self._rows.sessions_called(names, name_of)


class Remembered:
    """What one workbench remembers. Not for two threads at a time.

    `registry` knows every secret that came near it. `memory` is the rest, as it stands in the store.
    """

    def __init__(  # noqa: PLR0917 - within the module
        self,
        rows: WorkbenchRows,
        seals: Seals,
        session_id: str,
        memory: Memory,
        entries: tuple[Entry, ...],
        revision: int,
    ) -> None:
        self._rows, self._seals, self.session_id, self.memory = rows, seals, session_id, memory
        self.registry = Registry()
        for entry in entries:
            self.registry.activate(entry)
        self._kept, self._revision = len(entries), revision

    def keep(self, memory: Memory, *, by: Actor) -> None:
        """Keeps the memory, and the registry as it now is. Nothing is written where neither is another than before.

        Raises `Conflict` where somebody else has changed it, and `StoreUnreadable`: then nothing is kept.
        """
        entries = self.registry.entries
        if memory == self.memory and len(entries) == self._kept and self._revision:
            return
        history, words = sealed_row(self._seals, self.session_id, memory, entries)
        row = self._rows.keep_workbench(
            self.session_id,
            history=history,
            memory=words,
            expected=self._revision,
            detail=_detail(memory, entries),
            by=by,
        )
        self.memory, self._kept, self._revision = memory, len(entries), row.revision


def sealed_row(seals: Seals, session_id: str, memory: Memory, entries: tuple[Entry, ...]) -> tuple[str | None, str]:
    """The history and the memory as a row holds them. Raises `Forgotten` where there is no key."""
    words = seals.closed(written(memory), _place(session_id, "memory"))
    if words is None:
        raise Forgotten(session_id, "there is no key")
    history = seals.kept(Exact(frozenset(entries)), _place(session_id, "history"), _version(session_id))
    return history, words


def opened_row(seals: Seals, row: WorkbenchRecord) -> tuple[Memory, tuple[Entry, ...]]:
    """The memory and the history of a row. Raises `Forgotten`."""
    words = seals.reopened(row.memory, _place(row.session_id, "memory"))
    memory = None if words is None else read(words)
    if memory is None:
        raise Forgotten(row.session_id, "it was changed, or its key is gone")
    known = seals.known(row.history, _place(row.session_id, "history"), _version(row.session_id))
    if isinstance(known, Unknown):
        raise Forgotten(row.session_id, known.cause.value)
    entries = known.entries if isinstance(known, Exact) else frozenset()
    return memory, tuple(sorted(entries, key=lambda entry: (entry.name, entry.scope.user or "")))


def _detail(memory: Memory, entries: tuple[Entry, ...]) -> Mapping[str, Any]:
    """What an audit row says: names of secrets and stored items, and numbers. Never what code has named."""
    return {
        "places": len(memory.places) + len(memory.items),
        "secrets": sorted({entry.name for entry in entries})[:_MOST_TOLD],
        "tainted": memory.is_tainted,
        "brought": sorted(memory.brought)[:_MOST_TOLD],
    }


def _place(session_id: str, column: str) -> Place:
    return Place(TABLE, session_id, column)


def _version(session_id: str) -> str:
    """What the history is bound to. WHY the session alone: it belongs to all that lies in its workbench."""
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
