"""Recording a run: what a workflow did elsewhere, kept with what is known of each of its values.

Settles what a recorded run is made of, and that files which are written out in a value are kept as files. Does not
settle who says what is known (`content.access.Writing`).
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from stanch.content.access import Access, Knowing
from stanch.content.run_values import FileBytes, decoded, file_name, media_of, new_file, new_value, taken_out
from stanch.content.runs_shown import RunBrief, brief
from stanch.delivery.operation import Asked, ContentDelivery, operation
from stanch.storage.content_run_nouns import MOST_STEPS
from stanch.storage.content_run_writing import NewFile, NewStep, NewValue
from stanch.values.fault import BadFields
from stanch.values.run import Part, RunRecord, RunState, StepState

MOST_FILES = 200
Line = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Logs = tuple[Annotated[str, Field(max_length=100_000)], ...]


class StepGiven(Asked):
    """One step of a run: the tool, what it was asked, and what came of it."""

    tool: Line
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: Any = None
    logs: Logs = ()
    state: Literal["completed", "failed"] = "completed"


class FileGiven(Asked):
    """A file of a run: its text, or its bytes as base64."""

    name: Annotated[str, Field(min_length=1, max_length=500)]
    media_type: str = "text/plain"
    text: str | None = None
    base64: str | None = None


class RecordRun(Asked):
    """A run that was done elsewhere."""

    name: Line
    input: Any = None
    steps: tuple[StepGiven, ...] = Field(default=(), max_length=MOST_STEPS)
    output: Any = Field(
        default=None,
        description='Any value. An object {"file": NAME, "media_type": ..., "base64": ...} in it is kept as a file.',
    )
    logs: Logs = ()
    files: tuple[FileGiven, ...] = Field(default=(), max_length=MOST_FILES)
    personal: bool = Field(default=False, description="Whether it is there for its person alone.")
    synchronous: bool = Field(default=True, description="Whether somebody waited for its end.")


@operation("runs_record", RecordRun, tool="runs_record", content_delivery=ContentDelivery.NONE)
def record_run(access: Access, asked: RecordRun) -> RunBrief:
    """Record a run that was done elsewhere: its input, its steps with their results, its output, logs and files."""
    run_id, knowing = new_run_id(), access.writing.over()
    output, results = copy.deepcopy(asked.output), [copy.deepcopy(step.result) for step in asked.steps]
    files = [*map(_file, asked.files), *taken_out(output, "output")]
    for result in results:
        files += taken_out(result, "result")
    values = [*_own_values(access, run_id, asked, output, knowing)]
    for place, (step, result) in enumerate(zip(asked.steps, results, strict=True), 1):
        values.append(_value(access, run_id, place, Part.ARGUMENTS, step.arguments, knowing))
        if "result" in step.model_fields_set:
            values.append(_value(access, run_id, place, Part.RESULT, result, knowing))
        if step.logs:
            values.append(_value(access, run_id, place, Part.LOGS, list(step.logs), knowing))
    run = access.stores.add_run(
        new_run(
            run_id,
            asked.name,
            owner=access.person if asked.personal else None,
            session_id=access.session_id,
            synchronous=asked.synchronous,
        ),
        [NewStep(step.tool, StepState(step.state)) for step in asked.steps],
        values,
        kept_files(access, files, knowing),
        by=access.by,
    )
    return brief(run)


def new_run_id() -> str:
    """An id that no run has."""
    return f"run_{secrets.token_hex(12)}"


def new_run(
    run_id: str,
    name: str,
    *,
    owner: str | None,
    session_id: str | None,
    synchronous: bool,
    of_run: str | None = None,
    state: RunState = RunState.RECORDED,
    holder: str | None = None,
    node: str | None = None,
) -> RunRecord:
    """A run that is not kept yet; its dates are the store's to set."""
    now = datetime.now(UTC)
    return RunRecord(
        id=run_id,
        name=name,
        owner=owner,
        session_id=session_id,
        of_run=of_run,
        state=state,
        synchronous=synchronous,
        steps=0,
        failed_at=None,
        holder=holder,
        node=node,
        created_by="",
        created_at=now,
        changed_at=now,
        ended_at=None,
    )


def kept_files(access: Access, files: Iterable[FileBytes], knowing: Knowing) -> list[NewFile]:
    """The files, their bytes kept. Of two with one name that are the same, one. Raises `BadFields` for others."""
    given: dict[str, FileBytes] = {}
    for file in files:
        if given.setdefault(file.name, file) != file:
            raise BadFields(("files", "'files' holds two different files of one name"))
    if len(given) > MOST_FILES:
        raise BadFields(("files", f"a run has at most {MOST_FILES} files"))
    return [new_file(access, file, knowing) for file in given.values()]


def _own_values(access: Access, run_id: str, asked: RecordRun, output: Any, knowing: Knowing) -> Iterable[NewValue]:
    given = asked.model_fields_set
    if "input" in given:
        yield _value(access, run_id, 0, Part.INPUT, asked.input, knowing)
    if "output" in given:
        yield _value(access, run_id, 0, Part.OUTPUT, output, knowing)
    if asked.logs:
        yield _value(access, run_id, 0, Part.LOGS, list(asked.logs), knowing)


def _value(access: Access, run_id: str, place: int, part: Part, value: Any, knowing: Knowing) -> NewValue:  # noqa: PLR0917
    return new_value(access, run_id, place, part, value, knowing(value))


def _file(file: FileGiven) -> FileBytes:
    if (file.text is None) == (file.base64 is None):
        raise BadFields(("files", "each of 'files' has either a 'text' or a 'base64'"))
    try:
        data = decoded(file.base64, "files") if file.text is None else file.text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadFields(("files", "'text' in 'files' is no valid text")) from None
    return FileBytes(file_name(file.name), media_of(file.media_type), data)
