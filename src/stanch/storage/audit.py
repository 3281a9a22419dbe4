"""The audit log in the store: rows chained by digests.

Settles how rows are added, read and verified. Does not settle which events are worth one.
ABSENT: an anchor outside of the store. Whoever can rewrite all of its tables can make a new chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import or_, select

from stanch.storage.chain import report
from stanch.storage.nouns import AUDIT_ROW
from stanch.storage.pages import page_of
from stanch.storage.schema import AUDIT
from stanch.storage.transactions import Transactions, state_of
from stanch.values.records import Actor, AuditRecord, Broken, ChainReport, Page


class Audit(Transactions):
    """The part of a store that keeps the audit log. Every change of the store adds a row by itself."""

    def append_audit(
        self, *, action: str, subject: str, detail: Mapping[str, Any] | None = None, by: Actor
    ) -> AuditRecord:
        """The row of an event that changed nothing else in the store. `detail` is JSON, of names and places only."""
        with self._changing(by, action, subject) as change:
            change.detail.update(detail or {})
        return AUDIT_ROW.written(change.written)

    def list_audit(
        self,
        *,
        actor: str | None = None,
        surface: str | None = None,
        action: str | None = None,
        subject: str | None = None,
        newest_first: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[AuditRecord | Broken]:
        """A page of the rows that fit every filter given, by seq. Raises `BadInput` as `list_groups` does."""
        filters = {AUDIT.c.actor: actor, AUDIT.c.surface: surface, AUDIT.c.action: action, AUDIT.c.subject: subject}
        with self._reading() as connection:
            return page_of(
                connection,
                AUDIT_ROW,
                (AUDIT.c.seq,),
                limit=limit,
                cursor=cursor,
                filters=filters,
                descending=newest_first,
            )

    def list_events(self, after: int, kinds: Sequence[str], limit: int = 200) -> list[AuditRecord | Broken]:
        """The rows behind `after` whose action is of one of these kinds (`call` for `call.ask`), oldest first."""
        wanted = (
            select(AUDIT)
            .where(AUDIT.c.seq > after, or_(*(AUDIT.c.action.startswith(f"{kind}.") for kind in kinds)))
            .order_by(AUDIT.c.seq)
            .limit(limit)
        )
        with self._reading() as connection:
            return [AUDIT_ROW.read(row) for row in connection.execute(wanted).mappings()]

    def last_event(self) -> int:
        """The seq of the newest row."""
        with self._reading() as connection:
            return int(state_of(connection)["audit_seq"])

    def verify_audit(self) -> ChainReport:
        """Whether the chain holds from its first row to the last that the store wrote; names the first that breaks it.

        Reading the whole log, it takes time in proportion.
        """
        with self._reading() as connection:
            state = state_of(connection)
            return report(connection, state["audit_seq"], state["audit_digest"])
