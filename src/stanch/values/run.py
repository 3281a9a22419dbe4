"""A run: what one go of a workflow was asked, which steps it took, what came of each, and which files it left.

Settles the records and the states. Does not settle how they are kept (`storage`), nor what is done with them
(`content`). ABSENT: any value of a step or an output; these are items of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class RunState(StrEnum):
    """Where a run stands. One that is recorded was done elsewhere, and is only told of here."""

    RECORDED = "recorded"
    RUNNING = "running"
    PAUSED = "paused"  # somebody has to answer, or it was stopped between two steps
    COMPLETED = "completed"
    FAILED = "failed"


class StepState(StrEnum):
    """Where a step of a run stands."""

    PENDING = "pending"
    WAITING = "waiting"  # a person has to answer its call
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    REFUSED = "refused"  # the gate, or a person, said no; or what it is made of may not be used here
    INTERRUPTED = "interrupted"  # its process died; nobody knows how far it came


class Part(StrEnum):
    """Which value of a run, or of one of its steps."""

    INPUT = "input"
    OUTPUT = "output"
    LOGS = "logs"
    ARGUMENTS = "arguments"
    RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run without its values.

    `owner` is whose it is, None for the workspace's. `session_id` is the session whose calls its steps are, None where
    they are nobody's. `of_run` is the run that it repeats. `synchronous`: whoever asked for it waited for its end.
    `steps` counts them. `failed_at` is the place of the step that it failed at. `holder` is a word that only whoever
    runs it now knows, `node` their process.
    """

    id: str
    name: str
    owner: str | None
    session_id: str | None
    of_run: str | None
    state: RunState
    synchronous: bool
    steps: int
    failed_at: int | None
    holder: str | None
    node: str | None
    created_by: str
    created_at: datetime
    changed_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of a run without its values. `place` counts from 1. `reason` says why it was refused, as doors do."""

    id: str
    run_id: str
    place: int
    tool: str
    state: StepState
    call_id: str | None
    reason: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFileRecord:
    """A file of a run. `digest` is of its bytes; `is_text`: they are text in UTF-8, of a type that is text."""

    id: str
    run_id: str
    name: str
    media_type: str
    size: int
    digest: str
    is_text: bool
    created_at: datetime
