"""The files of runs: listed, downloaded, read as a text, and added.

Settles which shape each leaves in. Does not settle what is known of one (`content.run_values`).
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from stanch.content.access import Access
from stanch.content.run_values import MOST_FILE_BYTES, FileBytes, file_name, known_files, media_of, new_file
from stanch.content.runs import BrokenRun, RunName, visible_run
from stanch.content.runs_shown import file_source
from stanch.content.streams import Stream
from stanch.delivery.admit import Window, redact_before_cutting, require_admitted_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.values.fault import BadFields, BadInput
from stanch.values.records import Broken
from stanch.values.run import RunFileRecord, RunRecord

MOST_TEXT_BYTES = 4 << 20
RUN_FILE_BYTES = MOST_FILE_BYTES
"""How many bytes a file of a run has at most."""
MOST_CHARACTERS = 200_000
FileName = Annotated[str, Field(min_length=1, max_length=500, description="The name of a file of the run.")]


class ListRunFiles(Asked):
    """Of which run to list the files."""

    run: RunName
    limit: int = Field(default=50, ge=1, le=500)
    cursor: str | None = Field(default=None, max_length=8192, description="The `next` of the page before.")


class GetRunFile(Asked):
    """Which file of which run."""

    run: RunName
    name: FileName


class ReadRunFile(GetRunFile):
    """Which file of which run, and which part of its text."""

    offset: int = Field(default=0, ge=0, description="The first character, counted from 0.")
    limit: int = Field(default=50_000, ge=1, le=MOST_CHARACTERS, description="How many characters to give at most.")


class AddRunFile(GetRunFile):
    """A further file of a run. `digest` and `size` are those of its bytes, which `content` is a file to read from."""

    digest: str
    size: int
    media_type: str = "application/octet-stream"
    content: Any = Field(exclude=True, repr=False)


class RunFileShown(Given):
    """What is known of a file of a run without its bytes."""

    name: str
    media_type: str
    size: int
    text: bool
    created_at: datetime


class RunFilePage(Given):
    """A page of the files of a run, by name."""

    items: tuple[RunFileShown | BrokenRun, ...]
    total: int
    next: str | None


class RunFileText(Given):
    """A part of a file's text. `more`: there is some behind it."""

    name: str
    media_type: str
    text: str
    more: bool


@operation("runs_files", ListRunFiles, tool="runs_files", content_delivery=ContentDelivery.NONE)
def list_run_files(access: Access, asked: ListRunFiles) -> RunFilePage:
    """List the files of a run: names, types and sizes."""
    run = visible_run(access, asked.run)
    page = access.stores.run_files(run.id, limit=asked.limit, cursor=asked.cursor)
    items = tuple(
        BrokenRun(id=one.id, problem=one.problem) if isinstance(one, Broken) else _shown(one) for one in page.items
    )
    return RunFilePage(items=items, total=page.total, next=page.next)


@operation("runs_get", GetRunFile, tool="runs_get", content_delivery=ContentDelivery.SOURCED, in_chat=False)
def get_run_file(access: Access, asked: GetRunFile) -> Stream:
    """Download a file of a run."""
    run, file = _found(access, asked)
    _admitted(access, run, file, text=file.is_text)
    chunks = access.blobs.chunks(file.digest)
    return Stream(chunks, file.name.rpartition("/")[2], file.media_type, file.size, text=file.is_text)


@operation("runs_text", ReadRunFile, tool="runs_get", content_delivery=ContentDelivery.SOURCED)
def read_run_file(access: Access, asked: ReadRunFile) -> RunFileText:
    """Read the text of a file of a run, or a part of it."""
    run, file = _found(access, asked)
    if access.delivery.classified and not file.is_text:
        _admitted(access, run, file, text=False)
    if not file.is_text:
        raise BadInput("the file is no text; it can be downloaded")
    _admitted(access, run, file, text=True)
    if file.size > MOST_TEXT_BYTES:
        raise BadInput(f"the file has more than {MOST_TEXT_BYTES:,} bytes; it can be downloaded")
    text = access.blobs.whole(file.digest, MOST_TEXT_BYTES).decode("utf-8")
    end = asked.offset + asked.limit
    part = redact_before_cutting(access.delivery, text, Window(asked.offset, end))
    return RunFileText(name=file.name, media_type=file.media_type, text=part, more=end < len(text))


@operation("runs_add_file", AddRunFile, tool="runs_record", content_delivery=ContentDelivery.NONE, in_chat=False)
def add_run_file(access: Access, asked: AddRunFile) -> RunFileShown:
    """Add a file to a run. A name is given once."""
    run = visible_run(access, asked.run)
    data = asked.content.read(MOST_FILE_BYTES + 1)
    if len(data) > MOST_FILE_BYTES:
        raise BadFields(("content", f"a file of a run has at most {MOST_FILE_BYTES:,} bytes"))
    # WHY: a person who approves the call is shown these, and no bytes.
    if (hashlib.sha256(data).hexdigest(), len(data)) != (asked.digest, asked.size):
        raise BadFields(("digest", "'digest' and 'size' are not those of the bytes that were sent"))
    file = FileBytes(file_name(asked.name), media_of(asked.media_type), data)
    return _shown(access.stores.add_run_file(run.id, new_file(access, file, access.writing.over()), by=access.by))


def _found(access: Access, asked: GetRunFile) -> tuple[RunRecord, RunFileRecord]:
    run = visible_run(access, asked.run)
    return run, access.stores.run_file(run.id, asked.name)


def _admitted(access: Access, run: RunRecord, file: RunFileRecord, *, text: bool) -> None:
    """Raises `ContentRefused` where the file may not be given in this shape."""
    source = file_source(run, file, known_files(access, run, [file]).of(file.id), text=text)
    require_admitted_content(access.delivery, source)


def _shown(file: RunFileRecord) -> RunFileShown:
    return RunFileShown(
        name=file.name, media_type=file.media_type, size=file.size, text=file.is_text, created_at=file.created_at
    )
