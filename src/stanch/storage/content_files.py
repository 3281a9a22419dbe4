"""The part of the content store that keeps files: their paths, their versions, and what was recorded of each.

Settles that a path leads to one file of a holder, that a version is never lost nor changed, and that of two who write
at once the later one is told. Does not settle where bytes are (`blobs`), nor who sees what (`content`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from stanch.storage.content_files_nouns import FILE, LONGEST_PATH, VERSION
from stanch.storage.content_files_schema import FILE_VERSIONS, FILES
from stanch.storage.content_links import LinksRows
from stanch.storage.pages import page_of
from stanch.storage.rows import Row, is_storable, written_moment
from stanch.storage.transactions import Change
from stanch.values.fault import BadInput, Conflict, NotFound, quoted
from stanch.values.files import FileRecord, NewVersion, VersionRecord
from stanch.values.records import Actor, Broken, Page

Holders = Sequence[str | None]
"""Whose files are looked at, None for the workspace's. Where a path leads to several, the first holder's is meant."""


class FilesRows(LinksRows):
    """What is kept of files."""

    def file_at(self, path: str, holders: Holders, *, deleted: bool = False) -> FileRecord:
        """The file with this path. `deleted`: where none is there, the one that was deleted last.

        Raises `NotFound`, and `BrokenRow` where it cannot be read.
        """
        with self._reading() as connection:
            row = _at(connection, path, holders)
            if row is None and deleted and is_storable(path):
                wanted = select(FILES).where(FILES.c.path == path, _held(holders), FILES.c.deleted_at.is_not(None))
                order = FILES.c.deleted_at.desc(), FILES.c.id
                row = connection.execute(wanted.order_by(*order).limit(1)).mappings().first()
        if row is None:
            raise NotFound(FILE.kind, path)
        return FILE.readable(row)

    def file_version(self, file_id: str, number: int) -> VersionRecord:
        """One version of a file. Raises `NotFound`, and `BrokenRow`."""
        with self._reading() as connection:
            return VERSION.readable(_version_row(connection, file_id, number))

    def file_provenance(self, file_id: str, number: int) -> tuple[VersionRecord, str | None]:
        """One version, and what is kept of what it carries. Raises `NotFound`, and `BrokenRow`."""
        with self._reading() as connection:
            row = _version_row(connection, file_id, number)
        return VERSION.readable(row), row["provenance"]

    def list_files(
        self, holders: Holders, *, below: str = "", limit: int = 50, cursor: str | None = None
    ) -> Page[FileRecord | Broken]:
        """A page of the files that are there, by path: all, or one and what lies below it. Raises `BadInput`."""
        conditions = [FILES.c.deleted_at.is_(None), _held(holders), *_below(below)]
        with self._reading() as connection:
            order = [FILES.c.path, FILES.c.id]
            return page_of(connection, FILE, order, limit=limit, cursor=cursor, conditions=conditions)

    def files_from(
        self, holders: Holders, start: str, *, below: str = "", limit: int = 50
    ) -> list[tuple[str, FileRecord | Broken]]:
        """The next files with their paths, in order, from the path `start` on; of one path the first holder's first.

        They are not counted. `holders` are one person at most, and the workspace. Raises `BadInput`.
        """
        if not is_storable(start):
            raise BadInput("'start' is no path of a file")
        wanted = select(FILES).where(FILES.c.deleted_at.is_(None), _held(holders), *_below(below))
        wanted = wanted.where(FILES.c.path >= start).order_by(FILES.c.path, FILES.c.holder.desc()).limit(limit)
        with self._reading() as connection:
            return [(str(row["path"]), FILE.read(row)) for row in connection.execute(wanted).mappings()]

    def list_file_versions(
        self, file_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> Page[VersionRecord | Broken]:
        """A page of the versions of a file, newest first. Raises `BadInput`."""
        with self._reading() as connection:
            return page_of(
                connection,
                VERSION,
                [FILE_VERSIONS.c.number, FILE_VERSIONS.c.id],
                limit=limit,
                cursor=cursor,
                filters={FILE_VERSIONS.c.file_id: file_id},
                descending=True,
            )

    def write_file(
        self,
        path: str,
        new: NewVersion,
        holders: Holders,
        *,
        holder: str | None = None,
        expected: int | None = None,
        by: Actor,
    ) -> FileRecord:
        """The file with one version more, or a new one of `holder`.

        `expected` is the version that it has now, 0 for none, None for whichever. Raises `Conflict` where it has
        another one, where the path is taken by another holder's, or where a file is to lie below a file.
        """
        with self._changing(by, "files.write") as change:
            row = _at(change.connection, path, holders)
            _as_expected(path, 0 if row is None else row["version"], expected)
            if row is not None and holder is not None and row["holder"] != holder:
                raise Conflict("there already is a file of the workspace at this path")
            return _added(change, path, new, holder, by) if row is None else _grown(change, row, new, by)

    def move_file(self, path: str, to: str, holders: Holders, *, expected: int | None = None, by: Actor) -> FileRecord:
        """The file, at another path. Its versions keep theirs. Raises `NotFound` and `Conflict`."""
        with self._changing(by, "files.move") as change:
            row = _there(change.connection, path, holders)
            _as_expected(path, row["version"], expected)
            if _at(change.connection, to, holders) is not None:
                raise Conflict(f"there already is a file {quoted(to)}")
            _room_for(change.connection, to, row["holder"], without=row["id"])
            change.find(FILE, row["id"])
            change.subject = row["id"]
            change.detail.update(path=path, to=to)
            return change.replace(FILE, row["id"], {"path": to})

    def delete_file(self, path: str, holders: Holders, *, expected: int | None = None, by: Actor) -> FileRecord:
        """The file, deleted: its versions stay. Raises `NotFound` and `Conflict`."""
        with self._changing(by, "files.delete") as change:
            row = _there(change.connection, path, holders)
            _as_expected(path, row["version"], expected)
            change.find(FILE, row["id"])
            change.subject = row["id"]
            change.detail.update(path=path, version=row["version"])
            return change.replace(FILE, row["id"], {"deleted_at": written_moment(change.at)})


def _added(change: Change, path: str, new: NewVersion, holder: str | None, by: Actor) -> FileRecord:
    file_id, at = f"file_{secrets.token_hex(12)}", written_moment(change.at)
    row: dict[str, Any] = {
        "id": file_id,
        "path": path,
        "holder": holder or "",
        "version": 1,
        **_bytes_of(new),
        "created_at": at,
        "changed_at": at,
        "changed_by": by.principal,
        "deleted_at": None,
    }
    record = FILE.written(row)
    _room_for(change.connection, path, row["holder"])
    change.add(FILE, row)
    _add_version(change, record, new)
    return record


def _grown(change: Change, row: Row, new: NewVersion, by: Actor) -> FileRecord:
    change.find(FILE, row["id"])
    moved = {
        "version": row["version"] + 1,
        **_bytes_of(new),
        "changed_at": written_moment(change.at),
        "changed_by": by.principal,
    }
    record = change.replace(FILE, row["id"], moved)
    _add_version(change, record, new)
    return record


def _add_version(change: Change, record: FileRecord, new: NewVersion) -> None:
    row = {
        "id": new.id,
        "file_id": record.id,
        "number": record.version,
        "path": record.path,
        **_bytes_of(new),
        "created_at": written_moment(change.at),
        "by": record.changed_by,
        "made_of": new.made_of,
        "provenance": new.provenance,
    }
    VERSION.written(row)
    change.vacant(VERSION, new.id)
    change.add(VERSION, row)
    change.subject = record.id
    change.detail.update(path=record.path, version=record.version, size=new.size, digest=new.digest)


def _bytes_of(new: NewVersion) -> dict[str, Any]:
    return {"digest": new.digest, "size": new.size, "media_type": new.media_type}


def _held(holders: Holders) -> ColumnElement[bool]:
    return FILES.c.holder.in_([holder or "" for holder in holders])


def _below(path: str) -> list[ColumnElement[bool]]:
    """The file of this path, and all whose path begins with it and a `/`; all files for an empty one."""
    if not path:
        return []
    if not is_storable(path) or len(path.encode()) > LONGEST_PATH:
        raise BadInput("'path' is no path of a file")
    # WHY two ends and no LIKE: both databases then use the index, and no letter means anything else. 0 follows on /.
    return [or_(FILES.c.path == path, and_(FILES.c.path >= f"{path}/", FILES.c.path < f"{path}0"))]


def _at(connection: Connection, path: str, holders: Holders) -> Row | None:
    if not is_storable(path):
        return None
    wanted = select(FILES).where(FILES.c.path == path, _held(holders), FILES.c.deleted_at.is_(None))
    found = {row["holder"]: row for row in connection.execute(wanted).mappings()}
    return next((found[holder or ""] for holder in holders if (holder or "") in found), None)


def _there(connection: Connection, path: str, holders: Holders) -> Row:
    row = _at(connection, path, holders)
    if row is None:
        raise NotFound(FILE.kind, path)
    return row


def _version_row(connection: Connection, file_id: str, number: int) -> Row:
    wanted = select(FILE_VERSIONS).where(FILE_VERSIONS.c.file_id == file_id, FILE_VERSIONS.c.number == number)
    row = connection.execute(wanted).mappings().first() if abs(number) < 1 << 62 else None
    if row is None:
        raise NotFound("version", str(number))
    return row


def _as_expected(path: str, version: int, expected: int | None) -> None:
    if expected is None or expected == version:
        return
    now = f"has the version {version} by now" if version else "is not there"
    raise Conflict(f"the file {quoted(path)} {now}" + (f", and not {expected}" if expected else ""))


def _room_for(connection: Connection, path: str, holder: str, *, without: str = "") -> None:
    """Raises `Conflict` where a file of the holder lies on the way to the path, or the path is on the way to one."""
    parts = path.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts))]
    wanted = select(FILES.c.path).where(
        FILES.c.holder == holder,
        FILES.c.deleted_at.is_(None),
        FILES.c.id != without,
        or_(FILES.c.path.in_(above), and_(FILES.c.path >= f"{path}/", FILES.c.path < f"{path}0")),
    )
    taken = connection.execute(wanted.limit(1)).scalar()
    if taken is not None:
        what = "is a directory of others" if len(str(taken)) > len(path) else "lies below a file"
        raise Conflict(f"the path {quoted(path)} {what}")
