"""The audit log, read.

Settles what may be asked of it. Does not settle which events are in it (`storage`).
"""

from __future__ import annotations

from stanch.delivery.receipts import DELIVERED, SENT
from stanch.delivery.who_saw import Asked, Sightings
from stanch.storage.store import Store
from stanch.values.fault import BadInput
from stanch.values.records import AuditRecord, Broken, ChainReport, Page


class AuditLog:
    """What is asked of the audit log."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(
        self,
        *,
        actor: str | None = None,
        surface: str | None = None,
        action: str | None = None,
        subject: str | None = None,
        receipts: bool = True,
        newest_first: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[AuditRecord | Broken]:
        """A page of the rows that fit every filter given; `receipts` False leaves those out."""
        return self._store.list_audit(
            actor=actor,
            surface=surface,
            action=action,
            subject=subject,
            without=() if receipts else (DELIVERED, SENT),
            newest_first=newest_first,
            limit=limit,
            cursor=cursor,
        )

    def who_saw(self, asked: Asked) -> tuple[Sightings, ChainReport]:
        """What the receipts say of a secret or an item, and whether the log that they stand in holds.

        One pass over the whole log, in memory that does not grow with it. Of a log that does not hold, what it says
        now is told. Raises `BadInput` where nothing is asked about.
        """
        if asked.secret is None and asked.item is None:
            raise BadInput("name a secret or an item")
        sightings = Sightings(asked)
        return sightings, self._store.verify_audit(sightings.take)

    def receipts(self, session_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[AuditRecord | Broken]:
        """A page of the receipts of a session, the newest first."""
        return self._store.list_receipts(session_id, (DELIVERED, SENT), limit=limit, cursor=cursor)

    def verify(self) -> ChainReport:
        """Whether the chain of rows holds. Takes time in proportion to its length."""
        return self._store.verify_audit()
