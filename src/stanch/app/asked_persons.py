"""What agents ask the persons of their sessions, as it is kept in the inbox.

Settles which stored question a call stands for, and who asks. Does not settle how its answer is waited for
(`runtime.builtin.asking`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from stanch.app.agent_gate import SURFACE
from stanch.app.inbox import Inbox
from stanch.storage.store import Store
from stanch.values.approval import ClarificationRecord, ClarificationState
from stanch.values.fault import Conflict, StoreUnreadable
from stanch.values.records import Actor, Broken

_MOST_QUESTIONS = 500
_NODE = Actor("stanch", "node")


class Questions:
    """The questions of agents to the persons of their sessions, in the store. Every method blocks."""

    def __init__(self, store: Store, inbox: Inbox) -> None:
        self._store, self._inbox = store, inbox

    def ask(self, session_id: str, question: str, choices: Sequence[str]) -> ClarificationRecord:
        """The question, as it waits for an answer."""
        return self._inbox.ask(session_id, question, choices=choices, by=Actor(session_id, SURFACE))

    def asked(self, session_id: str, question: str, choices: Sequence[str], since: datetime) -> str | None:
        """The id of the newest such question that was asked since then; None where there is none."""
        page = self._store.list_clarifications(state=None, session_id=session_id, limit=_MOST_QUESTIONS)
        found = [
            one.request_id
            for one in page.items
            if not isinstance(one, Broken)
            and (one.question, one.choices) == (question, tuple(choices))
            and one.created_at >= since
        ]
        return found[-1] if found else None

    def get(self, request_id: str) -> ClarificationRecord:
        """The question by its id. Raises `NotFound`."""
        return self._inbox.question(request_id)

    def cancel(self, request_id: str) -> None:
        """Takes the question back, where nobody has answered it yet."""
        try:
            if self._inbox.question(request_id).state is ClarificationState.OPEN:
                self._inbox.cancel(request_id, by=_NODE)
        except (Conflict, StoreUnreadable):
            return
