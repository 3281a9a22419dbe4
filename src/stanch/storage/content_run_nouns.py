"""Rows of runs as records, and what of them can be read at all.

Settles what each column of a run, a step and a file of a run may hold. Does not settle which there are
(`content_runs_schema`).
"""

from __future__ import annotations

from typing import NamedTuple

from stanch.storage.content_runs_schema import RUN_FILES, RUN_STEPS, RUN_VALUES, RUNS
from stanch.storage.rows import LARGEST_ID, Fields, Noun, Unread
from stanch.values.run import Part, RunFileRecord, RunRecord, RunState, StepRecord, StepState

MOST_STEPS = 1_000


class KeptValue(NamedTuple):
    """A value as it is kept: its text as JSON, the canonical paths that it came from, and its sealed provenance."""

    id: str
    place: int
    part: Part
    text: str
    came_from: tuple[str, ...]
    provenance: str | None


class KeptPart(NamedTuple):
    """That there is a value, and the canonical paths that it came from."""

    id: str
    place: int
    part: Part
    came_from: tuple[str, ...]


def value_id(run_id: str, place: int, part: Part) -> str:
    """The id of a value: of the run itself for the place 0, else of a step."""
    return f"{run_id}.{place}.{part.value}"


def step_id(run_id: str, place: int) -> str:
    """The id of a step."""
    return f"{run_id}.{place}"


def _run(row: Fields) -> RunRecord:
    return RunRecord(
        id=row.key("id"),
        name=row.text("name"),
        owner=row.maybe_key("owner"),
        session_id=row.maybe_key("session_id"),
        of_run=row.maybe_key("of_run"),
        state=row.word("state", RunState),
        synchronous=row.flag("synchronous"),
        steps=row.whole("steps", 0, MOST_STEPS),
        failed_at=row.whole("failed_at", 0, MOST_STEPS) or None,
        holder=row.maybe("holder"),
        node=row.maybe_key("node"),
        created_by=row.text("created_by"),
        created_at=row.moment("created_at"),
        changed_at=row.moment("changed_at"),
        ended_at=row.maybe_moment("ended_at"),
    )


def _step(row: Fields) -> StepRecord:
    run_id, place = row.key("run_id"), row.whole("place", 1, MOST_STEPS)
    if row.key("id") != step_id(run_id, place):
        raise Unread("id", "is not the one of that place of the run")
    reason = None if row.maybe("reason") is None else row.json("reason")
    if reason is not None and not isinstance(reason, dict):
        raise Unread("reason", "is no object")
    return StepRecord(
        id=row.key("id"),
        run_id=run_id,
        place=place,
        tool=row.text("tool"),
        state=row.word("state", StepState),
        call_id=row.maybe_key("call_id"),
        reason=reason,
    )


def _value(row: Fields) -> KeptValue:
    found = KeptValue(
        row.key("id"),
        row.whole("place", 0, MOST_STEPS),
        row.word("part", Part),
        row.text("value"),
        paths_in(row),
        row.maybe("provenance"),
    )
    # INVARIANT: what is sealed is bound to the id, and the id to its place in the run: no value stands for another one.
    if found.id != value_id(row.key("run_id"), found.place, found.part):
        raise Unread("id", "is not the one of that value of the run")
    return found


def _part(row: Fields) -> KeptPart:
    return KeptPart(row.key("id"), row.whole("place", 0, MOST_STEPS), row.word("part", Part), paths_in(row))


def paths_in(row: Fields) -> tuple[str, ...]:
    """The paths that a value came from. Raises `Unread`."""
    found = row.json("came_from")
    if not isinstance(found, list) or not all(isinstance(path, str) for path in found):
        raise Unread("came_from", "is no list of paths")
    return tuple(found)


def _file(row: Fields) -> RunFileRecord:
    return RunFileRecord(
        id=row.key("id"),
        run_id=row.key("run_id"),
        name=row.key("name"),
        media_type=row.text("media_type"),
        size=row.whole("size", 0, LARGEST_ID),
        digest=row.key("digest"),
        is_text=row.flag("is_text"),
        created_at=row.moment("created_at"),
    )


RUN = Noun("run", RUNS, _run)
RUN_STEP = Noun("step of a run", RUN_STEPS, _step)
RUN_PART = Noun("value of a run", RUN_VALUES, _part)
RUN_VALUE = Noun("value of a run", RUN_VALUES, _value)
RUN_FILE = Noun("file of a run", RUN_FILES, _file)
