"""Workspace files over REST: `/api/files`, without links (`content_links`).

Settles the routes. Does not settle what an operation does (`content.files`, `content.file_texts`, ...).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from stanch.content.archives import ArchiveFiles, archive_files
from stanch.content.file_items import FileGiven
from stanch.content.file_searching import GrepFiles, GrepGiven, SearchFiles, SearchGiven, grep_files, search_files
from stanch.content.file_texts import MOST_LINES, ReadText, TextGiven, read_text
from stanch.content.file_writing import (
    MOST_WRITTEN,
    DeleteFile,
    EditFile,
    EditGiven,
    MoveFile,
    UploadFile,
    WriteFile,
    delete_file,
    edit_file,
    measured,
    move_file,
    upload_file,
    write_file,
)
from stanch.content.files import (
    FileList,
    GetFile,
    ListFiles,
    OneFile,
    VersionList,
    VersionsOf,
    get_file,
    list_files,
    list_versions,
    read_info,
)
from stanch.surfaces.http.bodies import Body
from stanch.surfaces.http.content_route import Asks, ContentRoute, as_json, serves, streamed
from stanch.surfaces.http.content_uploads import UploadRoute, received
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit
from stanch.surfaces.http.routers import BODY, guarded

ROUTER = guarded("/api/files", "files", ContentRoute)
UPLOADING = guarded("/api/files", "files", UploadRoute)
MOST = 1 << 53
FilePath = Annotated[str, Path(min_length=1, max_length=1_024, description="The file, such as notes/plan.md.")]
Below = Annotated[str, Query(max_length=1_024, description="A file or a directory. Left out: all files.")]
Version = Annotated[int | None, Query(ge=1, le=MOST, description="Left out: the newest.")]
Expected = Annotated[
    int | None, Query(ge=0, le=MOST, description="The version that it has now, 0 for none; any other is a conflict.")
]
Mine = Annotated[bool, Query(description="A new file is the caller's alone, and not the workspace's.")]
MediaType = Annotated[str | None, Query(min_length=1, max_length=200, description="Left out: by the name.")]
Text = Annotated[str, Field(max_length=MOST_WRITTEN)]
Number = Annotated[int | None, Field(ge=0, le=MOST)]
BYTES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}
TAKES_BYTES: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}
}


class TextBody(Body):
    """A text."""

    content: Text


class EditBody(Body):
    """A change of a text."""

    old: Text
    new: Text
    all: bool = False
    version: Number = None


@ROUTER.get("", response_model=FileList)
@serves(list_files)
def list_all(asks: Asks, path: Below = "", limit: Limit = 100, cursor: Cursor = None) -> Any:
    """List the files of the workspace and of the caller, by path."""
    return as_json(asks(list_files, ListFiles(path=path, limit=limit, cursor=cursor)))


@ROUTER.get("/info/{path:path}", response_model=FileGiven, responses=problems(404))
@serves(read_info)
def info(path: FilePath, asks: Asks) -> Any:
    """Read what is known of a file, without its content."""
    return as_json(asks(read_info, OneFile(path=path)))


@ROUTER.get("/text/{path:path}", response_model=TextGiven, responses=problems(404))
@serves(read_text)
def text(
    path: FilePath,
    asks: Asks,
    version: Version = None,
    start: Annotated[int, Query(ge=1, le=MOST, description="The first line, from 1.")] = 1,
    lines: Annotated[int, Query(ge=1, le=MOST_LINES, description="How many lines at most.")] = 2_000,
) -> Any:
    """Read a file, or a version of it, as text. PDF, XLSX and DOCX documents are given as their text."""
    return as_json(asks(read_text, ReadText(path=path, version=version, start=start, lines=lines)))


@ROUTER.put("/text/{path:path}", response_model=FileGiven, responses=problems(404, 409, *BODY))
@serves(write_file)
def write(  # noqa: PLR0917 - FastAPI calls it by name
    path: FilePath,
    body: TextBody,
    asks: Asks,
    version: Expected = None,
    mine: Mine = False,
    media_type: MediaType = None,
) -> Any:
    """Write a text: a new file, or a new version of one."""
    asked = WriteFile(path=path, content=body.content, version=version, mine=mine, media_type=media_type)
    return as_json(asks(write_file, asked))


@ROUTER.patch("/text/{path:path}", response_model=EditGiven, responses=problems(404, 409, *BODY))
@serves(edit_file)
def edit(path: FilePath, body: EditBody, asks: Asks) -> Any:
    """Replace a piece of a file's text, which has to be there exactly once, or everywhere with `all`."""
    asked = EditFile(path=path, old=body.old, new=body.new, all=body.all, version=body.version)
    return as_json(asks(edit_file, asked))


@ROUTER.get("/versions/{path:path}", response_model=VersionList, responses=problems(404))
@serves(list_versions)
def versions(path: FilePath, asks: Asks, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """List the versions of a file, newest first, those of a deleted one too."""
    return as_json(asks(list_versions, VersionsOf(path=path, limit=limit, cursor=cursor)))


@ROUTER.get("/content/{path:path}", response_class=StreamingResponse, responses={**problems(404), **BYTES})
@serves(get_file)
def download(path: FilePath, asks: Asks, version: Version = None) -> Any:
    """Download a file, or a version of it, as it is."""
    return streamed(asks(get_file, GetFile(path=path, version=version)))


@UPLOADING.put(
    "/content/{path:path}",
    response_model=FileGiven,
    responses=problems(404, 409, *BODY),
    openapi_extra=TAKES_BYTES,
)
@serves(upload_file)
async def upload(  # noqa: PLR0917 - FastAPI calls it by name
    path: FilePath,
    request: Request,
    asks: Asks,
    version: Expected = None,
    mine: Mine = False,
    media_type: MediaType = None,
) -> Any:
    """Upload a file, which is the body: a new one, or a new version of one."""
    with await received(request) as file:
        blob = await run_in_threadpool(measured, file)
        asked = UploadFile(
            path=path,
            digest=blob.digest,
            size=blob.size,
            version=version,
            mine=mine,
            media_type=media_type,
            file=file,
        )
        return as_json(await run_in_threadpool(asks, upload_file, asked))


@ROUTER.delete("/content/{path:path}", response_model=FileGiven, responses=problems(404, 409))
@serves(delete_file)
def delete(path: FilePath, asks: Asks, version: Expected = None) -> Any:
    """Delete a file. Its versions can still be read by their numbers."""
    return as_json(asks(delete_file, DeleteFile(path=path, version=version)))


@ROUTER.post("/move", response_model=FileGiven, responses=problems(404, 409, *BODY))
@serves(move_file)
def move(body: MoveFile, asks: Asks) -> Any:
    """Give a file another path."""
    return as_json(asks(move_file, body))


@ROUTER.get("/grep", response_model=GrepGiven)
@serves(grep_files)
def grep(
    asks: Asks,
    pattern: Annotated[str, Query(min_length=1, max_length=4_096)],
    path: Below = "",
    glob: Annotated[str | None, Query(max_length=512, description="Only files that fit, such as *.md.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
) -> Any:
    """Search the texts of files for a regular expression, line by line."""
    return as_json(asks(grep_files, GrepFiles(pattern=pattern, path=path, glob=glob, limit=limit)))


@ROUTER.get("/search", response_model=SearchGiven)
@serves(search_files)
def search(
    asks: Asks,
    query: Annotated[str, Query(min_length=1, max_length=1_000)],
    path: Below = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Any:
    """Find files by words in their name or text."""
    return as_json(asks(search_files, SearchFiles(query=query, path=path, limit=limit)))


@ROUTER.get(
    "/archive", response_class=StreamingResponse, responses={**problems(404), 200: {"content": {"application/zip": {}}}}
)
@serves(archive_files)
def archive(asks: Asks, path: Below = "") -> Any:
    """Download files as a ZIP archive. A manifest in it tells what was left out, and why."""
    return streamed(asks(archive_files, ArchiveFiles(path=path)))
