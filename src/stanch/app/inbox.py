"""What waits for a person: calls that need approval, and questions of agents.

Settles what the inbox lists and how a question is asked and answered. Does not settle what an approval does
(`app.approving`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, ApprovalState, ClarificationRecord, ClarificationState
from stanch.values.fault import BadFields
from stanch.values.records import Actor, Broken, Page

LONGEST_QUESTION = 20_000
MOST_CHOICES = 20


class Waiting(NamedTuple):
    """What is in the inbox: how much in all, and a page of each kind."""

    total: int
    approvals: Page[ApprovalRecord | Broken]
    clarifications: Page[ClarificationRecord | Broken]


class Inbox:
    """What is done with the inbox."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(
        self, *, session_id: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Waiting:
        """What waits now, oldest first. What has expired by now is no longer in it."""
        self._store.expire_due()
        approvals = self._store.list_approvals(session_id=session_id, limit=limit, cursor=cursor)
        questions = self._store.list_clarifications(limit=limit)
        return Waiting(approvals.total + questions.total, approvals, questions)

    def approval(self, request_id: str) -> ApprovalRecord:
        """The request, open or not. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_approval(request_id)

    def approvals(
        self, *, state: ApprovalState | None, session_id: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[ApprovalRecord | Broken]:
        """A page of requests in a state, oldest first."""
        return self._store.list_approvals(state=state, session_id=session_id, limit=limit, cursor=cursor)

    def ask(
        self, session_id: str, question: str, *, choices: Sequence[str] = (), seconds: int | None = None, by: Actor
    ) -> ClarificationRecord:
        """The new question of a session's agent. Raises `BadFields`, `NotFound`, and `Conflict` where it has ended."""
        if not question.strip() or len(question) > LONGEST_QUESTION:
            raise BadFields(("question", f"'question' must have 1 to {LONGEST_QUESTION:,} characters"))
        if len(choices) > MOST_CHOICES:
            raise BadFields(("choices", f"'choices' may have at most {MOST_CHOICES}"))
        now = datetime.now(UTC)
        asked = ClarificationRecord(
            request_id=f"ask_{secrets.token_hex(16)}",
            session_id=session_id,
            agent_id=self._store.get_session(session_id).agent_id,
            question=question,
            choices=tuple(choices),
            created_at=now,
            expires_at=None if seconds is None else now + timedelta(seconds=seconds),
        )
        return self._store.add_clarification(asked, by=by)

    def answer(self, request_id: str, answer: str, *, by: Actor) -> ClarificationRecord:
        """The question, answered. Raises `NotFound`, and `Conflict` with who answered it before."""
        return self._store.resolve_clarification(request_id, ClarificationState.ANSWERED, answer=answer, by=by)

    def cancel(self, request_id: str, *, by: Actor) -> ClarificationRecord:
        """The question, taken back. Raises `NotFound` and `Conflict`."""
        return self._store.resolve_clarification(request_id, ClarificationState.CANCELLED, by=by)
