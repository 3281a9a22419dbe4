"""What a person is asked, and what becomes of the answer.

Settles what a request for approval shows, and that only an explicit answer to an open request releases anything. Does
not settle whether a call may run (`app.calls`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from stanch.app.approval_words import reason_of, rewritten, said_by, targets_of
from stanch.app.asking import Answered, Asking, strictest, where
from stanch.app.bypassing import Bypasses, BypassWish
from stanch.app.diffs import diff_of
from stanch.app.live import Live
from stanch.app.script_digests import digests_of
from stanch.app.tier_memory import remember
from stanch.explain import sentence
from stanch.gate.approval import asks_of, covers
from stanch.gate.fingerprint import fingerprint, same_arguments
from stanch.storage.store import Store
from stanch.values.approval import (
    ApprovalRecord,
    ApprovalState,
    BypassRecord,
    CallRecord,
    Fingerprint,
)
from stanch.values.decision import Decision, Effect
from stanch.values.fault import BadFields, Conflict, NotFound, StoreUnreadable
from stanch.values.reason import Code
from stanch.values.records import Actor, Broken, SessionRecord

LONGEST_NOTE = 10_000


class Edit(NamedTuple):
    """What a person made of the call: another tool, other arguments. None stands for as it was."""

    tool: str | None = None
    arguments: Mapping[str, Any] | None = None


class Resolved(NamedTuple):
    """An answered request, its call, the bypass that came with it, and the request that took its place."""

    approval: ApprovalRecord
    call: CallRecord
    bypass: BypassRecord | None = None
    instead: ApprovalRecord | None = None


class EditRefused(Conflict):
    """A person's edit made a call that is denied; the request stays open."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        super().__init__(sentence(decision.reason, decision.effect))


class Approving:
    """What is done with requests for approval."""

    def __init__(
        self,
        store: Store,
        live: Live,
        asking: Asking,
        bypasses: Bypasses,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._store, self._live, self._asking, self._bypasses = store, live, asking, bypasses
        self.now = clock or (lambda: datetime.now(UTC))

    # --- asking --------------------------------------------------------------------------------------------------

    def request(self, call: CallRecord, session: SessionRecord, line: Sequence[Answered]) -> ApprovalRecord:
        """The new request for a call: what would run, why it asks, and what it is for."""
        decision = strictest(line).decision
        judged = decision.call
        now = self.now()
        seconds = self._live.policy.expires_after.get(session.source.value)
        return ApprovalRecord(
            request_id=f"req_{secrets.token_hex(16)}",
            call_id=call.id,
            session_id=session.id,
            tool_call_id=call.tool_call_id,
            tool_name=judged.call.tool,
            arguments=dict(judged.call.arguments),
            cwd=where(line[0].session, call.cwd) or call.cwd,
            targets=targets_of(decision),
            agent_id=session.agent_id,
            source=session.source,
            context_label=self._label(session),
            reason=reason_of(decision),
            asked=asks_of(answer for one in line for answer in one.decision.answers),
            tool_category=judged.category,
            mcp_server=judged.server,
            diff=diff_of(judged),
            scripts=digests_of(decision),
            fingerprint=self.fingerprint(line),
            created_at=now,
            expires_at=None if seconds is None else now + timedelta(seconds=seconds),
        )

    def fingerprint(self, line: Sequence[Answered]) -> Fingerprint:
        """What the call is at this moment, for the session and its ancestors."""
        decision = strictest(line).decision
        return fingerprint(decision, digests_of(decision), [one.session.context.described() for one in line])

    def _label(self, session: SessionRecord) -> str:
        """What the session is for, as a person knows it."""
        try:
            if session.job_id is not None:
                return f"CronJob: {self._store.get_job(session.job_id).name}"
            if session.ticket_id is not None and session.project_id is not None:
                return f"Ticket: {self._store.get_ticket(session.project_id, session.ticket_id).title}"
            if session.project_id is not None:
                return f"Project: {self._store.get_project(session.project_id).name}"
        except (NotFound, StoreUnreadable):
            return ""
        return f"Subagent of {session.parent_id}" if session.parent_id is not None else ""

    # --- answering -----------------------------------------------------------------------------------------------

    def approve(
        self,
        request_id: str,
        *,
        note: str | None = None,
        edit: Edit | None = None,
        bypass: BypassWish | None = None,
        answer: str | None = None,
        by: Actor,
    ) -> Resolved:
        """The request, approved; its call may be started, which judges it again.

        An edited call is judged from the start: where it is denied, `EditRefused` is raised and the request stays open;
        where it asks for what the request did not show, or a policy or a hook makes another call of it than the person
        wrote, a new request takes this one's place. `answer` is a digest of
        all that was answered, by whom: where the request was answered by the very same before, this is no second
        answer, and what came of the first is returned. Raises `NotFound`, `BadFields`, and `Conflict` with who answered
        before.
        """
        _check(note)
        approval = self._store.get_approval(request_id)
        given = _Given(note, self._held(approval, bypass, by), said_by(Code.APPROVED, approval, by), answer, by)
        try:
            # WHY also where it was edited: the store says who was first where the request is not open any more.
            if edit is None or _same(approval, edit) or approval.state is not ApprovalState.OPEN:
                return self._approved(approval, None, given)
            return self._edited(approval, edit, bypass, given)
        except EditRefused:
            raise
        except Conflict as why:
            return self._repeated(request_id, answer, why)

    def _approved(self, approval: ApprovalRecord, edited: ApprovalRecord | None, given: _Given) -> Resolved:
        done, call = self._store.resolve_approval(
            approval.request_id,
            ApprovalState.APPROVED,
            note=given.note,
            reason=given.reason,
            edited=edited,
            bypass=given.bypass,
            answer=given.answer,
            by=given.by,
        )
        remember(self._store, self._asking, call, given.by)
        return Resolved(done, call, given.bypass)

    def _held(self, approval: ApprovalRecord, wish: BypassWish | None, by: Actor) -> BypassRecord | None:
        return None if wish is None else self._bypasses.with_approval(approval, wish, by)

    def _edited(self, approval: ApprovalRecord, edit: Edit, wish: BypassWish | None, given: _Given) -> Resolved:
        call = self._store.get_call(approval.call_id)
        tool = approval.tool_name if edit.tool is None else edit.tool
        arguments = approval.arguments if edit.arguments is None else edit.arguments
        line = self._asking.line(approval.session_id, tool, arguments, call_id=call.tool_call_id, cwd=call.cwd)
        decision = strictest(line).decision
        if decision.effect is Effect.DENY:
            raise EditRefused(decision)
        session = self._store.get_session(approval.session_id)
        new = self.request(replace(call, tool=tool, arguments=dict(arguments)), session, line)
        # WHY: whoever edits has seen what they wrote, and not what a policy or a hook makes of it.
        as_written = same_arguments(line[0].decision.call.call.arguments, arguments)
        if not as_written:
            new = replace(new, reason=rewritten(decision))
        if as_written and covers(approval.asked, new.asked):
            held, reason = self._held(new, wish, given.by), said_by(Code.APPROVED, new, given.by)
            return self._approved(approval, new, given._replace(bypass=held, reason=reason))
        moved = self._store.ask_again(
            call.id,
            new,
            reason=new.reason,
            replaces=approval.request_id,
            answer=given.answer,
            expected=call,
            by=given.by,
        )
        return Resolved(self._store.get_approval(approval.request_id), moved, None, new)

    def reject(self, request_id: str, *, note: str | None = None, answer: str | None = None, by: Actor) -> Resolved:
        """The request, rejected: its call does not run. `answer` is as for `approve`.

        Raises `NotFound`, `BadFields`, and `Conflict` with who answered before.
        """
        _check(note)
        approval = self._store.get_approval(request_id)
        reason = said_by(Code.REJECTED, approval, by) | ({} if note is None else {"note": note})
        try:
            done, call = self._store.resolve_approval(
                request_id, ApprovalState.REJECTED, note=note, reason=reason, answer=answer, by=by
            )
        except Conflict as why:
            return self._repeated(request_id, answer, why)
        return Resolved(done, call)

    def _repeated(self, request_id: str, answer: str | None, why: Conflict) -> Resolved:
        """What came of the same answer, given before. Raises `why` where it was another one."""
        if answer is None:
            raise why
        approval = self._store.get_approval(request_id)
        rows = self._store.list_audit(subject=request_id, newest_first=True, limit=5).items
        rows += self._store.list_audit(subject=approval.call_id, action="call.ask", newest_first=True, limit=50).items
        for row in rows:
            if isinstance(row, Broken) or row.detail.get("answer") != answer:
                continue
            if row.subject == request_id or row.detail.get("replaces") == request_id:
                held, instead = row.detail.get("bypass"), row.detail.get("request")
                return Resolved(
                    approval,
                    self._store.get_call(approval.call_id),
                    None if held is None else self._bypasses.get(held["id"]),
                    None if instead is None else self._store.get_approval(instead),
                )
        raise why


class _Given(NamedTuple):
    """What a person's approval brings along."""

    note: str | None
    bypass: BypassRecord | None
    reason: Mapping[str, Any]
    answer: str | None
    by: Actor


def _check(note: str | None) -> None:
    if note is not None and len(note) > LONGEST_NOTE:
        raise BadFields(("note", f"'note' may have at most {LONGEST_NOTE:,} characters"))


def _same(approval: ApprovalRecord, edit: Edit) -> bool:
    tool = edit.tool in (None, approval.tool_name)
    return tool and (edit.arguments is None or same_arguments(edit.arguments, approval.arguments))


__all__ = ["Approving", "BypassWish", "Edit", "EditRefused", "Resolved", "reason_of", "targets_of"]
