"""What of a turn was refused: the calls that did not run, of its agent and of those below it.

Settles which calls belong to a turn. Does not settle why any was refused (`app.calls`).
WHY: whoever comes back to a run that nobody watched wants to know what it could not do.
"""

from __future__ import annotations

from stanch.storage.store import Store
from stanch.values.approval import CallRecord, CallState
from stanch.values.message import Call
from stanch.values.records import Broken
from stanch.values.turn import TurnRecord

_PAGE = 500


def refused_in(store: Store, turn: TurnRecord) -> list[CallRecord]:
    """The calls of the turn that were rejected, by a rule or a person or for want of one, oldest first.

    Those of subagents are among them. Rows that cannot be read are left out. Raises `NotFound`.
    """
    own = _asked_in(store, turn)
    found = [call for call in _rejected(store, turn.session_id) if call.tool_call_id in own]
    todo = _opened(store, turn.session_id, turn)
    while todo:
        session_id = todo.pop()
        found += _rejected(store, session_id)
        todo += _opened(store, session_id, turn)
    return sorted(found, key=lambda call: (call.created_at, call.id))


def _asked_in(store: Store, turn: TurnRecord) -> set[str]:
    """The ids of the calls that a model made in the turn.

    WHY not those of its time: a call is dated by the process that judges it, a turn by the one that stores it.
    """
    found: set[str] = set()
    cursor: str | None = None
    while True:
        page = store.list_messages(turn.session_id, limit=_PAGE, cursor=cursor)
        for one in page.items:
            if not isinstance(one, Broken) and one.turn_id == turn.id:
                found.update(part.id for part in one.message.parts if isinstance(part, Call))
        cursor = page.next
        if cursor is None:
            return found


def _rejected(store: Store, session_id: str) -> list[CallRecord]:
    found: list[CallRecord] = []
    cursor: str | None = None
    while True:
        page = store.list_calls(session_id=session_id, state=CallState.REJECTED, limit=_PAGE, cursor=cursor)
        found += [one for one in page.items if not isinstance(one, Broken)]
        cursor = page.next
        if cursor is None:
            return found


def _opened(store: Store, session_id: str, turn: TurnRecord) -> list[str]:
    """The sessions that were opened below this one in the course of the turn."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = store.list_sessions(parent_id=session_id, limit=_PAGE, cursor=cursor)
        sessions = [one for one in page.items if not isinstance(one, Broken)]
        found += [one.id for one in sessions if turn.started_at <= one.created_at <= (turn.ended_at or one.created_at)]
        cursor = page.next
        if cursor is None:
            return found
