"""Approvals that nobody used in time: their calls end without having run.

Settles which those are, and that of whoever starts such a call and the clock one wins. Does not settle how long an
approval holds (`gate.approval`).
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select

from stanch.gate.approval import Move, has_lapsed
from stanch.storage.answering import LAPSED
from stanch.storage.approval_nouns import APPROVAL
from stanch.storage.calls import CLOCK, Calls
from stanch.storage.schema import APPROVALS, CALLS
from stanch.values.approval import CallRecord, CallState
from stanch.values.fault import BrokenRow, Conflict, NotFound, quoted
from stanch.values.records import Broken


class Lapsing(Calls):
    """The part of a store that ends calls whose approvals hold no longer."""

    def lapse_call(self, call_id: str, *, now: datetime | None = None) -> CallRecord:
        """The call, rejected since its approval holds no longer.

        Raises `Conflict` where it stands elsewhere by now, or its approval still holds.
        """
        with self._changing(CLOCK, f"call.{Move.EXPIRE.value}", call_id) as change:
            call = self._moving(change, call_id, Move.EXPIRE, None)
            row = None if call.request_id is None else change.find(APPROVAL, call.request_id)
            approval = None if row is None else APPROVAL.readable(row)
            if call.state is not CallState.PENDING or approval is None or not has_lapsed(approval, now or change.at):
                raise Conflict(f"the approval of the call {quoted(call_id)} is not over")
            change.detail["request"] = approval.request_id
            return self._put(change, call, Move.EXPIRE, LAPSED, None)

    def expire_due(self, now: datetime | None = None) -> list[str]:
        """As of `Calls`; also ends the calls whose approvals nobody used in time, and returns their ids behind."""
        moment = now or self._clock()
        expired = super().expire_due(moment)
        # WHY from the calls: those that wait to be started are few, and requests that were ever approved are many.
        unstarted = select(CALLS.c.request_id).where(
            CALLS.c.state == CallState.PENDING.value, CALLS.c.request_id.is_not(None)
        )
        wanted = select(APPROVALS).where(APPROVALS.c.request_id.in_(unstarted), APPROVALS.c.expires_at.is_not(None))
        with self._reading() as connection:
            found = [APPROVAL.read(row) for row in connection.execute(wanted).mappings()]
        for approval in found:
            if isinstance(approval, Broken) or not has_lapsed(approval, moment):
                continue
            try:
                self.lapse_call(approval.call_id, now=moment)
            except (Conflict, NotFound, BrokenRow):
                continue  # WHY: somebody was faster, and that is theirs to tell; a broken row is listed
            expired.append(approval.call_id)
        return expired
