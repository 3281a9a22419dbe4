"""The audit log in the store: rows chained by digests.

Settles how rows are added, read and verified. Does not settle which events are worth one.
ABSENT: an anchor outside of the store. Whoever can rewrite all of its tables can make a new chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import or_, select

from stanch.storage.chain import report
from stanch.storage.nouns import AUDIT_ROW
from stanch.storage.pages import page_of
from stanch.storage.rows import Row
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

    def append_receipts(self, *, action: str, subject: str, details: Sequence[Mapping[str, Any]], by: Actor) -> None:
        """Rows of what a model is given, all of them or none. They are no change: there is no new revision of them."""
        self._noting(by, action, subject, details)

    def list_audit(
        self,
        *,
        actor: str | None = None,
        surface: str | None = None,
        action: str | None = None,
        subject: str | None = None,
        without: Sequence[str] = (),
        newest_first: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[AuditRecord | Broken]:
        """A page of the rows that fit every filter given, by seq, but those with an action of `without`.

        Raises `BadInput` as `list_groups` does.
        """
        filters = {AUDIT.c.actor: actor, AUDIT.c.surface: surface, AUDIT.c.action: action, AUDIT.c.subject: subject}
        with self._reading() as connection:
            return page_of(
                connection,
                AUDIT_ROW,
                (AUDIT.c.seq,),
                limit=limit,
                cursor=cursor,
                filters=filters,
                conditions=[AUDIT.c.action.not_in(list(without))] if without else [],
                descending=newest_first,
            )

    def list_receipts(
        self, subject: str, actions: Sequence[str], *, limit: int = 50, cursor: str | None = None
    ) -> Page[AuditRecord | Broken]:
        """A page of the rows with one of these actions about this subject, the newest first. Raises `BadInput`."""
        with self._reading() as connection:
            return page_of(
                connection,
                AUDIT_ROW,
                (AUDIT.c.seq,),
                limit=limit,
                cursor=cursor,
                filters={AUDIT.c.subject: subject},
                conditions=[AUDIT.c.action.in_(list(actions))],
                descending=True,
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

    def verify_audit(self, each: Callable[[Row], None] | None = None) -> ChainReport:
        """Whether the chain holds from its first row to the last that the store wrote; names the first that breaks it.

        Reading the whole log, it takes time in proportion. `each` is shown every row on the way as it is stored, in
        order; those behind the first that breaks the chain, too.
        """
        with self._reading() as connection:
            state = state_of(connection)
            return report(connection, state["audit_seq"], state["audit_digest"], each)
