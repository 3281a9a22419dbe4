"""Runs over REST: `/api/runs`.

Settles the routes. Does not settle what an operation does (`content.runs`, `content.runs_going`, `content.run_files`).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from stanch.content.file_writing import measured
from stanch.content.run_files import (
    RUN_FILE_BYTES,
    AddRunFile,
    GetRunFile,
    ListRunFiles,
    ReadRunFile,
    RunFilePage,
    RunFileShown,
    RunFileText,
    add_run_file,
    get_run_file,
    list_run_files,
    read_run_file,
)
from stanch.content.runs import ListRuns, PartWord, ReadRun, RunPage, list_runs, read_run
from stanch.content.runs_going import ExecuteRun, ResumeRun, execute_run, resume_run
from stanch.content.runs_record import Line, RecordRun, record_run
from stanch.content.runs_shown import RunBrief, RunShown
from stanch.surfaces.http.bodies import Body, Name
from stanch.surfaces.http.content_route import Asks, ContentRoute, as_json, serves, streamed
from stanch.surfaces.http.content_uploads import UploadRoute, received
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor
from stanch.surfaces.http.routers import BODY, guarded
from stanch.values.run import RunState

ROUTER = guarded("/api/runs", "runs", ContentRoute)
UPLOADS = guarded("/api/runs", "runs", UploadRoute)
RunId = Annotated[str, Path(min_length=1, max_length=200, description="The id of a run.")]
FileNamed = Annotated[str, Path(min_length=1, max_length=500, description="The name of a file of the run.")]
Steps = Annotated[list[int] | None, Query(max_length=200, description="The places of the steps to give.")]
Parts = Annotated[list[PartWord] | None, Query(description="Which values to give. Left out: all.")]
Inline = Annotated[bool, Query(description="Put the files that outputs and results name into them, as base64.")]


class ExecuteBody(Body):
    """How to repeat a run."""

    name: Line | None = Field(default=None, description="What the new run is called. Left out: as the old one.")
    session: Name | None = Field(default=None, description="The session whose calls the steps are.")
    personal: bool = Field(default=False, description="Whether the new run is there for its person alone.")
    base64: bool = False


class ResumeBody(Body):
    """How to go on with a run."""

    base64: bool = False


@ROUTER.get("", response_model=RunPage)
@serves(list_runs)
def list_all(
    asks: Asks,
    state: RunState | None = None,
    of_run: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Cursor = None,
) -> Any:
    """List the runs of the workspace and of the person, newest first."""
    return as_json(asks(list_runs, ListRuns(state=state, of_run=of_run, limit=limit, cursor=cursor)))


@ROUTER.post("", status_code=201, response_model=RunBrief, responses=problems(*BODY))
@serves(record_run)
def record(body: RecordRun, asks: Asks) -> Any:
    """Record a run that was done elsewhere, with its steps, outputs, logs and files."""
    return as_json(asks(record_run, body), 201)


@ROUTER.get("/{run}", response_model=RunShown, responses=problems(404))
@serves(read_run)
def read(  # noqa: PLR0917 - called by name
    run: RunId,
    asks: Asks,
    parts: Parts = None,
    steps: Steps = None,
    after: Annotated[int, Query(ge=0, le=1_000)] = 0,
    limit: Annotated[int, Query(ge=0, le=200)] = 50,
    base64: Inline = False,
) -> Any:
    """Read a run: its input, steps, output and logs. What may not be given is named in `withheld`."""
    asked = ReadRun(
        run=run,
        parts=None if parts is None else tuple(parts),
        steps=None if steps is None else tuple(steps),
        after=after,
        limit=limit,
        base64=base64,
    )
    return as_json(asks(read_run, asked))


@ROUTER.post("/{run}/execute", status_code=201, response_model=RunShown, responses=problems(404, 409, *BODY))
@serves(execute_run)
def execute(run: RunId, body: ExecuteBody, asks: Asks) -> Any:
    """Repeat a run, each of its steps judged as a call of the session. The answer is the new run."""
    asked = ExecuteRun(run=run, **body.model_dump())
    return as_json(asks(execute_run, asked), 201)


@ROUTER.post("/{run}/resume", response_model=RunShown, responses=problems(404, 409, *BODY))
@serves(resume_run)
def resume(run: RunId, body: ResumeBody, asks: Asks) -> Any:
    """Go on with a run that is paused, once the step that it waits for was approved."""
    return as_json(asks(resume_run, ResumeRun(run=run, base64=body.base64)))


@ROUTER.get("/{run}/files", response_model=RunFilePage, responses=problems(404))
@serves(list_run_files)
def list_files(run: RunId, asks: Asks, limit: Annotated[int, Query(ge=1, le=500)] = 50, cursor: Cursor = None) -> Any:
    """List the files of a run."""
    return as_json(asks(list_run_files, ListRunFiles(run=run, limit=limit, cursor=cursor)))


@ROUTER.get("/{run}/text/{name:path}", response_model=RunFileText, responses=problems(404))
@serves(read_run_file)
def read_text(
    run: RunId,
    name: FileNamed,
    asks: Asks,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=200_000)] = 50_000,
) -> Any:
    """Read the text of a file of a run, or a part of it."""
    return as_json(asks(read_run_file, ReadRunFile(run=run, name=name, offset=offset, limit=limit)))


@ROUTER.get("/{run}/files/{name:path}", response_class=StreamingResponse, responses=problems(404))
@serves(get_run_file)
def get_file(run: RunId, name: FileNamed, asks: Asks) -> Any:
    """Download a file of a run."""
    return streamed(asks(get_run_file, GetRunFile(run=run, name=name)))


@UPLOADS.put(
    "/{run}/files/{name:path}", status_code=201, response_model=RunFileShown, responses=problems(404, 409, 413)
)
@serves(add_run_file)
async def add_file(run: RunId, name: FileNamed, request: Request, asks: Asks) -> Any:
    """Add a file to a run. Its bytes are the body, its type is the body's."""
    media_type = request.headers.get("content-type", "application/octet-stream")
    content = await received(request, RUN_FILE_BYTES)
    try:
        sent = await run_in_threadpool(measured, content)
        asked = AddRunFile(
            run=run, name=name, media_type=media_type, digest=sent.digest, size=sent.size, content=content
        )
        return as_json(await run_in_threadpool(asks, add_run_file, asked), 201)
    finally:
        content.close()
