"""The part of the content store that keeps public links to files, and which bytes any file still has.

Settles that a token is kept as its digest alone, and that a link that was revoked stays so. Does not settle who may
make or see one (`content.links`).
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select, update

from stanch.storage.content_files_nouns import FILE, LINK
from stanch.storage.content_files_schema import FILE_LINKS, FILES
from stanch.storage.pages import page_of
from stanch.storage.rows import is_storable, written_moment
from stanch.storage.schema import METADATA
from stanch.storage.transactions import Transactions
from stanch.values.fault import Conflict, NotFound
from stanch.values.files import FileRecord, LinkRecord
from stanch.values.records import Actor, Broken, Page

AT_ONCE = 500


class LinksRows(Transactions):
    """What is kept of public links."""

    def add_file_link(
        self, file_id: str, link_id: str, token: str, *, version: int | None, expected: int, by: Actor
    ) -> LinkRecord:
        """A new link to a file. `token` is the digest of its token, `version` the only one that it gives.

        Raises `NotFound` where the file is gone, and `Conflict` where it has another version than `expected`.
        """
        with self._changing(by, "files.share", link_id) as change:
            file = change.find(FILE, file_id, FILES.c.deleted_at.is_(None))
            if file["version"] != expected:
                raise Conflict("the file was changed meanwhile; nothing was shared")
            row = {
                "id": link_id,
                "token": token,
                "file_id": file_id,
                "version": version,
                "created_at": written_moment(change.at),
                "created_by": by.principal,
                "revoked_at": None,
            }
            record = LINK.written(row)
            change.vacant(LINK, link_id)
            change.add(LINK, row)
            change.detail.update(path=file["path"], file=file_id, version=version)
        return record

    def list_file_links(self, file_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[LinkRecord | Broken]:
        """A page of the links to a file that hold, oldest first. Raises `BadInput`."""
        with self._reading() as connection:
            order = [FILE_LINKS.c.created_at, FILE_LINKS.c.id]
            conditions = [FILE_LINKS.c.file_id == file_id, FILE_LINKS.c.revoked_at.is_(None)]
            return page_of(connection, LINK, order, limit=limit, cursor=cursor, conditions=conditions)

    def revoke_file_links(self, file_id: str, link_id: str | None, *, by: Actor) -> int:
        """Revokes one link to a file, or all; returns how many were. Raises `NotFound` for one that is none of it."""
        with self._changing(by, "files.unshare", file_id) as change:
            where = [FILE_LINKS.c.file_id == file_id, FILE_LINKS.c.revoked_at.is_(None)]
            if link_id is not None:
                where.append(FILE_LINKS.c.id == (link_id if is_storable(link_id) else ""))
            at = written_moment(change.at)
            done = change.connection.execute(update(FILE_LINKS).where(*where).values(revoked_at=at)).rowcount
            if link_id is not None and not done:
                raise NotFound(LINK.kind, link_id)
            change.detail.update(links=done)
        return done

    def linked_file(self, token: str) -> tuple[LinkRecord, FileRecord]:
        """The link whose token has this digest, and its file. Raises `NotFound`: revoked, deleted or never made."""
        with self._reading() as connection:
            wanted = select(FILE_LINKS).where(FILE_LINKS.c.token == token, FILE_LINKS.c.revoked_at.is_(None))
            row = connection.execute(wanted).mappings().first()
            file = None
            if row is not None:
                there = select(FILES).where(FILES.c.id == row["file_id"], FILES.c.deleted_at.is_(None))
                file = connection.execute(there).mappings().first()
        if row is None or file is None:
            # WHY without the token: it may be one that was mistyped.
            raise NotFound(LINK.kind, "")
        return LINK.readable(row), FILE.readable(file)

    def named_bytes(self, digests: Collection[str]) -> set[str]:
        """Those of the digests that any row names: in a column with the mark for it, or one called so.

        WHY also those that are only called so: one that is asked in vain costs little, one that is forgotten loses
        bytes.
        """
        columns = [
            column
            for table in METADATA.sorted_tables
            for column in table.columns
            if column.info.get("names_bytes") or column.name == "digest" or column.name.endswith(("_digest", "blob"))
        ]
        found: set[str] = set()
        wanted = list(digests)
        with self._reading() as connection:
            for start in range(0, len(wanted), AT_ONCE):
                some = wanted[start : start + AT_ONCE]
                for column in columns:
                    found.update(connection.execute(select(column).where(column.in_(some))).scalars())
        return found
