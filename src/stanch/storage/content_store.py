"""Stored content: workspace files, runs, knowledge, tables, in the database of the store that is open already.

Settles that whoever has the store does not have the content: only the operations on it are given this. Does not settle
how each kind is kept (`content_files`, `content_runs`, `content_knowledge`, `content_tables`).
"""

from __future__ import annotations

from stanch.storage.content_files import FilesRows
from stanch.storage.content_knowledge import KnowledgeRows
from stanch.storage.content_runs import RunsRows
from stanch.storage.content_tables import TablesRows
from stanch.storage.store import Store
from stanch.values.records import Actor


class ContentStore(FilesRows, RunsRows, KnowledgeRows, TablesRows):
    """What is kept of content. Every method may be called from any thread, and blocks; see `Store`."""

    def __init__(self, store: Store) -> None:
        """Over the store's own connections. The store stays its opener's to close."""
        self._store = store
        self._engine, self._clock, self._closed = store._engine, store._clock, store._closed

    def note_observation(self, reason: str, session_id: str, *, by: Actor) -> None:
        """Keeps in the audit log that content was read for a chat outside of its model's sight, and why."""
        with self._changing(by, "content.observe", session_id) as change:
            change.detail["reason"] = reason

    def _changed(self) -> None:
        self._store._changed()
