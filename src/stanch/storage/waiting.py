"""Bypasses, questions and nodes in the store.

Settles how each is kept and ended. Does not settle which calls a bypass answers for (`gate.relax`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, or_, select, update

from stanch.gate.approval import Move
from stanch.storage.approval_nouns import BYPASS, CALL, CLARIFICATION, NODE, bypass_columns, bypass_detail
from stanch.storage.calls import CLOCK
from stanch.storage.job_runs import interrupt_runs
from stanch.storage.lapsing import Lapsing
from stanch.storage.nouns import SESSION
from stanch.storage.pages import page_of
from stanch.storage.rows import written_json, written_moment
from stanch.storage.schema import BYPASSES, CALLS, CLARIFICATIONS, NODES
from stanch.storage.transactions import Change, find
from stanch.values.approval import (
    BypassRecord,
    CallState,
    ClarificationRecord,
    ClarificationState,
)
from stanch.values.fault import BrokenRow, Conflict, quoted
from stanch.values.records import Actor, Broken, Page

INTERRUPTED = {
    "code": "interrupted",
    "layer": "approval",
    "sentence": "Its process ended while it was running; how far it came is not known, and it is not run again",
}
_NODE = Actor("stanch", "node")


class Waiting(Lapsing):
    """The part of a store that keeps bypasses, questions and nodes."""

    # --- bypasses ------------------------------------------------------------------------------------------------

    def add_bypass(self, bypass: BypassRecord, *, by: Actor) -> BypassRecord:
        """The new bypass. Raises `NotFound`, and `Conflict` where the session has ended."""
        row = bypass_columns(bypass)
        record = BYPASS.written(row)
        with self._changing(by, "bypass.create", bypass.id) as change:
            if change.find(SESSION, bypass.session_id)["ended_at"] is not None:
                raise Conflict(f"the session {quoted(bypass.session_id)} has ended")
            change.add(BYPASS, row)
            change.detail.update(session=bypass.session_id, **bypass_detail(bypass))
        return record

    def list_bypasses(self, session_id: str, *, now: datetime | None = None) -> tuple[BypassRecord | Broken, ...]:
        """The bypasses of a session that hold now."""
        moment = written_moment(now or self._clock())
        wanted = (
            select(BYPASSES)
            .where(BYPASSES.c.session_id == session_id, BYPASSES.c.ended_at.is_(None))
            .where(or_(BYPASSES.c.until.is_(None), BYPASSES.c.until > moment))
            .order_by(BYPASSES.c.created_at, BYPASSES.c.id)
        )
        with self._reading() as connection:
            return tuple(BYPASS.read(row) for row in connection.execute(wanted).mappings())

    def given_bypasses(self, session_id: str, *, limit: int = 100) -> tuple[BypassRecord | Broken, ...]:
        """The newest bypasses that were ever given for a session, whether they hold or not, oldest first."""
        order = (BYPASSES.c.created_at.desc(), BYPASSES.c.id.desc())
        wanted = select(BYPASSES).where(BYPASSES.c.session_id == session_id).order_by(*order).limit(limit)
        with self._reading() as connection:
            return tuple(BYPASS.read(row) for row in reversed(connection.execute(wanted).mappings().all()))

    def held_bypasses(self, *, now: datetime | None = None) -> tuple[BypassRecord | Broken, ...]:
        """The bypasses that hold now, of all sessions."""
        moment = written_moment(now or self._clock())
        wanted = (
            select(BYPASSES)
            .where(BYPASSES.c.ended_at.is_(None), or_(BYPASSES.c.until.is_(None), BYPASSES.c.until > moment))
            .order_by(BYPASSES.c.created_at, BYPASSES.c.id)
        )
        with self._reading() as connection:
            return tuple(BYPASS.read(row) for row in connection.execute(wanted).mappings())

    def get_bypass(self, bypass_id: str) -> BypassRecord:
        """The bypass, ended or not. Raises `NotFound`, and `BrokenRow`."""
        with self._reading() as connection:
            return BYPASS.readable(find(connection, BYPASS, bypass_id))

    def end_bypass(self, session_id: str, bypass_id: str, *, by: Actor) -> BypassRecord:
        """The bypass, ended. Raises `NotFound`, and `Conflict` where it has ended before."""
        with self._changing(by, "bypass.end", bypass_id) as change:
            row = change.find(BYPASS, bypass_id, BYPASSES.c.session_id == session_id)
            if row["ended_at"] is not None:
                raise Conflict(f"the bypass {quoted(bypass_id)} has ended")
            change.detail["session"] = session_id
            return change.replace(BYPASS, bypass_id, {"ended_at": written_moment(change.at)})

    # --- questions -----------------------------------------------------------------------------------------------

    def add_clarification(self, asked: ClarificationRecord, *, by: Actor) -> ClarificationRecord:
        """The new question. Raises `NotFound`, and `Conflict` where the session has ended."""
        row: dict[str, Any] = {
            "request_id": asked.request_id,
            "session_id": asked.session_id,
            "agent_id": asked.agent_id,
            "question": asked.question,
            "choices": written_json(list(asked.choices), "choices"),
            "state": asked.state.value,
            "answer": None,
            "resolved_by": None,
            "created_at": written_moment(asked.created_at),
            "expires_at": None if asked.expires_at is None else written_moment(asked.expires_at),
            "resolved_at": None,
        }
        record = CLARIFICATION.written(row)
        with self._changing(by, "clarification.ask", asked.request_id) as change:
            if change.find(SESSION, asked.session_id)["ended_at"] is not None:
                raise Conflict(f"the session {quoted(asked.session_id)} has ended")
            change.add(CLARIFICATION, row)
            change.detail.update(session=asked.session_id, agent=asked.agent_id)
        return record

    def get_clarification(self, request_id: str) -> ClarificationRecord:
        """The question. Raises `NotFound`, and `BrokenRow`."""
        with self._reading() as connection:
            return CLARIFICATION.readable(find(connection, CLARIFICATION, request_id))

    def list_clarifications(
        self,
        *,
        state: ClarificationState | None = ClarificationState.OPEN,
        session_id: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[ClarificationRecord | Broken]:
        """A page of questions, oldest first."""
        order = (CLARIFICATIONS.c.created_at, CLARIFICATIONS.c.request_id)
        filters = {
            CLARIFICATIONS.c.state: None if state is None else state.value,
            CLARIFICATIONS.c.session_id: session_id,
        }
        with self._reading() as connection:
            return page_of(connection, CLARIFICATION, order, limit=limit, cursor=cursor, filters=filters)

    def resolve_clarification(
        self, request_id: str, to: ClarificationState, *, answer: str | None = None, by: Actor
    ) -> ClarificationRecord:
        """The question, answered. Raises `NotFound`, and `Conflict`, which names who answered it before."""
        with self._changing(by, f"clarification.{to.value}", request_id) as change:
            asked = CLARIFICATION.readable(change.find(CLARIFICATION, request_id))
            if asked.state is not ClarificationState.OPEN:
                who = f" by {asked.resolved_by}" if asked.resolved_by else ""
                raise Conflict(f"the question {quoted(request_id)} was {asked.state.value}{who}")
            if asked.expires_at is not None and asked.expires_at <= change.at and to is ClarificationState.ANSWERED:
                raise Conflict(f"the question {quoted(request_id)} has expired")
            change.detail["session"] = asked.session_id
            columns = {
                "state": to.value,
                "answer": answer,
                "resolved_by": by.principal,
                "resolved_at": written_moment(change.at),
            }
            return change.replace(CLARIFICATION, request_id, columns)

    def expire_due(self, now: datetime | None = None) -> list[str]:
        """Expires every open approval and question whose time has come; returns the ids. Safe to repeat."""
        moment = now or self._clock()
        expired = super().expire_due(moment)
        wanted = select(CLARIFICATIONS.c.request_id).where(
            CLARIFICATIONS.c.state == ClarificationState.OPEN.value,
            CLARIFICATIONS.c.expires_at <= written_moment(moment),
        )
        with self._reading() as connection:
            due = [str(row[0]) for row in connection.execute(wanted)]
        for request_id in due:
            try:
                self.resolve_clarification(request_id, ClarificationState.EXPIRED, by=CLOCK)
            except (Conflict, BrokenRow):
                continue  # WHY: as for approvals
            expired.append(request_id)
        return expired

    # --- nodes ---------------------------------------------------------------------------------------------------

    def add_node(self, node: str) -> None:
        """Takes down that a process serves the store from now on."""
        with self._changing(_NODE, "node.start", node) as change:
            now = written_moment(change.at)
            change.add(NODE, {"id": node, "started_at": now, "seen_at": now, "ended_at": None})

    def see_node(self, node: str) -> None:
        """Takes down that the process is still there. No change of anything else, so no audit row."""
        self._stay_open()
        with self._touching() as connection:
            now = written_moment(self._clock())
            done = connection.execute(update(NODES).where(NODES.c.id == node).values(seen_at=now, ended_at=None))
            if done.rowcount == 0:
                connection.execute(insert(NODES).values(id=node, started_at=now, seen_at=now))

    def list_gone_nodes(self, gone: timedelta | None, *, but: str) -> list[str]:
        """The processes that have not been heard of for so long, and whose end nobody has taken down.

        None stands for all but one, whatever the clock said when they were last heard of.
        """
        wanted = select(NODES.c.id).where(NODES.c.ended_at.is_(None), NODES.c.id != but)
        if gone is not None:
            wanted = wanted.where(NODES.c.seen_at <= written_moment(self._clock() - gone))
        with self._reading() as connection:
            return [str(row[0]) for row in connection.execute(wanted)]

    def end_node(self, node: str) -> None:
        """Takes down that the process is gone: calls that it ran are interrupted, bypasses given through it end.

        Its turns stay as they are, for another process to claim.
        """
        with self._changing(_NODE, "node.end", node) as change:
            now = written_moment(change.at)
            running = select(CALLS).where(CALLS.c.node == node, CALLS.c.state == CallState.RUNNING.value)
            interrupted = []
            for row in change.connection.execute(running).mappings().all():
                call = CALL.read(row)
                if isinstance(call, Broken):
                    continue  # WHY: a row that cannot be read is never run either
                self._put(change, call, Move.INTERRUPT, INTERRUPTED, None)
                interrupted.append(call.id)
            ended = self._end_bypasses(change, now, BYPASSES.c.node == node)
            change.connection.execute(update(NODES).where(NODES.c.id == node).values(ended_at=now))
            change.detail.clear()
            change.detail.update(interrupted=interrupted, bypasses=ended, job_runs=interrupt_runs(change, node))

    @staticmethod
    def _end_bypasses(change: Change, now: str, *where: Any) -> int:
        done = change.connection.execute(
            update(BYPASSES).where(BYPASSES.c.ended_at.is_(None), *where).values(ended_at=now)
        )
        return int(done.rowcount)
