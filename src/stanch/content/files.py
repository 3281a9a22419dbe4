"""Files without their content, and their bytes as they are.

Settles the lists, what is told of one file and of its versions, and the download. Does not settle texts (`file_texts`),
searching (`file_searching`), nor changes (`file_writing`).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field

from stanch.content.access import Access
from stanch.content.file_items import (
    Below,
    BrokenGiven,
    FileGiven,
    PathText,
    VersionNumber,
    below_path,
    broken,
    file_at,
    holders,
    shown,
    shown_page,
    source_of,
    version_at,
)
from stanch.content.file_texts import projected
from stanch.content.streams import Stream
from stanch.delivery.admit import admit_content, may_be_named, require_admitted_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.delivery.source import OPAQUE
from stanch.secrets.sealing import Place
from stanch.values.fault import BadInput, BrokenRow
from stanch.values.records import Broken

Limit = Annotated[int, Field(ge=1, le=500, description="How many items a page holds at most.")]
Cursor = Annotated[str | None, Field(max_length=8192, description="The `next` of the page before.")]

_CURSOR = Place("files", "list", "cursor")


class ListFiles(Asked):
    """Which files."""

    path: Below = ""
    limit: Limit = 100
    cursor: Cursor = None


class FileList(Given):
    """A page of files, by path. `next` is the `cursor` of the following page, null on the last.

    `withheld` counts those of the page that a model may not read, of which it is not told.
    """

    items: tuple[FileGiven | BrokenGiven, ...]
    total: int
    next: str | None
    withheld: int = 0


class OneFile(Asked):
    """A file."""

    path: PathText


class VersionsOf(Asked):
    """The versions of a file."""

    path: PathText
    limit: Limit = 100
    cursor: Cursor = None


class VersionGiven(Given):
    """A version of a file, without its content. `path` is the one that the file then had."""

    version: int
    path: str
    size: int
    media_type: str
    digest: str | None
    created_at: datetime
    by: str


class VersionList(Given):
    """A page of versions, newest first. `deleted_at`: the file is there no more, its versions are."""

    path: str
    items: tuple[VersionGiven | BrokenGiven, ...]
    total: int
    next: str | None
    deleted_at: datetime | None


class GetFile(Asked):
    """Which bytes."""

    path: PathText
    version: VersionNumber | None = Field(default=None, description="Left out: the newest.")


@operation("files_list", ListFiles, tool="files_list", content_delivery=ContentDelivery.NONE)
def list_files(access: Access, asked: ListFiles) -> FileList:
    """List the files of the workspace, or those below a directory: path, version, size and who changed them last."""
    admit_content(access.delivery, ())
    cursor = _reopened(access, asked.cursor)
    page = access.stores.list_files(holders(access), below=below_path(asked.path), limit=asked.limit, cursor=cursor)
    items = tuple(
        one for one in page.items if isinstance(one, Broken) or may_be_named(access.delivery, access.place(one.path))
    )
    shown_items = shown_page(access, replace(page, items=items))
    following = _closed(access, page.next)
    return FileList(items=shown_items, total=page.total, next=following, withheld=len(page.items) - len(items))


@operation("files_info", OneFile, tool="files_list", content_delivery=ContentDelivery.NONE, in_chat=False)
def read_info(access: Access, asked: OneFile) -> FileGiven:
    """Say what is known of one file, without its content."""
    admit_content(access.delivery, ())
    return shown(access, file_at(access, asked.path))


@operation("files_versions", VersionsOf, tool="files_versions", content_delivery=ContentDelivery.NONE)
def list_versions(access: Access, asked: VersionsOf) -> VersionList:
    """List the versions of a file, newest first, those of a deleted one too: when, by whom, how large."""
    admit_content(access.delivery, ())
    file = file_at(access, asked.path, deleted=True)
    page = access.stores.list_file_versions(file.id, limit=asked.limit, cursor=asked.cursor)
    items = tuple(
        broken(one)
        if isinstance(one, Broken)
        else VersionGiven(
            version=one.number,
            path=one.path,
            size=one.size,
            media_type=one.media_type,
            digest=None if access.delivery.classified else one.digest,
            created_at=one.created_at,
            by=one.by,
        )
        for one in page.items
    )
    return VersionList(path=file.path, items=items, total=page.total, next=page.next, deleted_at=file.deleted_at)


@operation("files_get", GetFile, tool="files_get", content_delivery=ContentDelivery.SOURCED, in_chat=False)
def get_file(access: Access, asked: GetFile) -> Stream:
    """Give the bytes of a file, or of an older version of it, as they are."""
    file, version = version_at(access, asked.path, asked.version)
    require_admitted_content(access.delivery, source_of(access, file, version.number, view=OPAQUE))
    if not access.blobs.has(version.digest, version.size):
        raise BrokenRow("file_versions", version.id, "its bytes are gone, or not all there")
    name = projected(access, version.path.rpartition("/")[2])
    return Stream(access.blobs.chunks(version.digest), name, version.media_type, version.size)


def _closed(access: Access, cursor: str | None) -> str | None:
    """Where the next page begins, as the caller may have it.

    WHY closed for a model: it is the path of the last file, which may be one that the model is not told of.
    """
    if cursor is None or not access.delivery.classified:
        return cursor
    return access.seals.closed(cursor, _CURSOR)


def _reopened(access: Access, cursor: str | None) -> str | None:
    """The cursor that was closed. Raises `BadInput` for another one."""
    if cursor is None or not access.delivery.classified:
        return cursor
    found = access.seals.reopened(cursor, _CURSOR)
    if found is None:
        raise BadInput("'cursor' is none that this list has given")
    return found
