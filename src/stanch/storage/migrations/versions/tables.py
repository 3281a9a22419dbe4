"""Migration 0009: what is kept of tables.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.content_tables_schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    count = BigInteger().with_variant(Integer, "sqlite")
    op.create_table(
        "content_tables",
        Column("id", key, primary_key=True),
        Column("name", key, nullable=False),
        Column("owner", key),
        Column("columns", Text, nullable=False),
        Column("provenance", Text),
        Column("next_row", count, nullable=False),
        Column("pending", key),
        Column("created_at", key, nullable=False),
        Column("changed_at", key, nullable=False),
        Column("deleted_at", Text),
    )
    op.create_index("content_tables_by_name", "content_tables", ["name", "id"])
    op.create_table(
        "content_rows",
        Column("table_id", key, primary_key=True),
        Column("id", count, primary_key=True, autoincrement=False),
        Column("import_id", Text),
        Column("version", Integer, nullable=False),
        Column("cells", Text, nullable=False),
        Column("provenance", Text),
    )
    op.create_table(
        "content_imports",
        Column("id", key, primary_key=True),
        Column("table_id", key, nullable=False),
        Column("table_name", key, nullable=False),
        Column("owner", key),
        Column("state", key, nullable=False),
        Column("row_count", count, nullable=False),
        Column("bytes_done", count, nullable=False),
        Column("bytes_in_all", count),
        Column("first_row", count),
        Column("last_row", count),
        Column("beat_at", key, nullable=False),
        Column("created_at", key, nullable=False),
    )
    op.create_index("content_imports_of_table", "content_imports", ["table_id", "state"])
