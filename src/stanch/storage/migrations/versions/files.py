"""Migration 0006: what is kept of files.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.content_files_schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Text, text

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    count = BigInteger().with_variant(Integer, "sqlite")
    op.create_table(
        "files",
        Column("id", key, primary_key=True),
        Column("path", key, nullable=False),
        Column("holder", key, nullable=False),
        Column("version", count, nullable=False),
        Column("digest", key, nullable=False),
        Column("size", count, nullable=False),
        Column("media_type", Text, nullable=False),
        Column("created_at", key, nullable=False),
        Column("changed_at", key, nullable=False),
        Column("changed_by", Text, nullable=False),
        Column("deleted_at", key),
    )
    there = text("deleted_at IS NULL")
    op.create_index(
        "files_by_path", "files", ["path", "holder"], unique=True, sqlite_where=there, postgresql_where=there
    )
    op.create_table(
        "file_versions",
        Column("id", key, primary_key=True),
        Column("file_id", key, ForeignKey("files.id"), nullable=False),
        Column("number", count, nullable=False),
        Column("path", key, nullable=False),
        Column("digest", key, nullable=False),
        Column("size", count, nullable=False),
        Column("media_type", Text, nullable=False),
        Column("created_at", key, nullable=False),
        Column("by", Text, nullable=False),
        Column("made_of", count),
        Column("provenance", Text),
    )
    op.create_index("file_versions_in_order", "file_versions", ["file_id", "number"], unique=True)
    op.create_index("file_versions_by_digest", "file_versions", ["digest"])
    op.create_table(
        "file_links",
        Column("id", key, primary_key=True),
        Column("token", key, nullable=False),
        Column("file_id", key, ForeignKey("files.id"), nullable=False),
        Column("version", count),
        Column("created_at", key, nullable=False),
        Column("created_by", Text, nullable=False),
        Column("revoked_at", Text),
    )
    op.create_index("file_links_by_token", "file_links", ["token"], unique=True)
    op.create_index("file_links_of_file", "file_links", ["file_id", "created_at", "id"])
