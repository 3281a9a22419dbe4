"""What is kept of workspace files: a file, its versions, the links to it.

Settles the records. Does not settle how they are kept (`storage.content_files`), nor who may see them (`content`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file, as its newest version is. `owner` is None for a file of the workspace, else a person's id.

    `digest` is the SHA-256 of its bytes in hexadecimal, `size` counts them. `version` counts from 1.
    """

    id: str
    path: str
    owner: str | None
    version: int
    digest: str
    size: int
    media_type: str
    created_at: datetime
    changed_at: datetime
    changed_by: str
    deleted_at: datetime | None


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """One version of a file: the bytes it then had, and its path when they were written.

    `made_of` is the version that this one was made of, where that has to be asked for what this one carries.
    """

    id: str
    file_id: str
    number: int
    path: str
    digest: str
    size: int
    media_type: str
    created_at: datetime
    by: str
    made_of: int | None


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """A public link to a file, without its token. `version` is None for one that gives the newest."""

    id: str
    file_id: str
    version: int | None
    created_at: datetime
    created_by: str
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewVersion:
    """What is to become a version: its bytes are kept by now. `provenance` is sealed for `id` and `digest`."""

    id: str
    digest: str
    size: int
    media_type: str
    provenance: str | None = None
    made_of: int | None = None
