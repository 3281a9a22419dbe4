"""What workbenches remember, one row for each session that has one.

Settles that two who change the same row are told apart, and that what an audit row says of it are names alone. Does not
settle what is remembered (`delivery.workbench`), nor how it is sealed: nothing here opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import select

from stanch.storage.nouns import SESSION
from stanch.storage.rows import LARGEST_ID, Fields, Noun, is_storable, written_moment
from stanch.storage.schema import SESSIONS
from stanch.storage.store import Store
from stanch.storage.transactions import Transactions
from stanch.storage.workbenches_schema import WORKBENCHES
from stanch.values.fault import Conflict, quoted
from stanch.values.records import Actor, Broken, SessionRecord
from stanch.values.workbench import WorkbenchRecord


def _workbench(row: Fields) -> WorkbenchRecord:
    return WorkbenchRecord(
        session_id=row.key("session_id"),
        history=row.maybe("history"),
        memory=row.text("memory"),
        revision=row.whole("revision", 1, LARGEST_ID),
        changed_at=row.moment("changed_at"),
    )


WORKBENCH = Noun("workbench", WORKBENCHES, _workbench)


_AT_ONCE = 500


class WorkbenchRows(Transactions):
    """The rows of workbenches. Every method may be called from any thread, and blocks."""

    def __init__(self, store: Store) -> None:
        """Over the store's own connections. The store stays its opener's to close."""
        self._store = store
        self._engine, self._clock, self._closed = store._engine, store._clock, store._closed

    def _changed(self) -> None:
        self._store._changed()

    def workbench(self, session_id: str) -> WorkbenchRecord | None:
        """What is remembered of the session's workbench; None for nothing. Raises `BrokenRow`."""
        if not is_storable(session_id):
            return None
        with self._reading() as connection:
            wanted = select(WORKBENCHES).where(WORKBENCHES.c.session_id == session_id)
            row = connection.execute(wanted).mappings().first()
        return None if row is None else WORKBENCH.readable(row)

    def keep_workbench(
        self,
        session_id: str,
        *,
        history: str | None,
        memory: str,
        expected: int,
        detail: Mapping[str, Any],
        by: Actor,
    ) -> WorkbenchRecord:
        """The row with these columns. `expected` is the revision that it has, 0 where there is none.

        Raises `NotFound` where there is no such session, and `Conflict` where somebody else has changed the row.
        """
        with self._changing(by, "workbench.keep", session_id) as change:
            change.find(SESSION, session_id)
            wanted = select(WORKBENCHES).where(WORKBENCHES.c.session_id == session_id)
            known = change.connection.execute(wanted).mappings().first()
            if (0 if known is None else known["revision"]) != expected:
                raise Conflict(f"the workbench of the session {quoted(session_id)} was changed meanwhile")
            row = {
                "history": history,
                "memory": memory,
                "revision": expected + 1,
                "changed_at": written_moment(change.at),
            }
            change.detail.update(detail)
            if known is not None:
                return change.replace(WORKBENCH, session_id, row)
            whole = {"session_id": session_id, **row}
            record = WORKBENCH.written(whole)
            change.add(WORKBENCH, whole)
            return record

    def sessions_called(self, names: Collection[str], name_of: Callable[[str], str]) -> list[SessionRecord | Broken]:
        """The sessions whose workbenches have one of these names. `name_of` gives the name for a session's id."""
        wanted = sorted(names)
        with self._reading() as connection:
            ids = {name for name in wanted if name_of(name) == name}
            others = set(wanted) - ids
            if others:
                every = connection.execute(select(SESSIONS.c.id)).scalars()
                ids |= {one for one in every if isinstance(one, str) and name_of(one) in others}
            found: list[SessionRecord | Broken] = []
            some = sorted(ids)
            for at in range(0, len(some), _AT_ONCE):
                rows = connection.execute(select(SESSIONS).where(SESSIONS.c.id.in_(some[at : at + _AT_ONCE])))
                found += [SESSION.read(row) for row in rows.mappings()]
        return found

    def forget_workbench(self, session_id: str, *, by: Actor, detail: Mapping[str, Any] | None = None) -> bool:
        """Forgets the row, whatever is in it; false where there is none. `detail` goes with the audit row."""
        with self._changing(by, "workbench.clear", session_id) as change:
            gone = change.remove(WORKBENCH, WORKBENCHES.c.session_id == session_id)
            change.detail.update(detail or {}, forgotten=bool(gone))
        return bool(gone)
