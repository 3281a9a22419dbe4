"""Turns in the store: which process is at work on which conversation.

Settles that a session has one running turn at most, over all nodes; that it ends once; and that the turns of a process
that is gone are taken over by one other. Does not settle what is done in a turn (`runtime`).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select, update

from stanch.storage.approval_nouns import NODE
from stanch.storage.conversation_nouns import TURN, counts_column, problem_column, turn_columns
from stanch.storage.conversation_schema import TURNS
from stanch.storage.messages import Messages, drafted, hold_session, put
from stanch.storage.nouns import SESSION
from stanch.storage.pages import page_of
from stanch.storage.rows import written_moment
from stanch.storage.schema import NODES
from stanch.storage.transactions import Change, find
from stanch.values.fault import BadInput, BrokenRow, Conflict, NotFound, quoted
from stanch.values.message import Message
from stanch.values.records import Actor, Broken, Page
from stanch.values.turn import NO_COUNTS, TurnProblem, TurnRecord, TurnState

SESSION_ENDED = TurnProblem("cancelled", "Stopped because its session ended")
NODE_ACTOR = Actor("stanch", "node")
LONGEST_STOP = 200


class Turns(Messages):
    """The part of a store that keeps turns."""

    def begin_turn(
        self, session_id: str, node: str, messages: Sequence[Message] = (), *, model: str | None = None, by: Actor
    ) -> TurnRecord:
        """The session's new turn, run by this process, with the messages that it begins with: all of it or nothing.

        `model` is the session's where none is given. Raises `NotFound`; `Conflict` where the session has ended or has a
        turn under way, which says who runs it, and where the process was taken for gone; what `add_messages` raises.
        """
        drafts = drafted(messages)
        turn_id = f"turn_{secrets.token_hex(12)}"
        with self._changing(by, "turn.begin", turn_id) as change:
            session = hold_session(change.connection, session_id)
            under_way = _running(change.connection, session_id)
            if under_way is not None:
                raise Conflict(_busy(under_way))
            serving(change, node)
            row = turn_columns(
                TurnRecord(
                    id=turn_id,
                    session_id=session_id,
                    node=node,
                    state=TurnState.RUNNING,
                    model=session["model"] if model is None else model,
                    asked_by=by.principal,
                    surface=by.surface,
                    started_at=change.at,
                    changed_at=change.at,
                )
            )
            record = TURN.written(row)
            change.add(TURN, row)
            put(change.connection, session_id, drafts, turn_id, change.at)
            change.detail.update(session=session_id, node=node, model=record.model, messages=len(drafts))
        return record

    def end_turn(
        self,
        turn_id: str,
        state: TurnState,
        problem: TurnProblem | None = None,
        *,
        counts: Mapping[str, int] = NO_COUNTS,
        node: str | None = None,
        by: Actor,
    ) -> TurnRecord:
        """The turn, ended. `node` is the process that runs it, where the caller is one.

        Raises `NotFound`, and `Conflict` where it has ended before, or another process runs it by now.
        """
        if state is TurnState.RUNNING:
            raise BadInput("a turn cannot end as 'running'")
        with self._changing(by, f"turn.{state.value}", turn_id) as change:
            turn = TURN.readable(change.find(TURN, turn_id))
            if turn.state is not TurnState.RUNNING:
                raise Conflict(_over(turn))
            if node is not None and turn.node != node:
                raise Conflict(f"the turn {quoted(turn_id)} is run by the node {quoted(turn.node)} by now")
            now = written_moment(change.at)
            columns: dict[str, Any] = {
                "state": state.value,
                "changed_at": now,
                "ended_at": now,
                "problem": problem_column(problem),
                "counts": counts_column(counts),
            }
            change.detail.update(session=turn.session_id, code=None if problem is None else problem.code)
            return change.replace(TURN, turn_id, columns)

    def stop_turn(self, turn_id: str, *, by: Actor) -> TurnRecord:
        """The turn, stopped by a person, whichever process runs it. Raises `NotFound`, and `Conflict` if it is over."""
        problem = TurnProblem("cancelled", f"Stopped by {by.principal}"[:LONGEST_STOP])
        return self.end_turn(turn_id, TurnState.STOPPED, problem, by=by)

    def claim_turns(self, node: str) -> list[TurnRecord]:
        """The turns that this process goes on with from now on: those under way on processes that have ended.

        Each is given to one process, however many ask. Nothing is given to one that was itself taken for gone. Does not
        change the store where no turn is free, so that it may be asked often.
        """
        claimed = []
        for turn_id in self._free_turns():
            try:
                claimed.append(self._claim(turn_id, node))
            except (Conflict, NotFound, BrokenRow):
                continue  # WHY: another process was faster, or it has ended; nobody can go on with one that is broken
        return claimed

    def get_turn(self, turn_id: str) -> TurnRecord:
        """The turn. Raises `NotFound`, and `BrokenRow`."""
        with self._reading() as connection:
            return TURN.readable(find(connection, TURN, turn_id))

    def running_turn(self, session_id: str) -> TurnRecord | None:
        """The session's turn that is under way; None where there is none. Raises `NotFound` and `BrokenRow`."""
        with self._reading() as connection:
            find(connection, SESSION, session_id)
            row = _running(connection, session_id)
        return None if row is None else TURN.readable(row)

    def list_turns(
        self,
        session_id: str | None = None,
        *,
        state: TurnState | None = None,
        node: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[TurnRecord | Broken]:
        """A page of the turns that fit every filter given, newest first."""
        filters = {
            TURNS.c.session_id: session_id,
            TURNS.c.state: None if state is None else state.value,
            TURNS.c.node: node,
        }
        order = (TURNS.c.started_at, TURNS.c.id)
        with self._reading() as connection:
            return page_of(connection, TURN, order, limit=limit, cursor=cursor, filters=filters, descending=True)

    def _free_turns(self) -> list[str]:
        ended = select(NODES.c.id).where(NODES.c.ended_at.is_not(None))
        wanted = (
            select(TURNS.c.id)
            .where(TURNS.c.state == TurnState.RUNNING.value, TURNS.c.node.in_(ended))
            .order_by(TURNS.c.started_at, TURNS.c.id)
        )
        with self._reading() as connection:
            return [str(row[0]) for row in connection.execute(wanted)]

    def _claim(self, turn_id: str, node: str) -> TurnRecord:
        with self._changing(NODE_ACTOR, "turn.claim", turn_id) as change:
            row = change.find(TURN, turn_id)
            if row["state"] != TurnState.RUNNING.value:
                raise Conflict(f"the turn {quoted(turn_id)} has ended")
            if find(change.connection, NODE, row["node"])["ended_at"] is None:
                raise Conflict(f"the turn {quoted(turn_id)} is run by the node {quoted(row['node'])}")
            serving(change, node)
            change.detail.update(session=row["session_id"], node=node, before=row["node"])
            return change.replace(TURN, turn_id, {"node": node, "changed_at": written_moment(change.at)})


def stop_turns(change: Change, session_id: str) -> int:
    """Stops the turn of a session that ends; returns how many there were."""
    now = written_moment(change.at)
    done = change.connection.execute(
        update(TURNS)
        .where(TURNS.c.session_id == session_id, TURNS.c.state == TurnState.RUNNING.value)
        .values(state=TurnState.STOPPED.value, changed_at=now, ended_at=now, problem=problem_column(SESSION_ENDED))
    )
    return int(done.rowcount)


def serving(change: Change, node: str) -> None:
    """Makes sure that the end of this process will be noticed. Raises `Conflict` where it was taken for gone already.

    WHY it may be unknown: one that started while the store was away says so only with its next beat.
    """
    now = written_moment(change.at)
    columns = {"id": node, "started_at": now, "seen_at": now, "ended_at": None}
    NODE.written(columns)
    row = change.connection.execute(select(NODES.c.ended_at).where(NODES.c.id == node)).first()
    if row is None:
        change.connection.execute(insert(NODES), columns)
    elif row[0] is not None:
        raise Conflict(f"the node {quoted(node)} has ended, or was not heard of for too long")


def _running(connection: Connection, session_id: str) -> Any:
    wanted = select(TURNS).where(TURNS.c.session_id == session_id, TURNS.c.state == TurnState.RUNNING.value)
    return connection.execute(wanted).mappings().first()


def _busy(row: Any) -> str:
    return (
        f"the session {quoted(row['session_id'])} has a turn under way, {quoted(row['id'])}, asked for by "
        f"{row['asked_by']} ({row['surface']}) and run by the node {quoted(row['node'])}"
    )


def _over(turn: TurnRecord) -> str:
    when = "" if turn.ended_at is None else f" since {turn.ended_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"the turn {quoted(turn.id)} is {turn.state.value}{when}"
