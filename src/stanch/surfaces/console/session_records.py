"""What is stored of one session, gathered for its page.

Settles which part of a long session is gathered, and what tells that something of it is new. Does not settle how any of
it reads (`timeline`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeVar

from stanch.app.service import Service
from stanch.surfaces.following import last_seq
from stanch.tiers.tier import Tiers, TiersBroken
from stanch.values.approval import (
    ApprovalRecord,
    ApprovalState,
    BypassRecord,
    CallRecord,
    ClarificationRecord,
    ClarificationState,
)
from stanch.values.records import AuditRecord, Broken, SessionRecord
from stanch.values.turn import MessageRecord, TurnRecord

MOST_MESSAGES = 100
MOST_EACH = 200
MOST_PAGES = 20
MOST_BELOW = 50
Item = TypeVar("Item")


class Standing(NamedTuple):
    """How a session stands: its newest turn, and how much of it waits for a person."""

    session: SessionRecord
    turn: TurnRecord | None
    waiting: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is stored of a session between two messages. `first` is the seq of the first, 1 where there is none."""

    standing: Standing
    first: int
    total: int
    until: datetime | None
    messages: list[MessageRecord]
    calls: list[CallRecord]
    approvals: dict[str, ApprovalRecord]
    questions: list[ClarificationRecord]
    bypasses: list[BypassRecord]
    changes: list[AuditRecord]
    turns: list[TurnRecord]
    below: list[Standing]
    broken: list[Broken]


def gathered(service: Service, session_id: str, *, before: int | None = None) -> Gathered:
    """The newest part of a session, or the part before a message. Raises `NotFound`, and `StoreUnreadable`."""
    session = service.sessions.now(service.sessions.get(session_id))
    total = last_seq(service, session_id)
    end = total if before is None else max(0, min(before - 1, total))
    first = max(0, end - MOST_MESSAGES)
    broken: list[Broken] = []

    def whole(items: Iterable[Item | Broken]) -> list[Item]:
        kept: list[Item] = []
        for one in items:
            if isinstance(one, Broken):
                broken.append(one)
            else:
                kept.append(one)
        return kept

    read = service.messages.list(session_id, after_seq=first, limit=MOST_MESSAGES).items
    messages = whole(read if before is None else read[: end - first])
    since = messages[0].created_at if messages and first else None
    calls, approvals = _calls(service, session_id, since)
    told = service.projecting.records()
    changes = whole(service.audit.list(subject=session_id, receipts=False, newest_first=True, limit=MOST_EACH).items)
    turns = whole(service.turn_log.list(session_id, limit=MOST_EACH).items)
    below = whole(service.sessions.list(parent_id=session_id, limit=MOST_BELOW).items)
    return Gathered(
        standing=standing(service, session),
        first=first + 1,
        total=total,
        until=messages[-1].created_at if messages and before is not None else None,
        messages=messages,
        calls=[told.call(one) for one in whole(calls)],
        approvals={one.request_id: told.approval(one) for one in whole(approvals)},
        questions=whole(service.inbox.questions(state=None, session_id=session_id, limit=MOST_EACH).items),
        bypasses=whole(service.bypasses.given(session_id)),
        changes=[told.row(one) for one in changes[::-1]],
        turns=[told.turn(one) for one in turns[::-1]],
        below=[standing(service, one) for one in reversed(below)],
        broken=broken,
    )


def _calls(
    service: Service, session_id: str, since: datetime | None
) -> tuple[list[CallRecord | Broken], list[ApprovalRecord | Broken]]:
    """The calls of the session from this moment on, and the requests that they wait or waited for."""
    calls: list[CallRecord | Broken] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = service.calls.list(session_id, limit=MOST_EACH, cursor=cursor)
        calls += page.items
        cursor, last = page.next, page.items[-1] if page.items else None
        if cursor is None or (since is not None and isinstance(last, CallRecord) and last.created_at < since):
            break
    wanted = [one.request_id for one in calls if isinstance(one, CallRecord) and one.request_id is not None]
    approvals: list[ApprovalRecord | Broken] = []
    cursor = None
    for _ in range(MOST_PAGES if wanted else 0):
        found = service.inbox.approvals(state=None, session_id=session_id, limit=MOST_EACH, cursor=cursor)
        approvals += found.items
        cursor = found.next
        if cursor is None:
            break
    return calls[::-1], approvals


def standing(service: Service, session: SessionRecord) -> Standing:
    """How the session stands."""
    turns = service.turn_log.list(session.id, limit=1).items
    turn = turns[0] if turns and not isinstance(turns[0], Broken) else None
    return Standing(session, turn, waiting_of(service, session.id))


def waiting_of(service: Service, session_id: str) -> int:
    """How many calls and questions of the session wait for a person."""
    calls = service.inbox.approvals(state=ApprovalState.OPEN, session_id=session_id, limit=1)
    questions = service.inbox.questions(state=ClarificationState.OPEN, session_id=session_id, limit=1)
    return calls.total + questions.total


def tier_words(service: Service, model: str | None) -> str:
    """The trust tier of a model as a page shows it; empty for no model."""
    if model is None:
        return ""
    try:
        return Tiers(service.policy).of(model).id
    except TiersBroken:
        return "tier unknown"


def mark_of(service: Service, session_id: str) -> str:
    """A digest of how the session stands: another one where its page would show something else."""
    session = service.sessions.get(session_id)
    turns = service.turn_log.list(session_id, limit=5).items
    calls = service.calls.list(session_id, limit=MOST_EACH).items
    below = service.sessions.list(parent_id=session_id, limit=MOST_BELOW).items
    questions = service.inbox.questions(state=None, session_id=session_id, limit=MOST_EACH).items
    said: list[object] = [
        (last_seq(service, session_id), session.model, session.ended_at),
        service.audit.list(subject=session_id, receipts=False, limit=1).total,
        [(one.id, "" if isinstance(one, Broken) else one.state.value) for one in turns],
        [(one.id, "" if isinstance(one, Broken) else (one.state.value, one.changed_at)) for one in calls],
        [one.id if isinstance(one, Broken) else (one.request_id, one.state.value) for one in questions],
        [one.id for one in service.bypasses.given(session_id)],
        [one.id if isinstance(one, Broken) else _stands(service, one) for one in below],
    ]
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _stands(service: Service, session: SessionRecord) -> tuple[object, ...]:
    found = standing(service, session)
    turn = "" if found.turn is None else (found.turn.id, found.turn.state.value)
    return session.id, session.ended_at, turn, found.waiting
