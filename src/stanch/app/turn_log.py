"""Turns as they are stored: begun, gone on with after a process is gone, ended, stopped.

Settles what this process says of the turns that it runs, and what a person does with any. Does not settle what a turn
does (`runtime`), nor which context it keeps (`app.turns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stanch.storage.store import Store
from stanch.values.message import Message
from stanch.values.records import Actor, Broken, Page
from stanch.values.turn import NO_COUNTS, TurnProblem, TurnRecord, TurnState

_PAGE = 500


class TurnLog:
    """What is done with stored turns. `node` is this process, which runs those begun or claimed here."""

    def __init__(self, store: Store, node: str) -> None:
        self._store, self._node = store, node

    def begin(
        self, session_id: str, messages: Sequence[Message] = (), *, model: str | None = None, by: Actor
    ) -> TurnRecord:
        """The session's new turn, with the messages that it begins with, such as the prompt.

        Raises `NotFound`, `BadInput` for a message that cannot be kept, and `Conflict` where the session has ended or
        has a turn under way: its message says who runs that.
        """
        return self._store.begin_turn(session_id, self._node, messages, model=model, by=by)

    def end(
        self,
        turn_id: str,
        state: TurnState,
        problem: TurnProblem | None = None,
        *,
        counts: Mapping[str, int] = NO_COUNTS,
        by: Actor,
    ) -> TurnRecord:
        """The turn, ended by the process that runs it.

        Raises `NotFound`, and `Conflict` where it has ended before, or another process runs it by now.
        """
        return self._store.end_turn(turn_id, state, problem, counts=counts, node=self._node, by=by)

    def stop(self, turn_id: str, *, by: Actor) -> TurnRecord:
        """The turn, stopped by a person, whichever process runs it. Raises `NotFound`, and `Conflict` if it is over."""
        return self._store.stop_turn(turn_id, by=by)

    def claim(self) -> list[TurnRecord]:
        """The turns that this process goes on with from now on, since those that ran them are gone. Cheap to repeat."""
        return self._store.claim_turns(self._node)

    def get(self, turn_id: str) -> TurnRecord:
        """The turn. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_turn(turn_id)

    def running(self, session_id: str) -> TurnRecord | None:
        """The session's turn that is under way, on whichever node; None where there is none."""
        return self._store.running_turn(session_id)

    def running_here(self) -> frozenset[str]:
        """The ids of all turns that are under way on this process, as the store has it."""
        found: set[str] = set()
        cursor: str | None = None
        while True:
            page = self._store.list_turns(state=TurnState.RUNNING, node=self._node, limit=_PAGE, cursor=cursor)
            found.update(one.id for one in page.items)
            cursor = page.next
            if cursor is None:
                return frozenset(found)

    def list(
        self,
        session_id: str | None = None,
        *,
        state: TurnState | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[TurnRecord | Broken]:
        """A page of turns, newest first; those of all sessions where none is named."""
        return self._store.list_turns(session_id, state=state, limit=limit, cursor=cursor)
