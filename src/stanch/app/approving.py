"""What a person is asked, and what becomes of the answer.

Settles what a request for approval shows, and that only an explicit answer to an open request releases anything. Does
not settle whether a call may run (`app.calls`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from stanch.app.asking import Answered, Asking, strictest
from stanch.app.diffs import diff_of
from stanch.app.live import Live
from stanch.app.scripts import scripts_of
from stanch.explain import sentence
from stanch.gate.approval import asks_of, covers
from stanch.gate.fingerprint import fingerprint
from stanch.storage.store import Store
from stanch.values.approval import (
    ApprovalRecord,
    ApprovalState,
    BypassRecord,
    BypassScope,
    CallRecord,
    Fingerprint,
)
from stanch.values.decision import Decision, Effect
from stanch.values.fault import BadFields, Conflict, NotFound, StoreUnreadable, quoted
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.records import Actor, SessionRecord

LONGEST_NOTE = 10_000
LONGEST_BYPASS = 7 * 24 * 3600


class BypassWish(NamedTuple):
    """A bypass that a person wants along with an approval. `seconds` 0 lasts until the session ends."""

    seconds: int
    scope: BypassScope | None = None
    include_subagents: bool = False


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
    """What is done with requests for approval. `node` is this process, through which bypasses are given."""

    def __init__(
        self, store: Store, live: Live, asking: Asking, node: str, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._store, self._live, self._asking, self._node = store, live, asking, node
        self.now = clock or (lambda: datetime.now(UTC))

    # --- asking --------------------------------------------------------------------------------------------------

    def request(self, call: CallRecord, session: SessionRecord, line: list[Answered]) -> ApprovalRecord:
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
            targets=targets_of(decision),
            agent_id=session.agent_id,
            source=session.source,
            context_label=self._label(session),
            reason=reason_of(decision),
            asked=asks_of(answer for one in line for answer in one.decision.answers),
            tool_category=judged.category,
            mcp_server=judged.server,
            diff=diff_of(judged),
            scripts=scripts_of(judged),
            fingerprint=self.fingerprint(line),
            created_at=now,
            expires_at=None if seconds is None else now + timedelta(seconds=seconds),
        )

    def fingerprint(self, line: list[Answered]) -> Fingerprint:
        """What the call is at this moment, for the session and its ancestors."""
        judged = strictest(line).decision.call
        return fingerprint(judged, [one.session.context for one in line], scripts_of(judged))

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
        by: Actor,
    ) -> Resolved:
        """The request, approved; its call may be started, which judges it again.

        An edited call is judged from the start: where it is denied, `EditRefused` is raised and the request stays open;
        where it asks for what the request did not show, a new request takes this one's place. Raises `NotFound`,
        `BadFields`, and `Conflict` with who answered before.
        """
        self._check(note, bypass)
        open_one = self._store.get_approval(request_id)
        held = None if bypass is None else self._bypass(open_one, bypass, by)
        reason = self._by(Code.APPROVED, open_one, by)
        if edit is None or _same(open_one, edit):
            approval, call = self._store.resolve_approval(
                request_id, ApprovalState.APPROVED, note=note, reason=reason, bypass=held, by=by
            )
            return Resolved(approval, call, held)
        if open_one.state is not ApprovalState.OPEN:
            self._store.resolve_approval(request_id, ApprovalState.APPROVED, by=by)  # raises, and says who was first
        return self._edited(open_one, edit, note, held, reason, by)

    def _edited(
        self,
        approval: ApprovalRecord,
        edit: Edit,
        note: str | None,
        held: BypassRecord | None,
        reason: Mapping[str, Any],
        by: Actor,
    ) -> Resolved:
        call = self._store.get_call(approval.call_id)
        tool = approval.tool_name if edit.tool is None else edit.tool
        arguments = approval.arguments if edit.arguments is None else edit.arguments
        line = self._asking.line(approval.session_id, tool, arguments, call_id=call.tool_call_id, cwd=call.cwd)
        decision = strictest(line).decision
        if decision.effect is Effect.DENY:
            raise EditRefused(decision)
        session = self._store.get_session(approval.session_id)
        new = self.request(replace(call, tool=tool, arguments=dict(arguments)), session, line)
        if new.asked and not covers(approval.asked, new.asked):
            moved = self._store.ask_again(call.id, new, reason=reason_of(decision), by=by)
            return Resolved(self._store.get_approval(approval.request_id), moved, None, new)
        done, moved = self._store.resolve_approval(
            approval.request_id, ApprovalState.APPROVED, note=note, reason=reason, edited=new, bypass=held, by=by
        )
        return Resolved(done, moved, held)

    def reject(self, request_id: str, *, note: str | None = None, by: Actor) -> Resolved:
        """The request, rejected: its call does not run. Raises `NotFound`, and `Conflict` with who answered before."""
        self._check(note, None)
        approval = self._store.get_approval(request_id)
        reason = self._by(Code.REJECTED, approval, by) | ({} if note is None else {"note": note})
        done, call = self._store.resolve_approval(
            request_id, ApprovalState.REJECTED, note=note, reason=reason, by=by
        )
        return Resolved(done, call)

    def give_bypass(self, session_id: str, wish: BypassWish, *, category: Any, server: str | None, by: Actor) -> BypassRecord:
        """A bypass for a session, apart from any request. Raises `BadFields`, `NotFound` and `Conflict`."""
        self._check(None, wish)
        return self._store.add_bypass(self._made(session_id, wish, category, server, by), by=by)

    def _check(self, note: str | None, bypass: BypassWish | None) -> None:
        if note is not None and len(note) > LONGEST_NOTE:
            raise BadFields(("note", f"'note' may have at most {LONGEST_NOTE:,} characters"))
        if bypass is not None and not 0 <= bypass.seconds <= LONGEST_BYPASS:
            days = LONGEST_BYPASS // 86400
            raise BadFields(("bypass_secs", f"'bypass_secs' must be 0, for the session, or at most {days} days"))

    def _bypass(self, approval: ApprovalRecord, wish: BypassWish, by: Actor) -> BypassRecord:
        """The bypass that comes with an approval: of its category if that is known, else its server, else all."""
        if wish.scope is BypassScope.CATEGORY and approval.tool_category is None:
            raise BadFields(("bypass_scope", "'bypass_scope' cannot be 'category': the tool has none"))
        if wish.scope is BypassScope.MCP_SERVER and approval.mcp_server is None:
            raise BadFields(("bypass_scope", "'bypass_scope' cannot be 'mcp_server': the tool is of none"))
        return self._made(approval.session_id, wish, approval.tool_category, approval.mcp_server, by)

    def _made(self, session_id: str, wish: BypassWish, category: Any, server: str | None, by: Actor) -> BypassRecord:
        scope = wish.scope
        if scope is None:
            scope = BypassScope.ALL
            if category is not None:
                scope = BypassScope.CATEGORY
            elif server is not None:
                scope = BypassScope.MCP_SERVER
        now = self.now()
        return BypassRecord(
            id=f"byp_{secrets.token_hex(12)}",
            session_id=session_id,
            scope=scope,
            category=category if scope is BypassScope.CATEGORY else None,
            mcp_server=server if scope is BypassScope.MCP_SERVER else None,
            include_subagents=wish.include_subagents,
            until=None if wish.seconds == 0 else now + timedelta(seconds=wish.seconds),
            node=self._node,
            created_by=by.principal,
            created_at=now,
        )

    @staticmethod
    def said(code: Code, decision: Decision) -> dict[str, Any]:
        """A reason of the approval itself, about what the decision is about."""
        about = decision.reason
        reason = Reason(code, LayerId.APPROVAL, None, about.subject, "", about.requested)
        return _reason_json(reason, Effect.DENY)

    @staticmethod
    def _by(code: Code, approval: ApprovalRecord, by: Actor) -> dict[str, Any]:
        subject = str(approval.reason.get("subject", "")) or approval.tool_name
        reason = Reason(code, LayerId.APPROVAL, None, subject, by.principal)
        return _reason_json(reason, Effect.ALLOW if code is Code.APPROVED else Effect.DENY)


def _same(approval: ApprovalRecord, edit: Edit) -> bool:
    tool = edit.tool in (None, approval.tool_name)
    return tool and (edit.arguments is None or dict(edit.arguments) == dict(approval.arguments))


def reason_of(decision: Decision) -> dict[str, Any]:
    """The reason of a decision, as every door writes it."""
    return _reason_json(decision.reason, decision.effect)


def _reason_json(reason: Reason, effect: Effect) -> dict[str, Any]:
    rule = reason.rule
    return {
        "code": reason.code.value,
        "layer": reason.layer.value,
        "rule": None
        if rule is None
        else {"id": rule.id, "group": rule.group, "note": rule.note, "place": rule.place, "words": rule.words},
        "subject": reason.subject,
        "sentence": sentence(reason, effect),
    }


def targets_of(decision: Decision) -> tuple[dict[str, Any], ...]:
    """Each effect of the call as a person is shown it: what it does to what, and what the gate says of it."""
    found = []
    for each in decision.effects:
        effect = each.effect
        found.append(
            {
                "class": None if effect.cls is None else effect.cls.value,
                "argument": effect.argument,
                "requested": "" if effect.stamp is None else effect.stamp.requested,
                "path": "" if effect.stamp is None else effect.stamp.path,
                "subject": effect.subject,
                "effect": None if each.answer is None else each.answer.effect.value,
            }
        )
    return tuple(found)


def unknown(request_id: str) -> NotFound:
    """What is said of a request that there is not."""
    return NotFound("approval", quoted(request_id))
