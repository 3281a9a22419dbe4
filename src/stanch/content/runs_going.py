"""Repeating a run: a new one, and going on with one that waited.

Settles what a new run takes over from the one that it repeats, who may go on with it, and what is answered. Does not
settle what becomes of a step (`content.run_steps`).
INVARIANT: what is taken over is taken as it is, with what was known of it; nothing of it becomes better known.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from pydantic import Field

from stanch.content.access import Access, Acting
from stanch.content.acting import Does
from stanch.content.run_steps import Going
from stanch.content.run_values import known_files, known_values, sealed_file, sealed_value
from stanch.content.runs import RunName, visible_run
from stanch.content.runs_record import Line, new_run, new_run_id
from stanch.content.runs_shown import RunShown, run_shown
from stanch.delivery.operation import Asked, ContentDelivery, operation
from stanch.storage.content_run_nouns import MOST_STEPS
from stanch.storage.content_run_writing import NewFile, NewStep, NewValue
from stanch.values.fault import BadFields, BadInput, BrokenRow, Conflict
from stanch.values.records import Broken
from stanch.values.run import Part, RunFileRecord, RunRecord, RunState, StepRecord, StepState

MOST_ANSWERED = 200
_TAKEN = (Part.INPUT, Part.ARGUMENTS)


class ExecuteRun(Asked):
    """Which run to repeat."""

    run: RunName
    name: Line | None = Field(default=None, description="What the new run is called. Left out: as the old one.")
    session: str | None = Field(
        default=None,
        min_length=1,
        max_length=512,
        description="The session whose calls the steps are. A model's is always its own.",
    )
    personal: bool = Field(default=False, description="Whether the new run is there for its person alone.")
    base64: bool = Field(default=False, description="Put the files that its outputs and results name into them.")


class ResumeRun(Asked):
    """Which run to go on with."""

    run: RunName
    base64: bool = Field(default=False, description="Put the files that its outputs and results name into them.")


@operation("runs_execute", ExecuteRun, tool="runs_execute", content_delivery=ContentDelivery.SOURCED)
def execute_run(access: Access, asked: ExecuteRun) -> RunShown:
    """Repeat a run: each of its steps is judged as a call of the session, and done again where Stanch can do it.

    A step of a tool that is none of Stanch's gives what was recorded of it. Where a person has to be asked, the run is
    paused; where the answer is no, it has failed.
    """
    acting = _acting(access)
    old = visible_run(access, asked.run)
    session_id = acting.session_for(access, asked.session)
    if old.state is RunState.RUNNING or old.state is RunState.PAUSED:
        raise Conflict("the run has not ended yet: what it did cannot be repeated")
    steps = access.stores.run_steps(old.id, limit=MOST_STEPS)
    if session_id is None and any(acting.does(step.tool) is Does.TOOL for step in steps):
        raise BadFields(("session", "'session' is needed: a step of the run acts on files or runs commands"))
    holder, run_id = secrets.token_hex(8), new_run_id()
    run = access.stores.add_run(
        new_run(
            run_id,
            asked.name or old.name,
            owner=access.person if asked.personal else old.owner,
            session_id=session_id,
            synchronous=True,
            of_run=old.id,
            state=RunState.RUNNING,
            holder=holder,
            node=acting.node,
        ),
        [NewStep(step.tool, StepState.PENDING) for step in steps],
        list(_taken_values(access, old, run_id, steps)),
        list(_taken_files(access, old)),
        by=access.by,
    )
    return _answer(access, Going(access, acting, run, holder).on(), inlined=asked.base64)


@operation("runs_resume", ResumeRun, tool="runs_resume", content_delivery=ContentDelivery.SOURCED)
def resume_run(access: Access, asked: ResumeRun) -> RunShown:
    """Go on with a run that is paused, once the step that it waits for was approved. No step is done twice."""
    acting = _acting(access)
    run = visible_run(access, asked.run)
    # WHY by its own session: whoever goes on with it must not have its steps judged more kindly than they were.
    if acting.session_for(access, run.session_id) != run.session_id:
        raise Conflict("the run is not one of this session: it is gone on with where it was begun")
    holder = secrets.token_hex(8)
    run = access.stores.claim_run(run.id, holder, acting.node, by=access.by)
    return _answer(access, Going(access, acting, run, holder).on(), inlined=asked.base64)


def _answer(access: Access, run: RunRecord, *, inlined: bool) -> RunShown:
    steps = access.stores.run_steps(run.id, limit=MOST_ANSWERED + 1)
    following = steps[MOST_ANSWERED - 1].place if len(steps) > MOST_ANSWERED else None
    return run_shown(access, run, steps[:MOST_ANSWERED], parts=tuple(Part), inlined=inlined, after=following)


def _acting(access: Access) -> Acting:
    if access.acting is None:
        raise BadInput("nothing runs tools here")
    return access.acting


def _taken_values(access: Access, old: RunRecord, run_id: str, steps: list[StepRecord]) -> Iterator[NewValue]:
    """The input of the old run and the arguments of its steps, each with what is known of it."""
    parts = access.stores.run_parts(old.id, [0, *(step.place for step in steps)])
    ids = [one.id for one in parts if one.part in _TAKEN]
    known, kept = known_values(access, old, ids), access.stores.run_values(ids)
    for key in ids:
        one = kept[key]
        yield sealed_value(access, run_id, (one.place, one.part), one.text, known.of(key)(), one.came_from)


def _taken_files(access: Access, old: RunRecord) -> Iterator[NewFile]:
    """The files of the old run: the same bytes, each with what is known of it."""
    files: list[RunFileRecord] = []
    cursor: str | None = None
    while True:
        page = access.stores.run_files(old.id, limit=500, cursor=cursor)
        for one in page.items:
            if isinstance(one, Broken):
                raise BrokenRow(one.table, one.id, one.problem)
            files.append(one)
        cursor = page.next
        if cursor is None:
            break
    known = known_files(access, old, files)
    for file in files:
        what = file.size, file.digest, file.is_text
        yield sealed_file(access, file.name, file.media_type, what, known.of(file.id)())
