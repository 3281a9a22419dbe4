"""What answers about calls, and about what waits for a person, hold.

Settles shapes only. INVARIANT: what an agent is answered holds no diff, since that shows what is in a file; and no
reason holds a value of the vault, while arguments are as they are.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from stanch.app.told_records import TellsRecords
from stanch.gate.approval import holds_until, is_mandated
from stanch.gate.plans import plan_of
from stanch.surfaces.http.answers import AnswerShown
from stanch.surfaces.http.shown import BrokenShown, ResolutionShown, Shown, Word
from stanch.values.approval import ApprovalRecord, BypassRecord, CallRecord, ClarificationRecord


class CallShown(Shown):
    """A call. `arguments` are those that run, as a person may have edited them."""

    id: str
    session_id: str
    tool_call_id: str
    tool: str
    arguments: dict[str, Any]
    cwd: str | None
    state: Word
    reason: dict[str, Any]
    edited: bool
    request_id: str | None
    created_at: datetime
    changed_at: datetime


class RequestShown(Shown):
    """A request for approval, as whoever made the call is told of it."""

    request_id: str
    state: Word
    created_at: datetime
    expires_at: datetime | None = Field(description="Until when it may be answered; null for ever.")
    holds_until: datetime | None = Field(
        description="Until when its call may be started, once it is approved; null for ever, or while it is not."
    )


class JudgedCallShown(Shown):
    """A call, the gate's answer to it, and the request that it waits for. Only a call that is `running` may be run."""

    call: CallShown
    answer: AnswerShown
    request: RequestShown | None


class ApprovalShown(RequestShown):
    """A request for approval, as a person is shown it."""

    call_id: str
    session_id: str
    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    cwd: str | None
    targets: list[dict[str, Any]]
    agent_id: str
    source: Word
    context_label: str
    reason: dict[str, Any]
    tool_category: str | None
    mcp_server: str | None
    diff: str | None
    scripts: dict[str, str]
    fingerprint: str
    resolved_by: str | None
    surface: str | None
    note: str | None
    resolved_at: datetime | None
    mandated: bool = Field(description="Whether something asks that only a person may answer, each time.")
    plan_id: str | None = Field(description="The plan that its call was asked for with; null for a call by itself.")
    plan_place: int | None = Field(description="The place of its call among the calls of that plan, from 0.")


class QuestionShown(Shown):
    """A question of an agent."""

    request_id: str
    session_id: str
    agent_id: str
    question: str
    choices: list[str]
    state: Word
    answer: str | None
    resolved_by: str | None
    created_at: datetime
    expires_at: datetime | None
    resolved_at: datetime | None


class BypassShown(Shown):
    """A bypass. `until` is null where it lasts until its session ends."""

    id: str
    session_id: str
    scope: Word
    category: str | None
    mcp_server: str | None
    include_subagents: bool
    until: datetime | None
    created_by: str
    created_at: datetime
    ended_at: datetime | None


class PlanShown(Shown):
    """A plan of which requests wait: all of them, in the plan's order, also those that are on another page."""

    plan_id: str
    waiting: list[str]


class InboxShown(Shown):
    """What waits for a person, oldest first. `next` is the `cursor` of the following page, null on the last."""

    total: int
    approvals: list[ApprovalShown | BrokenShown]
    clarifications: list[QuestionShown | BrokenShown]
    plans: list[PlanShown] = Field(description="The plans that requests of this page are of.")
    next: str | None


class ResolvedShown(Shown):
    """What came of an answer. `instead` is the request that took this one's place, where an edit asks for more."""

    request: ApprovalShown
    call: CallShown
    bypass: BypassShown | None
    instead: ApprovalShown | None


def call_shown(call: CallRecord, told: TellsRecords) -> CallShown:
    """A call as JSON."""
    return CallShown(
        id=call.id,
        session_id=call.session_id,
        tool_call_id=call.tool_call_id,
        tool=call.tool,
        arguments=dict(call.arguments),
        cwd=call.cwd,
        state=call.state.value,
        reason=told.reason(call.reason),
        edited=call.edited,
        request_id=call.request_id,
        created_at=call.created_at,
        changed_at=call.changed_at,
    )


def request_shown(approval: ApprovalRecord | None) -> RequestShown | None:
    """A request as JSON for whoever made the call; None for none."""
    if approval is None:
        return None
    return RequestShown(
        request_id=approval.request_id,
        state=approval.state.value,
        created_at=approval.created_at,
        expires_at=approval.expires_at,
        holds_until=holds_until(approval),
    )


def approval_shown(approval: ApprovalRecord, told: TellsRecords) -> ApprovalShown:
    """A request as JSON for a person."""
    at = plan_of(approval.call_id)
    return ApprovalShown(
        request_id=approval.request_id,
        state=approval.state.value,
        created_at=approval.created_at,
        expires_at=approval.expires_at,
        holds_until=holds_until(approval),
        call_id=approval.call_id,
        session_id=approval.session_id,
        tool_call_id=approval.tool_call_id,
        tool_name=approval.tool_name,
        arguments=dict(approval.arguments),
        cwd=approval.cwd,
        targets=[dict(one) for one in approval.targets],
        agent_id=approval.agent_id,
        source=approval.source.value,
        context_label=approval.context_label,
        reason=told.reason(approval.reason),
        tool_category=None if approval.tool_category is None else approval.tool_category.value,
        mcp_server=approval.mcp_server,
        diff=approval.diff,
        scripts=dict(approval.scripts),
        fingerprint=str(approval.fingerprint),
        resolved_by=approval.resolved_by,
        surface=approval.surface,
        note=approval.note,
        resolved_at=approval.resolved_at,
        mandated=is_mandated(approval.asked),
        plan_id=None if at is None else at.plan_id,
        plan_place=None if at is None else at.place,
    )


def resolution_of(answered: ApprovalRecord | ClarificationRecord) -> ResolutionShown:
    """How a request or a question stands that somebody has answered."""
    approval = answered if isinstance(answered, ApprovalRecord) else None
    return ResolutionShown(
        request_id=answered.request_id,
        state=answered.state.value,
        resolved_by=answered.resolved_by,
        surface=None if approval is None else approval.surface,
        note=None if approval is None else approval.note,
        resolved_at=answered.resolved_at,
    )


def question_shown(asked: ClarificationRecord) -> QuestionShown:
    """A question as JSON."""
    return QuestionShown(
        request_id=asked.request_id,
        session_id=asked.session_id,
        agent_id=asked.agent_id,
        question=asked.question,
        choices=list(asked.choices),
        state=asked.state.value,
        answer=asked.answer,
        resolved_by=asked.resolved_by,
        created_at=asked.created_at,
        expires_at=asked.expires_at,
        resolved_at=asked.resolved_at,
    )


def bypass_shown(bypass: BypassRecord) -> BypassShown:
    """A bypass as JSON."""
    return BypassShown(
        id=bypass.id,
        session_id=bypass.session_id,
        scope=bypass.scope.value,
        category=None if bypass.category is None else bypass.category.value,
        mcp_server=bypass.mcp_server,
        include_subagents=bypass.include_subagents,
        until=bypass.until,
        created_by=bypass.created_by,
        created_at=bypass.created_at,
        ended_at=bypass.ended_at,
    )
