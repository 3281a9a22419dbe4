"""A conversation under way: a message with its place in it, a turn of an agent, a run of a scheduled job.

Settles the records and the states. Does not settle how they are kept (`storage`), what a message holds
(`values.message`), nor what a turn does (`runtime`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from stanch.values.message import Message

NO_COUNTS: Mapping[str, int] = MappingProxyType({})


class TurnState(StrEnum):
    """Where a turn stands. All but the first are final."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"  # a person, or the end of its session
    INTERRUPTED = "interrupted"  # its process ended, and nobody could go on with it


class TurnProblem(NamedTuple):
    """Why a turn did not come to its end: a code for programs, a sentence for people. It holds no content."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One answer of an agent, from the prompt to the last word, over as many requests and calls as it takes.

    `node` is the process that runs it, or ran it last. `asked_by` and `surface` say who asked and through which door.
    `model` is the one it began with. `counts` are numbers by name, such as tokens, where its runner gave some.
    """

    id: str
    session_id: str
    node: str
    state: TurnState
    model: str | None = None
    asked_by: str
    surface: str
    started_at: datetime
    changed_at: datetime
    ended_at: datetime | None = None
    problem: TurnProblem | None = None
    counts: Mapping[str, int] = field(default_factory=lambda: NO_COUNTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRecord:
    """A message with its place: the `seq`-th of its session, from 1, without gaps. `turn_id` is the turn that added it.

    `number` is the same as `message.id`: messages of all sessions are numbered in the order in which they were stored.
    """

    number: int
    session_id: str
    seq: int
    turn_id: str | None = None
    created_at: datetime
    message: Message


class Moved(NamedTuple):
    """The sessions whose conversations have new messages, and the number of the newest of these."""

    number: int
    sessions: tuple[str, ...]


class JobRunState(StrEnum):
    """Where a run of a scheduled job stands. The last three are final."""

    CLAIMED = "claimed"  # a process has taken it on, and has opened no session yet
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # its process ended before it opened a session


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRunRecord:
    """What became of a scheduled job at one of its times. `session_id` is the session that was opened for it.

    `node` is the process that claimed it. `outcome` says in a few words how it ended; it holds no content.
    """

    id: str
    job_id: str
    due_at: datetime
    node: str
    state: JobRunState
    session_id: str | None = None
    outcome: str | None = None
    claimed_at: datetime
    ended_at: datetime | None = None
