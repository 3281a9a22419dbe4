"""Conversations in the store: the messages of each session, one after another, never changed.

Settles that a message is added once, in one place of its session's order, and that a call has one result. Does not
settle what a message holds (`tiers.dialects.ours`), nor when one is added (`runtime`).
WHY no audit row for each: they come with every step of every agent. The numbers of messages take the place of the
revision: they go up in the order in which messages are committed, so that whoever has seen one has seen all before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select

from stanch.storage.conversation_nouns import MESSAGE, TURN, message_body
from stanch.storage.conversation_schema import CALL_RESULTS, MESSAGES
from stanch.storage.nouns import SESSION
from stanch.storage.pages import page_of
from stanch.storage.rows import LARGEST, LARGEST_ID, LONGEST_KEY, is_storable, written_moment
from stanch.storage.transactions import Transactions, find
from stanch.values.fault import BadInput, BrokenRow, Conflict, quoted
from stanch.values.message import Message, Result
from stanch.values.records import Broken, Page
from stanch.values.turn import MessageRecord, Moved, TurnState

MESSAGES_CHANNEL = "stanch_messages"
_LOCK_NUMBER = 0x5374616E6D73


class Draft(NamedTuple):
    """A message ready to be added: as a row keeps it, and as it will be read, without its place."""

    role: str
    body: str
    message: Message
    answers: tuple[str, ...]


class Messages(Transactions):
    """The part of a store that keeps messages."""

    def add_message(
        self, session_id: str, message: Message, *, turn_id: str | None = None, node: str | None = None
    ) -> Message:
        """The message as it is kept, with the id that the store gave it. Raises as `add_messages` does."""
        (added,) = self.add_messages(session_id, (message,), turn_id=turn_id, node=node)
        return added

    def add_messages(
        self, session_id: str, messages: Sequence[Message], *, turn_id: str | None = None, node: str | None = None
    ) -> tuple[Message, ...]:
        """The messages as they are kept, behind all others of the session, all of them or none.

        Ids that they have are not kept. `turn_id` is the turn that adds them, `node` the process that runs it. Raises
        `NotFound`; `Conflict` where the session or the turn has ended, the turn is another session's, or another
        process runs it by now, and where a call that one of them answers has a result already; `BadInput` for a message
        that cannot be kept.
        """
        drafts = drafted(messages)
        with self._touching() as connection:
            hold_session(connection, session_id)
            if turn_id is not None:
                _hold_turn(connection, session_id, turn_id, node)
            added = put(connection, session_id, drafts, turn_id, self._clock())
        self._changed()
        return added

    def all_messages(self, session_id: str) -> list[Message]:
        """Every message of the session, oldest first.

        Raises `NotFound`, and `BrokenRow` where one cannot be read or is missing: nothing of a conversation is skipped.
        """
        wanted = select(MESSAGES).where(MESSAGES.c.session_id == session_id).order_by(MESSAGES.c.seq)
        with self._reading() as connection:
            find(connection, SESSION, session_id)
            rows = connection.execute(wanted).mappings().all()
        found = []
        for seq, row in enumerate(rows, 1):
            record = MESSAGE.readable(row)
            if record.seq != seq:
                raise BrokenRow(MESSAGES.name, str(record.number), f"the message before it, {seq}, is missing")
            found.append(record.message)
        return found

    def list_messages(
        self, session_id: str, *, after_seq: int = 0, limit: int = 50, cursor: str | None = None
    ) -> Page[MessageRecord | Broken]:
        """A page of the session's messages behind this one, oldest first. Raises `NotFound`, and `BadInput`."""
        if type(after_seq) is not int or not 0 <= after_seq <= LARGEST:
            raise BadInput(f"'after_seq' must be a whole number from 0 to {LARGEST}")
        with self._reading() as connection:
            find(connection, SESSION, session_id)
            return page_of(
                connection,
                MESSAGE,
                (MESSAGES.c.seq, MESSAGES.c.id),
                limit=limit,
                cursor=cursor,
                filters={MESSAGES.c.session_id: session_id},
                conditions=[MESSAGES.c.seq > after_seq] if after_seq else [],
            )

    def newest_message(self) -> int:
        """The number of the newest message of all sessions, 0 where there is none. A cheap question."""
        with self._reading() as connection:
            return _newest(connection)

    def moved_since(self, number: int) -> Moved:
        """The sessions with messages behind this one, and the number from which to ask the next time."""
        behind = min(max(number, 0), LARGEST_ID)
        wanted = select(MESSAGES.c.session_id).where(MESSAGES.c.id > behind).distinct()
        with self._reading() as connection:
            return Moved(_newest(connection), tuple(sorted(str(row[0]) for row in connection.execute(wanted))))


# --- within a transaction --------------------------------------------------------------------------------------------


def drafted(messages: Sequence[Message]) -> list[Draft]:
    """The messages, ready to be added. Raises `BadInput`."""
    return [_drafted(message) for message in messages]


def _drafted(message: Message) -> Draft:
    role, body = message.role.value, message_body(message)
    row = {"id": 1, "session_id": "s", "seq": 1, "turn_id": None, "role": role, "body": body, "created_at": _ANY_TIME}
    kept = MESSAGE.written(row).message
    answers = tuple(part.call_id for part in kept.parts if isinstance(part, Result))
    for call_id in answers:
        if not 0 < len(call_id) <= LONGEST_KEY or not is_storable(call_id):
            raise BadInput(f"the 'call_id' of a result must be text of 1 to {LONGEST_KEY} characters, without NUL")
    return Draft(role, body, kept, answers)


def hold_session(connection: Connection, session_id: str) -> Any:
    """The session's row; the session does not end before the transaction does. Raises `NotFound` and `Conflict`."""
    row = find(connection, SESSION, session_id, held=True)
    if row["ended_at"] is not None:
        raise Conflict(f"the session {quoted(session_id)} has ended")
    return row


def _hold_turn(connection: Connection, session_id: str, turn_id: str, node: str | None) -> None:
    turn = TURN.readable(find(connection, TURN, turn_id, held=True))
    if turn.session_id != session_id:
        raise Conflict(f"the turn {quoted(turn_id)} is none of the session {quoted(session_id)}")
    if turn.state is not TurnState.RUNNING:
        raise Conflict(f"the turn {quoted(turn_id)} is {turn.state.value}")
    if node is not None and turn.node != node:
        raise Conflict(f"the turn {quoted(turn_id)} is run by the node {quoted(turn.node)} by now")


def put(
    connection: Connection, session_id: str, drafts: Sequence[Draft], turn_id: str | None, now: datetime
) -> tuple[Message, ...]:
    """Adds messages to a session that is held. Raises `Conflict` where a call has a result already.

    INVARIANT: one transaction at a time adds messages, and the lock comes after those of all rows. That makes numbers
    go up in the order of commits, and of two results of one call the second is seen to be one.
    """
    if not drafts:
        return ()
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK_NUMBER)))
    number, at = _newest(connection), written_moment(now.astimezone(UTC))
    last = select(func.max(MESSAGES.c.seq)).where(MESSAGES.c.session_id == session_id)
    seq = connection.execute(last).scalar_one() or 0
    rows, results, added = [], [], []
    for draft in drafts:
        number, seq = number + 1, seq + 1
        rows.append(
            {
                "id": number,
                "session_id": session_id,
                "seq": seq,
                "turn_id": turn_id,
                "role": draft.role,
                "body": draft.body,
                "created_at": at,
            }
        )
        results += [{"session_id": session_id, "call_id": one, "message_id": number} for one in draft.answers]
        added.append(replace(draft.message, id=str(number)))
    connection.execute(insert(MESSAGES), rows)
    if results:
        _answer(connection, session_id, results)
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(MESSAGES_CHANNEL, str(number))))
    return tuple(added)


def _answer(connection: Connection, session_id: str, results: Sequence[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for result in results:
        call_id = result["call_id"]
        wanted = select(CALL_RESULTS.c.message_id).where(
            CALL_RESULTS.c.session_id == session_id, CALL_RESULTS.c.call_id == call_id
        )
        if call_id in seen or connection.execute(wanted).first() is not None:
            raise Conflict(f"the call {quoted(call_id)} has a result already")
        seen.add(call_id)
    connection.execute(insert(CALL_RESULTS), list(results))


def _newest(connection: Connection) -> int:
    return int(connection.execute(select(func.coalesce(func.max(MESSAGES.c.id), 0))).scalar_one())


_ANY_TIME = written_moment(datetime(2000, 1, 1, tzinfo=UTC))
