"""What waits for a person: calls that need approval, and questions of agents.

Settles what the inbox lists and how a question is asked and answered. Does not settle what an approval does
(`app.approving`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from stanch.app.live import Live
from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, ApprovalState, ClarificationRecord, ClarificationState
from stanch.values.fault import BadFields, BadInput, Conflict, quoted
from stanch.values.records import Actor, Broken, Page

LONGEST_QUESTION = 20_000
LONGEST_ANSWER = 100_000
MOST_CHOICES = 20
MOST_WAITING = 100


class Waiting(NamedTuple):
    """What is in the inbox: how much in all, a page of each kind, and where the next page starts."""

    total: int
    approvals: Page[ApprovalRecord | Broken]
    clarifications: Page[ClarificationRecord | Broken]
    next: str | None = None


class Inbox:
    """What is done with the inbox."""

    def __init__(self, store: Store, live: Live, clock: Callable[[], datetime] | None = None) -> None:
        self._store, self._live = store, live
        self._now = clock or (lambda: datetime.now(UTC))

    def list(self, *, session_id: str | None = None, limit: int = 50, cursor: str | None = None) -> Waiting:
        """What waits now, oldest first, at most `limit` of each kind. What has expired by now is no longer in it.

        Raises `BadInput` for a cursor that is none.
        """
        self._store.expire_due(self._now())
        approvals, questions = _places(cursor)
        first = self._store.list_approvals(session_id=session_id, limit=limit, cursor=_given(approvals))
        second = self._store.list_clarifications(session_id=session_id, limit=limit, cursor=_given(questions))
        following = _cursor(_END if approvals == _END else first.next, _END if questions == _END else second.next)
        return Waiting(
            first.total + second.total,
            replace(first, items=()) if approvals == _END else first,
            replace(second, items=()) if questions == _END else second,
            following,
        )

    def approval(self, request_id: str) -> ApprovalRecord:
        """The request, open or not. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_approval(request_id)

    def resolution(self, request_id: str) -> ApprovalRecord:
        """The request as it stands now: one whose time is over has expired. Raises what `approval` raises."""
        self._store.expire_due(self._now())
        return self._store.get_approval(request_id)

    def approvals(
        self, *, state: ApprovalState | None, session_id: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[ApprovalRecord | Broken]:
        """A page of requests in a state, oldest first."""
        return self._store.list_approvals(state=state, session_id=session_id, limit=limit, cursor=cursor)

    def questions(
        self,
        *,
        state: ClarificationState | None,
        session_id: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[ClarificationRecord | Broken]:
        """A page of questions in a state, or in any, oldest first."""
        return self._store.list_clarifications(state=state, session_id=session_id, limit=limit, cursor=cursor)

    def ask(self, session_id: str, question: str, *, choices: Sequence[str] = (), by: Actor) -> ClarificationRecord:
        """The new question of a session's agent, which expires as a request for approval of the session would.

        Raises `BadFields`, `NotFound`, and `Conflict` where the session has ended, has nobody who answers, or has too
        many questions open.
        """
        if not question.strip() or len(question) > LONGEST_QUESTION:
            raise BadFields(("question", f"'question' must have 1 to {LONGEST_QUESTION:,} characters"))
        if len(choices) > MOST_CHOICES or not all(one.strip() and len(one) <= LONGEST_QUESTION for one in choices):
            raise BadFields(("choices", f"'choices' may have at most {MOST_CHOICES}, none of them blank"))
        session = self._store.get_session(session_id)
        if not session.approver:
            raise Conflict(f"the session {quoted(session_id)} has nobody who answers")
        if self._store.list_clarifications(session_id=session_id, limit=1).total >= MOST_WAITING:
            raise Conflict(f"{MOST_WAITING} questions of the session {quoted(session_id)} are open already")
        now, seconds = self._now(), self._live.policy.expires_after.get(session.source.value)
        asked = ClarificationRecord(
            request_id=f"ask_{secrets.token_hex(16)}",
            session_id=session_id,
            agent_id=session.agent_id,
            question=question,
            choices=tuple(choices),
            created_at=now,
            expires_at=None if seconds is None else now + timedelta(seconds=seconds),
        )
        return self._store.add_clarification(asked, by=by)

    def question(self, request_id: str) -> ClarificationRecord:
        """The question, open or not. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_clarification(request_id)

    def answer(self, request_id: str, answer: str, *, by: Actor) -> ClarificationRecord:
        """The question, answered; the same answer of the same person once more changes nothing.

        Raises `BadFields`, `NotFound`, and `Conflict` with who answered it before.
        """
        if not answer.strip() or len(answer) > LONGEST_ANSWER:
            raise BadFields(("answer", f"'answer' must have 1 to {LONGEST_ANSWER:,} characters"))
        try:
            return self._store.resolve_clarification(request_id, ClarificationState.ANSWERED, answer=answer, by=by)
        except Conflict:
            found = self._store.get_clarification(request_id)
            if found.state is ClarificationState.ANSWERED and (found.answer, found.resolved_by) == (
                answer,
                by.principal,
            ):
                return found
            raise

    def cancel(self, request_id: str, *, by: Actor) -> ClarificationRecord:
        """The question, taken back. Raises `NotFound` and `Conflict`."""
        return self._store.resolve_clarification(request_id, ClarificationState.CANCELLED, by=by)


_END = "-"


def _cursor(approvals: str | None, questions: str | None) -> str | None:
    """Where the next page of both lists starts; None where both have ended."""
    places = (approvals or _END, questions or _END)
    return None if places == (_END, _END) else "~".join(places)


def _places(cursor: str | None) -> tuple[str, str]:
    """Where each list goes on: empty for its start, `-` where it has ended."""
    if cursor is None:
        return "", ""
    approvals, _, questions = cursor.partition("~")
    if not approvals or not questions:
        raise BadInput("'cursor' is none that this list has given")
    return approvals, questions


def _given(place: str) -> str | None:
    return None if place in ("", _END) else place
