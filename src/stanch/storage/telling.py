"""Who has been told of which request for approval.

Settles that of several nodes one tells a request at a time, and that a try which came to nothing is made again. Does
not settle who is told, nor how (`app.notifying`).
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import or_, select, update

from stanch.storage.approval_nouns import APPROVAL
from stanch.storage.rows import written_moment
from stanch.storage.schema import APPROVALS
from stanch.storage.transactions import Transactions
from stanch.values.approval import ApprovalRecord, ApprovalState
from stanch.values.records import Actor, Broken

SENT, GIVEN_UP = "sent", "given_up"


class Telling(Transactions):
    """The part of a store that knows which open requests nobody has been told of yet."""

    def claim_untold(self, hold: timedelta) -> tuple[ApprovalRecord, int] | None:
        """An open request that is to be told now, and how often that was tried, this time included; None for none.

        It is the caller's for as long as `hold`: no other is given it meanwhile.
        """
        now = self._clock()
        moment = written_moment(now)
        due = (
            APPROVALS.c.state == ApprovalState.OPEN.value,
            APPROVALS.c.told.is_(None),
            or_(APPROVALS.c.tell_at.is_(None), APPROVALS.c.tell_at <= moment),
        )
        wanted = select(APPROVALS).where(*due).order_by(APPROVALS.c.created_at, APPROVALS.c.request_id).limit(1)
        while True:
            with self._reading() as connection:
                row = connection.execute(wanted).mappings().first()
            if row is None:
                return None
            tries = row["tell_tries"] + 1
            claim = update(APPROVALS).where(APPROVALS.c.request_id == row["request_id"], *due)
            with self._touching() as connection:
                done = connection.execute(claim.values(tell_at=written_moment(now + hold), tell_tries=tries))
            approval = APPROVAL.read(row)
            if done.rowcount == 1 and not isinstance(approval, Broken):
                return approval, tries

    def told(self, request_id: str) -> None:
        """Takes down that somebody was told of the request. It changes nothing anybody asks for."""
        with self._touching() as connection:
            connection.execute(update(APPROVALS).where(APPROVALS.c.request_id == request_id).values(told=SENT))

    def tell_later(self, request_id: str, wait: timedelta) -> None:
        """Takes down that a try came to nothing, and when the next one is due."""
        at = written_moment(self._clock() + wait)
        with self._touching() as connection:
            connection.execute(update(APPROVALS).where(APPROVALS.c.request_id == request_id).values(tell_at=at))

    def stop_telling(self, request_id: str, *, why: str, tries: int, by: Actor) -> None:
        """Takes down, in the audit log too, that nobody could be told of the request. It stays open."""
        with self._changing(by, "webhook.give_up", request_id) as change:
            change.connection.execute(
                update(APPROVALS).where(APPROVALS.c.request_id == request_id).values(told=GIVEN_UP)
            )
            change.detail.update(why=why, tries=tries)
