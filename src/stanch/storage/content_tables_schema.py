"""The tables of tables, as the newest migration leaves them.

Settles columns, keys and indexes, as `schema` does for all other tables.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, Table, Text

from stanch.storage.schema import COUNT, KEY, METADATA

# A table with `pending` is made by the import of that id, and is there once that is done. One with `deleted_at` is
# gone; its rows are removed little by little.
TABLES = Table(
    "content_tables",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("name", KEY, nullable=False),
    Column("owner", KEY),
    Column("columns", Text, nullable=False),
    Column("provenance", Text),
    Column("next_row", COUNT, nullable=False),
    Column("pending", KEY),
    Column("created_at", KEY, nullable=False),
    Column("changed_at", KEY, nullable=False),
    Column("deleted_at", Text),
    Index("content_tables_by_name", "name", "id"),
)

# WHY no foreign keys: a million rows would each look theirs up; whoever adds rows holds the table's row meanwhile.
# INVARIANT: an id is never given twice within a table: what is sealed beside a row is bound to it.
ROWS = Table(
    "content_rows",
    METADATA,
    Column("table_id", KEY, primary_key=True),
    Column("id", COUNT, primary_key=True, autoincrement=False),
    Column("import_id", Text),
    Column("version", Integer, nullable=False),
    Column("cells", Text, nullable=False),
    Column("provenance", Text),
)

IMPORTS = Table(
    "content_imports",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("table_id", KEY, nullable=False),
    Column("table_name", KEY, nullable=False),
    Column("owner", KEY),
    Column("state", KEY, nullable=False),
    Column("row_count", COUNT, nullable=False),
    Column("bytes_done", COUNT, nullable=False),
    Column("bytes_in_all", COUNT),
    Column("first_row", COUNT),
    Column("last_row", COUNT),
    Column("beat_at", KEY, nullable=False),
    Column("created_at", KEY, nullable=False),
    Index("content_imports_of_table", "table_id", "state"),
)
