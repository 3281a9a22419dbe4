"""The audit log, read.

Settles what may be asked of it. Does not settle which events are in it (`storage`).
"""

from __future__ import annotations

from stanch.storage.store import Store
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
        newest_first: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[AuditRecord | Broken]:
        """A page of the rows that fit every filter given."""
        return self._store.list_audit(
            actor=actor,
            surface=surface,
            action=action,
            subject=subject,
            newest_first=newest_first,
            limit=limit,
            cursor=cursor,
        )

    def verify(self) -> ChainReport:
        """Whether the chain of rows holds. Takes time in proportion to its length."""
        return self._store.verify_audit()
