"""Calls, approvals, bypasses, questions and nodes: how a row of each is read and written.

Settles which column becomes which field. Does not settle which state follows which (`gate.approval`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from stanch.storage.rows import Fields, Noun, Unread, written_json, written_moment
from stanch.storage.schema import APPROVALS, BYPASSES, CALLS, CLARIFICATIONS, NODES
from stanch.values.approval import (
    ApprovalRecord,
    ApprovalState,
    BypassRecord,
    BypassScope,
    CallRecord,
    CallState,
    ClarificationRecord,
    ClarificationState,
    Fingerprint,
    NodeRecord,
)
from stanch.values.call import Category
from stanch.values.identity import Source


def _table(row: Fields, name: str) -> Mapping[str, Any]:
    value = row.json(name)
    if not isinstance(value, dict):
        raise Unread(name, "is no JSON object")
    return MappingProxyType(value)


def _texts(row: Fields, name: str) -> tuple[str, ...]:
    value = row.json(name)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Unread(name, "is no JSON list of texts")
    return tuple(value)


def _tables(row: Fields, name: str) -> tuple[Mapping[str, Any], ...]:
    value = row.json(name)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise Unread(name, "is no JSON list of objects")
    return tuple(MappingProxyType(one) for one in value)


def _fingerprint(row: Fields) -> Fingerprint:
    parts = row.text("fingerprint").split(".")
    if len(parts) != 3:
        raise Unread("fingerprint", "is no fingerprint")
    return Fingerprint(*parts)


def _call(row: Fields) -> CallRecord:
    return CallRecord(
        id=row.key("id"),
        session_id=row.key("session_id"),
        tool_call_id=row.text("tool_call_id", empty=True),
        tool=row.text("tool"),
        arguments=_table(row, "arguments"),
        cwd=row.maybe("cwd"),
        state=row.word("state", CallState),
        reason=_table(row, "reason"),
        edited=row.flag("edited"),
        node=row.maybe_key("node"),
        request_id=row.maybe_key("request_id"),
        created_at=row.moment("created_at"),
        changed_at=row.moment("changed_at"),
    )


def _approval(row: Fields) -> ApprovalRecord:
    return ApprovalRecord(
        request_id=row.key("request_id"),
        call_id=row.key("call_id"),
        session_id=row.key("session_id"),
        tool_call_id=row.text("tool_call_id", empty=True),
        tool_name=row.text("tool_name"),
        arguments=_table(row, "arguments"),
        cwd=row.maybe("cwd"),
        targets=_tables(row, "targets"),
        agent_id=row.key("agent_id"),
        source=row.word("source", Source),
        context_label=row.text("context_label", empty=True),
        reason=_table(row, "reason"),
        asked=_texts(row, "asked"),
        tool_category=row.maybe_word("tool_category", Category),
        mcp_server=row.maybe("mcp_server"),
        diff=row.maybe("diff", empty=True),
        scripts=_table(row, "scripts"),
        fingerprint=_fingerprint(row),
        created_at=row.moment("created_at"),
        expires_at=row.maybe_moment("expires_at"),
        state=row.word("state", ApprovalState),
        resolved_by=row.maybe("resolved_by"),
        surface=row.maybe("surface"),
        note=row.maybe("note", empty=True),
        resolved_at=row.maybe_moment("resolved_at"),
    )


def _bypass(row: Fields) -> BypassRecord:
    return BypassRecord(
        id=row.key("id"),
        session_id=row.key("session_id"),
        scope=row.word("scope", BypassScope),
        category=row.maybe_word("category", Category),
        mcp_server=row.maybe("mcp_server"),
        include_subagents=row.flag("include_subagents"),
        until=row.maybe_moment("until"),
        node=row.key("node"),
        created_by=row.text("created_by"),
        created_at=row.moment("created_at"),
        ended_at=row.maybe_moment("ended_at"),
    )


def _clarification(row: Fields) -> ClarificationRecord:
    return ClarificationRecord(
        request_id=row.key("request_id"),
        session_id=row.key("session_id"),
        agent_id=row.key("agent_id"),
        question=row.text("question"),
        choices=_texts(row, "choices"),
        state=row.word("state", ClarificationState),
        answer=row.maybe("answer", empty=True),
        resolved_by=row.maybe("resolved_by"),
        created_at=row.moment("created_at"),
        expires_at=row.maybe_moment("expires_at"),
        resolved_at=row.maybe_moment("resolved_at"),
    )


def _node(row: Fields) -> NodeRecord:
    return NodeRecord(
        id=row.key("id"),
        started_at=row.moment("started_at"),
        seen_at=row.moment("seen_at"),
        ended_at=row.maybe_moment("ended_at"),
    )


CALL = Noun("call", CALLS, _call)
APPROVAL = Noun("approval", APPROVALS, _approval)
BYPASS = Noun("bypass", BYPASSES, _bypass)
CLARIFICATION = Noun("question", CLARIFICATIONS, _clarification)
NODE = Noun("node", NODES, _node)
_OF_THE_CALL = (
    *("tool_name", "arguments", "cwd", "targets", "tool_category", "mcp_server"),
    *("diff", "scripts", "fingerprint"),
)


def call_columns(call: CallRecord) -> dict[str, Any]:
    """A call as the columns that keep it. Raises `BadInput` for arguments that JSON cannot say."""
    return {
        "id": call.id,
        "session_id": call.session_id,
        "tool_call_id": call.tool_call_id,
        "tool": call.tool,
        "arguments": written_json(dict(call.arguments), "arguments"),
        "cwd": call.cwd,
        "state": call.state.value,
        "reason": written_json(dict(call.reason), "reason"),
        "edited": int(call.edited),
        "node": call.node,
        "request_id": call.request_id,
        "created_at": written_moment(call.created_at),
        "changed_at": written_moment(call.changed_at),
    }


def approval_columns(approval: ApprovalRecord) -> dict[str, Any]:
    """An approval as the columns that keep it."""
    return {
        "request_id": approval.request_id,
        "call_id": approval.call_id,
        "session_id": approval.session_id,
        "tool_call_id": approval.tool_call_id,
        "tool_name": approval.tool_name,
        "arguments": written_json(dict(approval.arguments), "arguments"),
        "cwd": approval.cwd,
        "targets": written_json([dict(one) for one in approval.targets], "targets"),
        "agent_id": approval.agent_id,
        "source": approval.source.value,
        "context_label": approval.context_label,
        "reason": written_json(dict(approval.reason), "reason"),
        "asked": written_json(list(approval.asked), "asked"),
        "tool_category": None if approval.tool_category is None else approval.tool_category.value,
        "mcp_server": approval.mcp_server,
        "diff": approval.diff,
        "scripts": written_json(dict(approval.scripts), "scripts"),
        "fingerprint": str(approval.fingerprint),
        "created_at": written_moment(approval.created_at),
        "expires_at": None if approval.expires_at is None else written_moment(approval.expires_at),
        "state": approval.state.value,
        "resolved_by": approval.resolved_by,
        "surface": approval.surface,
        "note": approval.note,
        "resolved_at": None if approval.resolved_at is None else written_moment(approval.resolved_at),
    }


def call_part(approval: ApprovalRecord) -> dict[str, Any]:
    """Those columns of an approval that say what the call is, and not how it was asked about."""
    columns = approval_columns(approval)
    return {key: columns[key] for key in _OF_THE_CALL}


def bypass_columns(bypass: BypassRecord) -> dict[str, Any]:
    """A bypass as the columns that keep it."""
    return {
        "id": bypass.id,
        "session_id": bypass.session_id,
        "scope": bypass.scope.value,
        "category": None if bypass.category is None else bypass.category.value,
        "mcp_server": bypass.mcp_server,
        "include_subagents": int(bypass.include_subagents),
        "until": None if bypass.until is None else written_moment(bypass.until),
        "node": bypass.node,
        "created_by": bypass.created_by,
        "created_at": written_moment(bypass.created_at),
        "ended_at": None,
    }


def bypass_detail(bypass: BypassRecord) -> dict[str, Any]:
    """What an audit row says of a bypass."""
    columns = bypass_columns(bypass)
    return {key: columns[key] for key in ("id", "scope", "category", "mcp_server", "include_subagents", "until")}
