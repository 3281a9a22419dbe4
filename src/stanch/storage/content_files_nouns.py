"""The nouns of files: how a row of a file, a version or a link is read.

Settles what each column may hold. Does not settle what is done with the rows (`content_files`, `content_links`).
"""

from __future__ import annotations

import re

from stanch.storage.content_files_schema import FILE_LINKS, FILE_VERSIONS, FILES
from stanch.storage.rows import LARGEST_ID, Fields, Noun, Unread
from stanch.values.files import FileRecord, LinkRecord, VersionRecord

LONGEST_PATH = 1_024
LONGEST_TYPE = 200
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TYPE = re.compile(r"[!-~]+(?:; ?[!-~ ]+)?")


def _path(row: Fields) -> str:
    path = row.text("path")
    # WHY in bytes: no index of either database has room for more.
    if len(path.encode()) > LONGEST_PATH:
        raise Unread("path", f"is longer than {LONGEST_PATH:,} bytes")
    return path


def _digest(row: Fields) -> str:
    digest = row.key("digest")
    if _DIGEST.fullmatch(digest) is None:
        raise Unread("digest", "is no digest")
    return digest


def _media_type(row: Fields) -> str:
    found = row.text("media_type")
    # WHY so strict: it becomes a header of an answer.
    if len(found) > LONGEST_TYPE or _TYPE.fullmatch(found) is None:
        raise Unread("media_type", "is no media type, such as text/plain")
    return found


def _number(row: Fields, name: str) -> int:
    return row.whole(name, 1, LARGEST_ID)


def _maybe_number(row: Fields, name: str) -> int | None:
    # ABSENT: kept as nothing, not as 0, which no version has.
    return row.maybe_whole(name, 1, LARGEST_ID)


def _file(row: Fields) -> FileRecord:
    return FileRecord(
        id=row.key("id"),
        path=_path(row),
        owner=row.text("holder", empty=True) or None,
        version=_number(row, "version"),
        digest=_digest(row),
        size=row.whole("size", 0, LARGEST_ID),
        media_type=_media_type(row),
        created_at=row.moment("created_at"),
        changed_at=row.moment("changed_at"),
        changed_by=row.text("changed_by"),
        deleted_at=row.maybe_moment("deleted_at"),
    )


def _version(row: Fields) -> VersionRecord:
    return VersionRecord(
        id=row.key("id"),
        file_id=row.key("file_id"),
        number=_number(row, "number"),
        path=_path(row),
        digest=_digest(row),
        size=row.whole("size", 0, LARGEST_ID),
        media_type=_media_type(row),
        created_at=row.moment("created_at"),
        by=row.text("by"),
        made_of=_maybe_number(row, "made_of"),
    )


def _link(row: Fields) -> LinkRecord:
    return LinkRecord(
        id=row.key("id"),
        file_id=row.key("file_id"),
        version=_maybe_number(row, "version"),
        created_at=row.moment("created_at"),
        created_by=row.text("created_by"),
        revoked_at=row.maybe_moment("revoked_at"),
    )


FILE = Noun("file", FILES, _file)
VERSION = Noun("version of a file", FILE_VERSIONS, _version)
LINK = Noun("link", FILE_LINKS, _link)
