"""Runs: what somebody finds of them, and what of each is given.

Settles the operations that list and read. Does not settle how a run is recorded (`content.runs_record`), goes on
(`content.runs_going`), nor its files (`content.run_files`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stanch.content.access import Access
from stanch.content.runs_shown import RunBrief, RunShown, brief, run_shown
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.storage.content_run_nouns import MOST_STEPS
from stanch.values.fault import NotFound
from stanch.values.records import Broken
from stanch.values.run import Part, RunRecord, RunState

MOST_SHOWN = 200
RunName = Annotated[str, Field(min_length=1, max_length=200, description="The id of a run.")]
PartWord = Literal["input", "output", "logs", "arguments", "result"]


class ListRuns(Asked):
    """Which runs to list."""

    state: RunState | None = None
    of_run: RunName | None = Field(default=None, description="Only those that repeat this run.")
    limit: int = Field(default=50, ge=1, le=MOST_SHOWN)
    cursor: str | None = Field(default=None, max_length=8192, description="The `next` of the page before.")


class ReadRun(Asked):
    """Which run to read, and what of it."""

    run: RunName
    parts: tuple[PartWord, ...] | None = Field(default=None, description="Which values to give. Left out: all.")
    steps: tuple[int, ...] | None = Field(
        default=None, max_length=MOST_SHOWN, description="The places of the steps to give, counted from 1."
    )
    after: int = Field(default=0, ge=0, le=MOST_STEPS, description="Give the steps behind this place.")
    limit: int = Field(default=50, ge=0, le=MOST_SHOWN, description="How many steps to give at most.")
    base64: bool = Field(default=False, description="Put the files that outputs and results name into them, as base64.")


class BrokenRun(Given):
    """A run that cannot be read."""

    id: str
    problem: str


class RunPage(Given):
    """A page of runs, newest first. `next` is the cursor of the following one."""

    items: tuple[RunBrief | BrokenRun, ...]
    total: int
    next: str | None


@operation("runs_list", ListRuns, tool="runs_list", content_delivery=ContentDelivery.NONE)
def list_runs(access: Access, asked: ListRuns) -> RunPage:
    """List the runs of the workspace and of the person: their names and where they stand, newest first."""
    access.stores.settle_runs()
    page = access.stores.list_runs(
        person=access.person, state=asked.state, of_run=asked.of_run, limit=asked.limit, cursor=asked.cursor
    )
    items = tuple(
        BrokenRun(id=one.id, problem=one.problem) if isinstance(one, Broken) else brief(one) for one in page.items
    )
    return RunPage(items=items, total=page.total, next=page.next)


@operation("runs_read", ReadRun, tool="runs_read", content_delivery=ContentDelivery.SOURCED)
def read_run(access: Access, asked: ReadRun) -> RunShown:
    """Read a run: what it was asked, its steps with arguments, results and logs, and its output.

    A value that may not be given is left out and named in `withheld`, with the reason's code.
    """
    run = visible_run(access, asked.run)
    if asked.steps is not None:
        wanted = set(asked.steps)
        steps = [one for one in access.stores.run_steps(run.id, limit=MOST_STEPS) if one.place in wanted]
        following = None
    else:
        steps = access.stores.run_steps(run.id, after=asked.after, limit=asked.limit + 1)
        following = steps[asked.limit - 1].place if len(steps) > asked.limit > 0 else None
        steps = steps[: asked.limit]
    parts = tuple(Part) if asked.parts is None else tuple(map(Part, asked.parts))
    return run_shown(access, run, steps, parts=parts, inlined=asked.base64, after=following)


def visible_run(access: Access, run_id: str) -> RunRecord:
    """The run, if it is there for this caller, with whatever a process that is gone left of it settled.

    Raises `NotFound` and `BrokenRow`.
    """
    access.stores.settle_runs()
    run = access.stores.get_run(run_id)
    if not access.sees(run.owner):
        raise NotFound("run", run_id)
    return run
