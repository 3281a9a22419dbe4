"""What becomes of all that waits for a person when its session ends.

Settles that nothing of an ended session can be approved or started any more. Does not settle when it ends.
"""

from __future__ import annotations

from sqlalchemy import update

from stanch.gate.approval import Move, moved
from stanch.storage.rows import written_json, written_moment
from stanch.storage.schema import APPROVALS, BYPASSES, CALLS, CLARIFICATIONS
from stanch.storage.transactions import Change
from stanch.values.approval import ApprovalState, CallState, ClarificationState
from stanch.values.records import Actor

ENDED = {"code": "cancelled", "layer": "approval", "sentence": "Cancelled because its session ended"}
_CANCELLED = [
    state.value for state in CallState if state is not CallState.RUNNING and moved(state, Move.CANCEL) is not None
]


def end_waiting(change: Change, session_id: str, by: Actor) -> dict[str, int]:
    """Cancels the session's calls that nobody has started, its approvals and questions, and ends its bypasses.

    A call that is running goes on: whoever runs it says how it ends. Returns how many there were of each.
    """
    now, run = written_moment(change.at), change.connection.execute
    calls = run(
        update(CALLS)
        .where(CALLS.c.session_id == session_id, CALLS.c.state.in_(_CANCELLED))
        .values(state=CallState.CANCELLED.value, changed_at=now, reason=written_json(ENDED, "reason"))
    )
    who = {"resolved_by": by.principal, "resolved_at": now}
    run(
        update(APPROVALS)
        .where(APPROVALS.c.session_id == session_id, APPROVALS.c.state == ApprovalState.OPEN.value)
        .values(state=ApprovalState.CANCELLED.value, surface=by.surface, **who)
    )
    questions = run(
        update(CLARIFICATIONS)
        .where(CLARIFICATIONS.c.session_id == session_id, CLARIFICATIONS.c.state == ClarificationState.OPEN.value)
        .values(state=ClarificationState.CANCELLED.value, **who)
    )
    bypasses = run(
        update(BYPASSES).where(BYPASSES.c.session_id == session_id, BYPASSES.c.ended_at.is_(None)).values(ended_at=now)
    )
    return {"calls": calls.rowcount, "questions": questions.rowcount, "bypasses": bypasses.rowcount}
