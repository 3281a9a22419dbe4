"""The tables of files, as the newest migration leaves them.

Settles columns, keys and indexes, as `schema` does for all other tables.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table, Text

from stanch.storage.schema import COUNT, KEY, METADATA, NAMES_BYTES

# INVARIANT: `digest`, `size`, `media_type`, `changed_at` and `changed_by` are those of the newest version.
# `holder` is the owner, '' for the workspace: no two files of one holder that are there have the same path. WHY of one
# holder: a path that is taken by a file that somebody cannot see would tell that there is one.
FILES = Table(
    "files",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("path", KEY, nullable=False),
    Column("holder", KEY, nullable=False),
    Column("version", COUNT, nullable=False),
    Column("digest", KEY, nullable=False, info=NAMES_BYTES),
    Column("size", COUNT, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("changed_at", KEY, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("deleted_at", KEY),
)
Index(
    "files_by_path",
    FILES.c.path,
    FILES.c.holder,
    unique=True,
    sqlite_where=FILES.c.deleted_at.is_(None),
    postgresql_where=FILES.c.deleted_at.is_(None),
)

# INVARIANT: a version is never changed nor removed. `provenance` is sealed, bound to the id and the digest.
FILE_VERSIONS = Table(
    "file_versions",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("file_id", KEY, ForeignKey("files.id"), nullable=False),
    Column("number", COUNT, nullable=False),
    Column("path", KEY, nullable=False),
    Column("digest", KEY, nullable=False, info=NAMES_BYTES),
    Column("size", COUNT, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("by", Text, nullable=False),
    Column("made_of", COUNT),
    Column("provenance", Text),
    Index("file_versions_in_order", "file_id", "number", unique=True),
    Index("file_versions_by_digest", "digest"),
)

# `token` is the SHA-256 of the token in hexadecimal: a link that was lost is made anew.
FILE_LINKS = Table(
    "file_links",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("token", KEY, nullable=False),
    Column("file_id", KEY, ForeignKey("files.id"), nullable=False),
    Column("version", COUNT),
    Column("created_at", KEY, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("revoked_at", Text),
    Index("file_links_by_token", "token", unique=True),
    Index("file_links_of_file", "file_id", "created_at", "id"),
)
