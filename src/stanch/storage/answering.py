"""Answers to requests for approval, as they are kept: which still count, and what is told of those that do not.

Settles when an answer comes too late and the words about it. Does not settle what an answer does to a call (`calls`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stanch.gate.approval import holds_until
from stanch.storage.rows import written_moment
from stanch.storage.transactions import Change
from stanch.values.approval import ApprovalRecord, ApprovalState, CallRecord
from stanch.values.fault import Conflict, quoted
from stanch.values.records import Actor

EXPIRED: Mapping[str, Any] = {"code": "approval_expired", "layer": "approval", "sentence": "Nobody answered in time"}
LAPSED: Mapping[str, Any] = {
    "code": "approval_lapsed",
    "layer": "approval",
    "sentence": "It was approved, and not started for as long as the approval held",
}


class Lapsed(Conflict):
    """A call is not to be started any more, since its approval held only for a time."""

    def __init__(self, approval: ApprovalRecord) -> None:
        until = holds_until(approval)
        when = "" if until is None else f" until {until:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(f"the approval of the call {quoted(approval.call_id)} held{when}, and is over")


def resolution(change: Change, to: ApprovalState, by: Actor, note: str | None) -> dict[str, Any]:
    """The columns of a request that is answered now."""
    return {
        "state": to.value,
        "resolved_by": by.principal,
        "surface": by.surface,
        "note": note,
        "resolved_at": written_moment(change.at),
    }


def answerable(approval: ApprovalRecord, at: datetime | None) -> None:
    """Raises `Conflict` for a request that has been answered, or whose time is over at this moment."""
    if approval.state is not ApprovalState.OPEN:
        raise Conflict(answered(approval))
    if at is not None and approval.expires_at is not None and approval.expires_at <= at:
        when = f"{approval.expires_at:%Y-%m-%d %H:%M:%S} UTC"
        raise Conflict(f"the request {quoted(approval.request_id)} expired at {when}")


def answered(approval: ApprovalRecord) -> str:
    """What is said to whoever answers a request that has been answered: by whom, how and when."""
    when = "" if approval.resolved_at is None else f" at {approval.resolved_at:%Y-%m-%d %H:%M:%S} UTC"
    who = f" by {approval.resolved_by} ({approval.surface})" if approval.resolved_by else ""
    return f"the request {quoted(approval.request_id)} was {approval.state.value}{who}{when}"


def call_detail(call: CallRecord, approval: ApprovalRecord | None) -> dict[str, Any]:
    """What an audit row says of a call: names, never an argument."""
    said: dict[str, Any] = {"session": call.session_id, "tool": call.tool, "code": call.reason.get("code")}
    if approval is not None:
        said.update(request=approval.request_id, agent=approval.agent_id, fingerprint=str(approval.fingerprint))
        if approval.expires_at is not None:
            said["expires_at"] = written_moment(approval.expires_at)
    return said
