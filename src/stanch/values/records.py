"""What a store holds: one frozen record per noun, pages of them, and what is said of a row that cannot be read.

Settles fields and their types. Does not settle how they are kept (`storage`) nor what a rule or a context means
(`policy`, `gate.context`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, NoReturn, TypeVar

from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.identity import Principal, Source
from stanch.values.narrowing import NONE, Narrowing

Item_co = TypeVar("Item_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a change, by the id of their principal, and the door they came through, such as `http` or `cli`."""

    principal: str
    surface: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that is there and cannot be read: its table, its id, and what is wrong with it. Never an absent row."""

    table: str
    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class Page(Generic[Item_co]):
    """One page of a list: its items, how many there are in all, and where the next page starts.

    `next` is opaque, and None on the last page.
    """

    items: tuple[Item_co, ...]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a store can be used, and what is missing where it cannot. It has no truth value: read `ready`."""

    ready: bool
    problem: str = ""

    def __bool__(self) -> NoReturn:
        raise TypeError("readiness has no truth value; read its `ready`")


# --- policy ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """A permission group without its rules."""

    id: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFields:
    """What a person writes in a rule. `action` is never `require`, which is read as `ask`."""

    group_id: str = "default"
    priority: int = 100
    agent_id: str | None = None
    source: Source | None = None
    tool_pattern: str
    path_pattern: str | None = None
    command_pattern: str | None = None
    action: Effect
    mandatory: bool = False
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRecord(RuleFields):
    """A rule with the id that the store gave it. An id is given once and never again."""

    id: int


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A group with its rules in the order in which they are read, or with the first of them that cannot be read.

    `group` is the broken row itself where not even that can be read. INVARIANT: broken rules are no empty list.
    """

    id: str
    group: GroupRecord | Broken
    rules: tuple[RuleRecord, ...] | Broken


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """Every group and rule, as they were together at one revision.

    `orphans` are rules whose group does not exist: no group's rules hold them, so whoever reads a policy has to say
    so.
    """

    revision: int
    groups: tuple[StoredGroup, ...]
    orphans: tuple[Broken, ...] = ()


# --- sessions and what they belong to --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session. `context_given` is true where its creator gave `run_context`, if only as None.

    `approver` is false for a run that nobody watches: what it would ask is rejected at once. `model` is the one it uses
    now, where that is known. `project_id`, `ticket_id` and `job_id` outlive what they name. `skills` are those that
    are active, `narrowing` its own rows that deny or ask. `has_policy`: the program that opened it gave it a policy;
    where that is gone, a person is asked about each of its calls.
    """

    id: str
    agent_id: str
    source: Source
    principal: Principal
    parent_id: str | None = None
    project_id: str | None = None
    ticket_id: str | None = None
    job_id: str | None = None
    model: str | None = None
    run_context: RunContext | None = None
    context_given: bool = False
    approver: bool = True
    skills: tuple[str, ...] = ()
    narrowing: Narrowing = NONE
    has_policy: bool = False
    created_at: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRecord:
    """A project: what is laid under the contexts of its chats and tickets."""

    id: str
    name: str
    description: str = ""
    directory: str | None = None
    grant_tree: bool = False
    run_context: RunContext | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketRecord:
    """A ticket of a project."""

    id: str
    project_id: str
    title: str
    body: str = ""
    run_context: RunContext | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A prompt that an agent is given by the clock. Whether `cron` is an expression is its writer's to check."""

    id: str
    name: str
    cron: str
    prompt: str
    agent_id: str
    enabled: bool = True
    run_context: RunContext | None = None
    created_at: datetime


# --- tokens ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """What is known of a token. The token itself is not."""

    id: str
    name: str
    principal: Principal
    created_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made. `secret` can be had here and never again; no repr shows it."""

    record: TokenRecord
    secret: str = field(repr=False)


# --- audit -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One change: when, by whom, through which door, what, to what. `detail` holds names and places only.

    `digest` covers the row and `previous`, the digest of the row before it.
    """

    seq: int
    at: datetime
    actor: str
    surface: str
    action: str
    subject: str
    detail: Mapping[str, Any]
    previous: str
    digest: str


class ChainBreak(StrEnum):
    """What happened to an audit row that no longer fits its chain."""

    REMOVED = "removed"
    REORDERED = "reordered"
    CHANGED = "changed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What verifying the audit chain found: how many rows hold, and the first that does not.

    `seq` and `broken` are None where all hold. It has no truth value.
    """

    intact: int
    seq: int | None = None
    broken: ChainBreak | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError("a chain report has no truth value; read its `broken`")
