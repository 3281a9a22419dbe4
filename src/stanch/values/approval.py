"""A call that waits for a person, from its asking to its end.

Settles the records and the states. Does not settle which move leads from which state to which (`gate.approval`), nor
how they are kept (`storage`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from stanch.values.call import Category
from stanch.values.identity import Source


class CallState(StrEnum):
    """Where a tool call stands. Rejected, cancelled and interrupted are no failures."""

    PENDING = "pending"  # nobody has to answer any more; it may be started
    AWAITING_APPROVAL = "awaiting_approval"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    INTERRUPTED = "interrupted"  # it was running when its process died; nobody knows how far it came


class ApprovalState(StrEnum):
    """Where a request for approval stands. All but the first are final."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REPLACED = "replaced"  # the call was edited, or is asked about anew


class BypassScope(StrEnum):
    """Which calls a session bypass answers for."""

    CATEGORY = "category"
    MCP_SERVER = "mcp_server"
    ALL = "all"


class Fingerprint(NamedTuple):
    """What an approval is for, as digests: the call itself, the context it is judged in, and what its paths lead to.

    `targets` covers the stamps and the content of scripts that the call runs.
    """

    call: str
    context: str
    targets: str

    def __str__(self) -> str:
        return f"{self.call}.{self.context}.{self.targets}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """A tool call of a session, from the moment it was asked for.

    `id` is the gate's; `tool_call_id` is whatever the agent calls it and proves nothing. `reason` is the one of its
    last answer, as every door writes it. `edited`: a person, a policy or a hook changed its arguments. `cwd` is where
    its relative paths start, None for where the session works. `node` is the process that runs it, or ran it.
    `request_id` is the approval that it waits for, or that last released it.
    """

    id: str
    session_id: str
    tool_call_id: str
    tool: str
    arguments: Mapping[str, Any]
    cwd: str | None = None
    state: CallState
    reason: Mapping[str, Any]
    edited: bool = False
    node: str | None = None
    request_id: str | None = None
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRecord:
    """A request for approval, as the person sees it.

    `targets` and `reason` are as every door writes them. `asked` names each ask that it shows, as `layer:code:rule`: an
    approval is for these and no others. `cwd` is where the call's relative paths and its commands start: a canonical
    path. `diff` is what an edit would change, where it is one. `scripts` are files that the call runs, with the digests
    of their content.
    """

    request_id: str
    call_id: str
    session_id: str
    tool_call_id: str
    tool_name: str
    arguments: Mapping[str, Any]
    targets: tuple[Mapping[str, Any], ...]
    agent_id: str
    source: Source
    context_label: str
    reason: Mapping[str, Any]
    asked: tuple[str, ...]
    cwd: str | None = None
    tool_category: Category | None = None
    mcp_server: str | None = None
    diff: str | None = None
    scripts: Mapping[str, str]
    fingerprint: Fingerprint
    created_at: datetime
    expires_at: datetime | None = None
    state: ApprovalState = ApprovalState.OPEN
    resolved_by: str | None = None
    surface: str | None = None
    note: str | None = None
    resolved_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BypassRecord:
    """A person's word that ordinary asks of one session need no answer for a while.

    `until` is None where it lasts until the session ends. It ends with the process `node` that it was given through.
    """

    id: str
    session_id: str
    scope: BypassScope
    category: Category | None = None
    mcp_server: str | None = None
    include_subagents: bool = False
    until: datetime | None = None
    node: str
    created_by: str
    created_at: datetime
    ended_at: datetime | None = None


class ClarificationState(StrEnum):
    """Where a question to a person stands."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClarificationRecord:
    """A question that an agent asks a person. `choices` are answers it offers, none for any text."""

    request_id: str
    session_id: str
    agent_id: str
    question: str
    choices: tuple[str, ...] = ()
    state: ClarificationState = ClarificationState.OPEN
    answer: str | None = None
    resolved_by: str | None = None
    created_at: datetime
    expires_at: datetime | None = None
    resolved_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """A process that serves the store, and when it last said so."""

    id: str
    started_at: datetime
    seen_at: datetime
    ended_at: datetime | None = None
