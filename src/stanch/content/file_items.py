"""Files as items: which file a path means for a caller, what is known of it, and how it is told of.

Settles whose files are looked at, and that what is known of a version is asked for only where somebody has to know.
Does not settle what is done with a file (`files`, `file_texts`, `file_searching`, `file_writing`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Annotated

from pydantic import Field

from stanch.content.access import Access, item_path
from stanch.delivery.operation import Given
from stanch.delivery.source import COMPLETE, Kind, Known, Source, View
from stanch.provenance.states import Cause, Entry, Exact, Provenance, Unknown, merged
from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.secrets.sealing import Place
from stanch.secrets.telling import is_short
from stanch.values.files import FileRecord, NewVersion, VersionRecord
from stanch.values.records import Broken, Page

PathText = Annotated[str, Field(min_length=1, max_length=1_024, description="The file, such as notes/plan.md.")]
Below = Annotated[str, Field(max_length=1_024, description="A file or a directory; left out: all files.")]
VersionNumber = Annotated[int, Field(ge=1, le=1 << 53)]
AT_ONCE = 500
_TABLE, _COLUMN = "file_versions", "provenance"


class FileGiven(Given):
    """A file, without its content. `owner` is null for a file of the workspace; `digest` is not for a model."""

    path: str
    owner: str | None
    version: int
    size: int
    media_type: str
    digest: str | None
    created_at: datetime
    changed_at: datetime
    changed_by: str


class BrokenGiven(Given):
    """A row that is there and cannot be read."""

    id: str
    table: str
    problem: str


def holders(access: Access) -> tuple[str | None, ...]:
    """Whose files the caller sees: their own first, then those of the workspace."""
    return (None,) if access.person is None else (access.person, None)


def file_at(access: Access, path: str, *, deleted: bool = False) -> FileRecord:
    """The file that a path means for this caller. Raises `BadFields` and `NotFound`."""
    return access.stores.file_at(item_path(path), holders(access), deleted=deleted)


def version_at(access: Access, path: str, number: int | None) -> tuple[FileRecord, VersionRecord]:
    """The file and a version of it, None for the newest. One of a file that was deleted has to be asked for by number.

    Raises `BadFields` and `NotFound`.
    """
    file = file_at(access, path, deleted=number is not None)
    return file, access.stores.file_version(file.id, file.version if number is None else number)


def below_path(below: str) -> str:
    """The path below which files are meant, as it is kept. Raises `BadFields`."""
    return item_path(below) if below.strip("/") else ""


def files_below(access: Access, below: str) -> Iterator[FileRecord]:
    """Every file that the caller sees, in order, one for each path. Rows that cannot be read are left out."""
    held: FileRecord | None = None
    cursor: str | None = None
    while not access.cancelled.is_set():
        page = access.stores.list_files(holders(access), below=below, limit=AT_ONCE, cursor=cursor)
        for file in page.items:
            if isinstance(file, Broken):
                continue
            if held is not None and held.path != file.path:
                yield held
                held = None
            # A file of one's own lies before that of the workspace with the same path.
            held = file if held is None or file.owner is not None else held
        cursor = page.next
        if cursor is None:
            break
    if held is not None:
        yield held


def source_of(
    access: Access, file: FileRecord, number: int | None = None, *, view: View = COMPLETE, kind: Kind | None = None
) -> Source:
    """A version of a file as an item that leaves, None for the newest."""
    version = file.version if number is None else number
    newest = version == file.version
    return Source(
        kind or (Kind.FILE if newest else Kind.VERSION),
        file.path if newest else f"{file.path}@{version}",
        known_of(access, file, version),
        view,
        path=access.place(file.path),
        version=str(version),
    )


def known_of(access: Access, file: FileRecord, number: int) -> Known:
    """What is known of a version: what was recorded of it, and what of the version that it was made of is in it."""

    def known() -> Provenance:
        chain: list[tuple[VersionRecord, Provenance]] = []
        at: int | None = number
        while at is not None:
            version, kept = access.stores.file_provenance(file.id, at)
            # WHY the bytes again: they, or the row, may have been changed by others than us.
            now = version.digest if kept is None or access.blobs.is_whole(version.digest) else ""
            own = access.seals.known(kept, place_of(version.id), now, owner=file.owner)
            if at == file.version and version.digest != file.digest:
                # The bytes that are read by the file are none that this version has.
                own = Unknown(Cause.VERSION_MISMATCH)
            chain.append((version, own))
            # INVARIANT: a version is made of an older one, so this comes to an end whatever stands in the rows.
            at = version.made_of if version.made_of is not None and version.made_of < at else None
        found = chain.pop()[1]
        while chain:
            version, own = chain.pop()
            found = merged((own, _carried(access, version, found)))
        return found

    return known


def place_of(version_id: str) -> Place:
    """Where it is kept what is known of a version."""
    return Place(_TABLE, version_id, _COLUMN)


def new_version(
    access: Access, version_id: str, *, digest: str, size: int, media_type: str, known: Provenance, made_of: int | None
) -> NewVersion:
    """A version to be added, with what is known of it, sealed."""
    kept = access.seals.kept(known, place_of(version_id), digest)
    return NewVersion(version_id, digest, size, media_type, kept, made_of)


def shown(access: Access, file: FileRecord) -> FileGiven:
    """What is told of a file."""
    return FileGiven(
        path=file.path,
        owner=file.owner,
        version=file.version,
        size=file.size,
        media_type=file.media_type,
        # WHY: of a content that can be guessed, the digest says which it is.
        digest=None if access.delivery.classified else file.digest,
        created_at=file.created_at,
        changed_at=file.changed_at,
        changed_by=file.changed_by,
    )


def broken(row: Broken) -> BrokenGiven:
    """What is told of a row that cannot be read."""
    return BrokenGiven(id=row.id, table=row.table, problem=row.problem)


def shown_page(access: Access, page: Page[FileRecord | Broken]) -> tuple[FileGiven | BrokenGiven, ...]:
    """What is told of a page of files."""
    return tuple(broken(one) if isinstance(one, Broken) else shown(access, one) for one in page.items)


def _carried(access: Access, version: VersionRecord, before: Provenance) -> Provenance:
    """What of what was known of the version before is in this one."""
    if isinstance(before, Unknown):
        return Unknown(Cause.SOURCE_UNKNOWN)
    if not isinstance(before, Exact) or not before.entries:
        return before
    try:
        return Exact(frozenset(_occurring(access, version.digest, before.entries)))
    except Withheld:
        return Unknown(Cause.OVER_LIMIT)


def _occurring(access: Access, digest: str, entries: Collection[Entry]) -> Iterator[Entry]:
    """Those of the secrets that are in the bytes. One that is too short to be looked for is taken to be."""
    long = {str(place): entry for place, entry in enumerate(entries) if not is_short(entry.secret)}
    yield from (entry for entry in entries if is_short(entry.secret))
    passing = Projector({place: entry.secret for place, entry in long.items()}).data_stream(bulk=True)
    for chunk in access.blobs.chunks(digest):
        passing.feed(chunk)
    passing.end()
    yield from (long[place] for place in passing.found)
