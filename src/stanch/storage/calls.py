"""Calls and their approvals in the store.

Settles that a call moves from one state to the next once, whoever else moves it at the same time: the others are told
who was first. Does not settle which moves there are (`gate.approval`) nor whether a call may run (`app.calls`).
INVARIANT: a call and its approval move together, in one transaction with its audit row.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from stanch.gate.approval import Move, has_lapsed, moved
from stanch.storage.answering import EXPIRED, Lapsed, answerable, call_detail, resolution
from stanch.storage.approval_nouns import (
    APPROVAL,
    BYPASS,
    CALL,
    approval_columns,
    bypass_columns,
    bypass_detail,
    call_columns,
    call_part,
)
from stanch.storage.nouns import SESSION
from stanch.storage.pages import page_of
from stanch.storage.rows import written_json, written_moment
from stanch.storage.schema import APPROVALS, CALLS
from stanch.storage.transactions import Change, Transactions, find
from stanch.values.approval import ApprovalRecord, ApprovalState, BypassRecord, CallRecord, CallState
from stanch.values.fault import BrokenRow, Conflict, quoted
from stanch.values.records import Actor, Broken, Page

CLOCK = Actor("stanch", "clock")


class Calls(Transactions):
    """The part of a store that keeps calls and approvals."""

    def add_call(self, call: CallRecord, approval: ApprovalRecord | None, *, by: Actor) -> CallRecord:
        """The new call, with the approval that it waits for. Raises `Conflict` where its session has ended."""
        row = call_columns(call)
        record = CALL.written(row)
        with self._changing(by, "call.ask" if approval else f"call.{call.state.value}", call.id) as change:
            if change.find(SESSION, call.session_id)["ended_at"] is not None:
                raise Conflict(f"the session {quoted(call.session_id)} has ended")
            change.add(CALL, row)
            if approval is not None:
                change.add(APPROVAL, approval_columns(approval))
            change.detail.update(call_detail(call, approval))
        return record

    def get_call(self, call_id: str) -> CallRecord:
        """The call. Raises `NotFound`, and `BrokenRow`."""
        with self._reading() as connection:
            return CALL.readable(find(connection, CALL, call_id))

    def find_call(self, session_id: str, tool_call_id: str) -> CallRecord | None:
        """The newest call of the session that its agent knows by this id; None where there is none."""
        known_so = (CALLS.c.session_id == session_id, CALLS.c.tool_call_id == tool_call_id)
        newest_first = (CALLS.c.created_at.desc(), CALLS.c.id.desc())
        wanted = select(CALLS).where(*known_so).order_by(*newest_first).limit(1)
        with self._reading() as connection:
            row = connection.execute(wanted).mappings().first()
        return None if row is None else CALL.readable(row)

    def list_calls(
        self,
        *,
        session_id: str | None = None,
        state: CallState | None = None,
        tool: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[CallRecord | Broken]:
        """A page of calls, newest first."""
        state_value = None if state is None else state.value
        filters = {CALLS.c.session_id: session_id, CALLS.c.state: state_value, CALLS.c.tool: tool}
        order = (CALLS.c.created_at, CALLS.c.id)
        with self._reading() as connection:
            return page_of(connection, CALL, order, limit=limit, cursor=cursor, filters=filters, descending=True)

    def move_call(
        self,
        call_id: str,
        move: Move,
        *,
        reason: Mapping[str, Any] | None = None,
        node: str | None = None,
        detail: Mapping[str, Any] | None = None,
        expected: CallRecord | None = None,
        by: Actor,
    ) -> CallRecord:
        """The call after a move that concerns no open approval: start, end, a rule that denies by now.

        Raises `Conflict`, which says where the call stands and who brought it there, where the move cannot be made, or
        the call is no longer as `expected`; and `Lapsed` where it is started later than its approval holds.
        """
        with self._changing(by, f"call.{move.value}", call_id) as change:
            call = self._moving(change, call_id, move, expected)
            if call.state is CallState.AWAITING_APPROVAL:
                self._close(change, call, ApprovalState.CANCELLED, by, None)
            if move is Move.START and call.request_id is not None:
                # WHY here: between whoever starts it and the clock that ends its approval, one is first.
                approval = APPROVAL.readable(change.find(APPROVAL, call.request_id))
                if has_lapsed(approval, change.at):
                    raise Lapsed(approval)
            change.detail.update(detail or {})
            return self._put(change, call, move, reason, node)

    def ask_again(
        self,
        call_id: str,
        approval: ApprovalRecord,
        *,
        reason: Mapping[str, Any],
        replaces: str | None = None,
        answer: str | None = None,
        expected: CallRecord | None = None,
        by: Actor,
    ) -> CallRecord:
        """The call, waiting for a new approval; an open one is replaced by it.

        `replaces` is the request whose answer leads to the new one, `answer` the digest of that answer. Raises
        `Conflict` where that request has been answered or has expired, and where the call is not as `expected`.
        """
        with self._changing(by, "call.ask", call_id) as change:
            if replaces is not None:
                answerable(APPROVAL.readable(change.find(APPROVAL, replaces)), change.at)
                change.detail.update(replaces=replaces, answer=answer)
            call = self._moving(change, call_id, Move.ASK, expected)
            if call.state is CallState.AWAITING_APPROVAL:
                self._close(change, call, ApprovalState.REPLACED, by, None)
            change.add(APPROVAL, approval_columns(approval))
            change.detail.update(call_detail(call, approval))
            extra = {
                "request_id": approval.request_id,
                "tool": approval.tool_name,
                "arguments": written_json(dict(approval.arguments), "arguments"),
                "edited": int(call.edited or approval.arguments != call.arguments or approval.tool_name != call.tool),
            }
            return self._put(change, call, Move.ASK, reason, None, extra)

    def resolve_approval(
        self,
        request_id: str,
        to: ApprovalState,
        *,
        note: str | None = None,
        reason: Mapping[str, Any] | None = None,
        edited: ApprovalRecord | None = None,
        bypass: BypassRecord | None = None,
        answer: str | None = None,
        by: Actor,
        now: datetime | None = None,
    ) -> tuple[ApprovalRecord, CallRecord]:
        """The approval, resolved, and its call. `edited` is the approval as the person changed the call.

        `answer` is a digest of all that was answered, by which a repetition is known.
        Raises `NotFound`, and `Conflict`, which names who resolved it, where it is not open any more, or has expired.
        """
        move = {
            ApprovalState.APPROVED: Move.APPROVE,
            ApprovalState.REJECTED: Move.REJECT,
            ApprovalState.EXPIRED: Move.EXPIRE,
            ApprovalState.CANCELLED: Move.CANCEL,
        }[to]
        with self._changing(by, f"approval.{to.value}", request_id) as change:
            approval = APPROVAL.readable(change.find(APPROVAL, request_id))
            answerable(approval, None if to is ApprovalState.EXPIRED else now or change.at)
            if answer is not None:
                change.detail["answer"] = answer
            call = self._moving(change, approval.call_id, move, None)
            columns: dict[str, Any] = resolution(change, to, by, note)
            extra: dict[str, Any] = {}
            if edited is not None:
                columns |= (new := call_part(edited))
                extra = {"tool": edited.tool_name, "arguments": new["arguments"], "edited": 1}
                change.detail["edited"] = True
            resolved = change.replace(APPROVAL, request_id, columns)
            if bypass is not None:
                change.add(BYPASS, bypass_columns(bypass))
                change.detail["bypass"] = bypass_detail(bypass)
            change.detail.update(call=call.id, session=call.session_id, tool=resolved.tool_name, noted=note is not None)
            return resolved, self._put(change, call, move, reason, None, extra)

    def get_approval(self, request_id: str) -> ApprovalRecord:
        """The approval. Raises `NotFound`, and `BrokenRow`."""
        with self._reading() as connection:
            return APPROVAL.readable(find(connection, APPROVAL, request_id))

    def list_approvals(
        self,
        *,
        state: ApprovalState | None = ApprovalState.OPEN,
        session_id: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[ApprovalRecord | Broken]:
        """A page of approvals, oldest first."""
        filters = {APPROVALS.c.state: None if state is None else state.value, APPROVALS.c.session_id: session_id}
        order = (APPROVALS.c.created_at, APPROVALS.c.request_id)
        with self._reading() as connection:
            return page_of(connection, APPROVAL, order, limit=limit, cursor=cursor, filters=filters)

    def expire_due(self, now: datetime | None = None) -> list[str]:
        """Expires every open approval whose time has come; returns their ids. Safe to repeat, and on several nodes."""
        moment = now or self._clock()
        wanted = select(APPROVALS.c.request_id).where(
            APPROVALS.c.state == ApprovalState.OPEN.value, APPROVALS.c.expires_at <= written_moment(moment)
        )
        with self._reading() as connection:
            due = [str(row[0]) for row in connection.execute(wanted)]
        expired = []
        for request_id in due:
            try:
                self.resolve_approval(request_id, ApprovalState.EXPIRED, reason=EXPIRED, by=CLOCK, now=moment)
            except (Conflict, BrokenRow):
                continue  # WHY: somebody was faster, and that is theirs to tell; a broken row is listed
            expired.append(request_id)
        return expired

    # --- within a change -----------------------------------------------------------------------------------------

    def _moving(self, change: Change, call_id: str, move: Move, expected: CallRecord | None) -> CallRecord:
        call = CALL.readable(change.find(CALL, call_id))
        if moved(call.state, move) is None:
            raise Conflict(
                f"the call {quoted(call_id)} is {call.state.value.replace('_', ' ')} and cannot {move.value}"
            )
        if expected is not None and (call.state, call.changed_at) != (expected.state, expected.changed_at):
            raise Conflict(f"the call {quoted(call_id)} was changed meanwhile")
        return call

    def _put(  # noqa: PLR0917 - within the store
        self,
        change: Change,
        call: CallRecord,
        move: Move,
        reason: Mapping[str, Any] | None,
        node: str | None,
        extra: Mapping[str, Any] | None = None,
    ) -> CallRecord:
        to = moved(call.state, move)
        assert to is not None  # `_moving` has looked
        columns: dict[str, Any] = {"state": to.value, "changed_at": written_moment(change.at), **(extra or {})}
        if reason is not None:
            columns["reason"] = written_json(dict(reason), "reason")
        if node is not None:
            columns["node"] = node
        change.detail.setdefault("session", call.session_id)
        change.detail.setdefault("tool", call.tool)
        change.detail["state"] = to.value
        return change.replace(CALL, call.id, columns)

    @staticmethod
    def _close(change: Change, call: CallRecord, to: ApprovalState, by: Actor, note: str | None) -> None:
        """Closes whatever approval of the call is open, since the call has moved on without it."""
        change.connection.execute(
            update(APPROVALS)
            .where(APPROVALS.c.call_id == call.id, APPROVALS.c.state == ApprovalState.OPEN.value)
            .values(**resolution(change, to, by, note))
        )
