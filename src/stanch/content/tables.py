"""Operations on tables: list, read, create, delete.

Settles tables as a whole. Does not settle rows (`content.table_rows`), what is asked of them (`content.table_queries`),
nor imports (`content.imports`).
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from typing import Annotated

from pydantic import Field

from stanch.content.access import Access, known_of
from stanch.content.left_out import Cursor, Left, Limit
from stanch.content.table_known import digest_of, place_of_table, table_source
from stanch.content.tables_shown import (
    ColumnName,
    RowId,
    TableName,
    TableShown,
    TablesPage,
    found_table,
    shown_columns,
    table_shown,
)
from stanch.delivery.admit import (
    admit_content,
    admit_written_content,
    require_admitted_content,
)
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.provenance.states import Provenance
from stanch.storage.content_table_nouns import table_words
from stanch.storage.rows import is_storable
from stanch.values.fault import BadFields
from stanch.values.records import Broken
from stanch.values.tables import LONGEST_NAME, MOST_COLUMNS, Column, ColumnType, TableRecord

_ID = re.compile(r"[0-9a-f]{24}\Z")


class ListTables(Asked):
    """Which page of the tables."""

    limit: Limit = 50
    cursor: Cursor = None


class ReadTable(Asked):
    """Which table."""

    table: TableName


class ColumnGiven(Asked):
    """A column to be made."""

    name: ColumnName
    type: ColumnType = ColumnType.TEXT


class CreateTable(Asked):
    """A table to be made. `personal`: it is its maker's alone, and not the workspace's."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    columns: Annotated[tuple[ColumnGiven, ...], Field(min_length=1, max_length=MOST_COLUMNS)]
    personal: bool = False


class DeleteFrom(Asked):
    """What is removed: some rows of a table, or, where none are named, the table."""

    table: TableName
    rows: Annotated[tuple[RowId, ...] | None, Field(min_length=1, max_length=500)] = None


class Deleted(Given):
    """What was removed: so many rows, or the table with all of its rows."""

    table: str
    rows: int
    whole: bool


@operation("tables_list", ListTables, tool="tables_list", content_delivery=ContentDelivery.SOURCED)
def list_tables(access: Access, asked: ListTables) -> TablesPage:
    """List the tables of the workspace, and one's own, oldest first."""
    page = access.stores.list_tables(access.person, limit=asked.limit, cursor=asked.cursor)
    tables = [one for one in page.items if not isinstance(one, Broken)]
    left = Left()
    passing = left.admitted(admit_content(access.delivery, [table_source(access, one) for one in tables]))
    items = tuple(_told(access, one) for one, passes in zip(tables, passing, strict=True) if passes)
    return TablesPage(items=items, total=page.total, next=page.next, **left.told)


@operation("tables_read", ReadTable, tool="tables_read", content_delivery=ContentDelivery.SOURCED)
def read_table(access: Access, asked: ReadTable) -> TableShown:
    """Read one table's name, columns with their types, and how many rows it has."""
    table = found_table(access, asked.table)
    require_admitted_content(access.delivery, table_source(access, table))
    return _told(access, table)


@operation("tables_create", CreateTable, tool="tables_create", content_delivery=ContentDelivery.SOURCED)
def create_table(access: Access, asked: CreateTable) -> TableShown:
    """Make a table: a name and columns, of the types text, integer, number, boolean, date, datetime, json."""
    name = checked_name(asked.name)
    columns = checked_columns(tuple(Column(one.name, one.type) for one in asked.columns), "columns")
    table_id, owner = secrets.token_hex(12), owner_of(access, personal=asked.personal)
    words = table_words(name, columns)
    provenance = known_of(access.writing, [name, *(one.name for one in columns)])
    kept = kept_of_table(access, provenance, table_id, words)
    table = access.stores.create_table(table_id, name, columns, owner=owner, kept=kept, by=access.by)
    admit_written_content(access.delivery, [table_source(access, table)])
    return _told(access, table)


@operation("tables_delete", DeleteFrom, tool="tables_delete", content_delivery=ContentDelivery.NONE)
def delete_from(access: Access, asked: DeleteFrom) -> Deleted:
    """Remove rows of a table by their ids, or the table with all of its rows where none are named."""
    table = found_table(access, asked.table)
    if asked.rows is not None:
        return Deleted(table=table.id, rows=access.stores.delete_rows(table.id, asked.rows, by=access.by), whole=False)
    count = access.stores.count_rows(table.id)
    access.stores.delete_table(table.id, by=access.by)
    return Deleted(table=table.id, rows=count, whole=True)


def checked_name(name: str) -> str:
    """The name, where a table can have it. Raises `BadFields`."""
    if not _is_name(name) or _ID.match(name):
        raise BadFields(
            ("name", f"'name' must have 1 to {LONGEST_NAME} characters, without '/', spaces at its ends or controls")
        )
    return name


def checked_columns(columns: tuple[Column, ...], field: str) -> tuple[Column, ...]:
    """The columns, where a table can have them. Raises `BadFields`."""
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise BadFields((field, f"'{field}' must name 1 to {MOST_COLUMNS:,} columns"))
    for place, one in enumerate(columns, 1):
        if not _is_name(one.name, slashes=True):
            said = f"the name of column {place} must have 1 to {LONGEST_NAME} characters, no controls"
            raise BadFields((field, f"{said}, and no spaces at its ends"))
    if len({one.name for one in columns}) != len(columns):
        raise BadFields((field, f"'{field}' has a name twice"))
    return columns


def owner_of(access: Access, *, personal: bool) -> str | None:
    """Whose a new table is: None for the workspace's. Raises `BadFields`."""
    if personal and access.person is None:
        raise BadFields(("personal", "'personal' needs somebody whose the table is"))
    return access.person if personal else None


def kept_of_table(access: Access, provenance: Provenance, table_id: str, words: str) -> str | None:
    """What is kept beside a table's name and columns."""
    return access.seals.kept(provenance, place_of_table(table_id), digest_of(words))


def _told(access: Access, table: TableRecord) -> TableShown:
    return table_shown(table, shown_columns(access, table), access.stores.count_rows(table.id))


def _is_name(name: str, *, slashes: bool = False) -> bool:
    return (
        0 < len(name) <= LONGEST_NAME
        and is_storable(name)
        and name == name.strip()
        and (slashes or "/" not in name)
        and not any(unicodedata.category(letter) in ("Cc", "Cf") for letter in name)
    )
