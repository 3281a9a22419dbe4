"""Calls from their asking to their end: judged, approved by a person where that is wanted, judged again, run once.

Settles the order of these and what is said where one of them refuses. Does not settle what the gate answers
(`app.asking`), which move leads where (`gate.approval`), nor how two who move at once are told apart (`storage.calls`).
INVARIANT: a call runs only after `start`, which judges it anew; nothing that a model or a provider sent is an id here.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stanch.app.approval_words import reason_of, rewritten, said
from stanch.app.approving import Approving
from stanch.app.asking import Answered, Asking, strictest
from stanch.gate.approval import Move, asks_of, covers, difference
from stanch.gate.fingerprint import same_arguments
from stanch.gate.plans import InPlan, call_id_in
from stanch.storage.answering import Lapsed
from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, CallRecord, CallState
from stanch.values.decision import Decision, Effect
from stanch.values.fault import Conflict, quoted
from stanch.values.reason import Code
from stanch.values.records import Actor, Broken, Page

MOST_WAITING = 1_000


class Submitted(NamedTuple):
    """A call as it now stands, the gate's answer to it, and the approval that it waits for."""

    call: CallRecord
    decision: Decision
    approval: ApprovalRecord | None = None


class Calls:
    """What is done with calls. `node` is the process that runs those started here."""

    def __init__(self, store: Store, asking: Asking, approving: Approving, node: str) -> None:
        self._store, self._asking, self._approving, self._node = store, asking, approving, node

    def submit(
        self,
        session_id: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        tool_call_id: str = "",
        cwd: str | None = None,
        at: InPlan | None = None,
        by: Actor,
    ) -> Submitted:
        """The call, judged and stored: pending where it may start, awaiting approval, or rejected.

        `at` is its place in the plan that it is asked for with; None for a call by itself. Raises `BadCall`,
        `NotFound`, and `Conflict` where the session has ended or too many of its calls wait.
        """
        line = self._asking.line(session_id, tool, arguments, call_id=tool_call_id, cwd=cwd)
        decision = strictest(line).decision
        # SPEC: what a policy or a hook made of the call is what is kept, shown, and run.
        judged = line[0].decision.call.call.arguments
        now = self._approving.now()
        call = CallRecord(
            id=f"call_{secrets.token_hex(12)}" if at is None else call_id_in(at),
            session_id=session_id,
            tool_call_id=tool_call_id,
            tool=tool,
            arguments=dict(judged),
            cwd=cwd,
            state=CallState.PENDING,
            edited=_differ(judged, arguments),
            reason=reason_of(decision),
            created_at=now,
            changed_at=now,
        )
        if decision.effect is Effect.DENY:
            call = replace(call, state=CallState.REJECTED)
            return Submitted(self._store.add_call(call, None, by=by), decision)
        if decision.effect is Effect.ALLOW:
            return Submitted(self._store.add_call(call, None, by=by), decision)
        session = self._store.get_session(session_id)
        if not session.approver:
            reason = said(Code.NO_APPROVER, decision)
            return Submitted(
                self._store.add_call(replace(call, state=CallState.REJECTED, reason=reason), None, by=by), decision
            )
        self._room(session_id, 1)
        approval = self._approving.request(call, session, line)
        call = replace(call, state=CallState.AWAITING_APPROVAL, request_id=approval.request_id)
        return Submitted(self._store.add_call(call, approval, by=by), decision, approval)

    def start(
        self, call_id: str, *, tool: str | None = None, arguments: Mapping[str, Any] | None = None, by: Actor
    ) -> Submitted:
        """The call, judged again and running from now on, unless something refuses it by now.

        `tool` and `arguments` are what its runner is about to run, where the runner says so: any other than what was
        judged is refused. A call that must not run is rejected with its reason, or awaits approval anew: so does an
        approved one of which a policy or a hook makes something else by now. Whoever gets a call that is `running` runs
        it, this once. Raises `Conflict` where it is not pending.
        """
        call = self._store.get_call(call_id)
        if call.state is not CallState.PENDING:
            raise Conflict(self._standing(call))
        line = self._asking.line(call.session_id, call.tool, call.arguments, call_id=call.tool_call_id, cwd=call.cwd)
        decision = strictest(line).decision
        other_arguments = arguments is not None and _differ(arguments, call.arguments)
        if other_arguments or tool not in (None, call.tool):
            return self._refused(call, Code.CALL_CHANGED, decision, by)
        if decision.effect is Effect.DENY:
            moved = self._store.move_call(call.id, Move.REJECT, reason=reason_of(decision), expected=call, by=by)
            return Submitted(moved, decision)
        approval = None if call.request_id is None else self._store.get_approval(call.request_id)
        now = None if approval is None else self._approving.fingerprint(line)
        if _differ(line[0].decision.call.call.arguments, call.arguments):
            # WHY: a policy or a hook makes something else of the call by now than what was kept, and than what a person
            # saw. What they approved is for that and for nothing else: whoever approves sees what it has become.
            if approval is not None and now is not None and approval.fingerprint.context == now.context:
                return self._asked_again(call, line, decision, rewritten(decision), by)
            return self._refused(call, Code.CALL_CHANGED, decision, by)
        if approval is not None and now is not None:
            changed = difference(approval.fingerprint, now)
            if changed is not None:
                return self._refused(call, changed, decision, by)
        asks = asks_of(answer for one in line for answer in one.decision.answers)
        if asks and (approval is None or not covers(approval.asked, asks)):
            return self._asked_again(call, line, decision, reason_of(decision), by)
        try:
            moved = self._store.move_call(call.id, Move.START, node=self._node, expected=call, by=by)
        except Lapsed:
            moved = self._lapsed(call)
        return Submitted(moved, decision, approval)

    def ready_for(self, session_id: str, asking: int) -> None:
        """Raises `Conflict` where so many calls more cannot all wait: no part of a plan is asked for without the rest.

        Raises `NotFound`, and `BrokenRow`.
        """
        if asking and self._store.get_session(session_id).approver:
            self._room(session_id, asking)

    def get(self, call_id: str) -> CallRecord:
        """The call. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_call(call_id)

    def list(
        self,
        session_id: str,
        *,
        state: CallState | None = None,
        tool: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[CallRecord | Broken]:
        """A page of the session's calls, newest first."""
        return self._store.list_calls(session_id=session_id, state=state, tool=tool, limit=limit, cursor=cursor)

    def finish(self, call_id: str, move: Move, *, by: Actor) -> CallRecord:
        """The call, at its end: `complete`, `fail` or `cancel`. Raises `Conflict` where it is not running."""
        return self._store.move_call(call_id, move, by=by)

    def cancel(self, call_id: str, *, by: Actor) -> CallRecord:
        """The call, cancelled, with the approval that it waits for. Raises `Conflict` where it has ended."""
        reason = {"code": Code.CANCELLED.value, "layer": "approval", "sentence": f"Cancelled by {by.principal}"}
        return self._store.move_call(call_id, Move.CANCEL, reason=reason, by=by)

    def _refused(self, call: CallRecord, code: Code, decision: Decision, by: Actor) -> Submitted:
        reason = said(code, decision)
        return Submitted(self._store.move_call(call.id, Move.REJECT, reason=reason, expected=call, by=by), decision)

    def _lapsed(self, call: CallRecord) -> CallRecord:
        try:
            return self._store.lapse_call(call.id)
        except Conflict:
            now = self._store.get_call(call.id)
            if now.state is CallState.PENDING:
                raise
            raise Conflict(self._standing(now)) from None  # a clock of another node was faster, or who cancelled it

    def _asked_again(
        self, call: CallRecord, line: Sequence[Answered], decision: Decision, reason: Mapping[str, Any], by: Actor
    ) -> Submitted:
        session = self._store.get_session(call.session_id)
        if not session.approver:
            return self._refused(call, Code.NO_APPROVER, decision, by)
        approval = replace(self._approving.request(call, session, line), reason=reason)
        moved = self._store.ask_again(call.id, approval, reason=reason, expected=call, by=by)
        return Submitted(moved, decision, approval)

    def _room(self, session_id: str, further: int) -> None:
        if self._store.list_approvals(session_id=session_id, limit=1).total + further > MOST_WAITING:
            raise Conflict(
                f"more than {MOST_WAITING:,} calls of the session {quoted(session_id)} would wait for approval"
            )

    @staticmethod
    def _standing(call: CallRecord) -> str:
        return f"the call {quoted(call.id)} is {call.state.value.replace('_', ' ')}, and is not to be started"


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one is not other and not same_arguments(one, other)
