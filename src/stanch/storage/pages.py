"""Pages of a list that stay put while rows are added.

Settles how a page is asked for and how the next one is named. Does not settle which lists there are.
WHY: a page starts behind the key of the last row seen, not at a count of rows, so that a row added or removed before
it moves nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import BigInteger, Column, ColumnElement, Connection, Integer, func, literal, select, tuple_

from stanch.storage.rows import Noun, is_storable
from stanch.values.fault import BadInput, BrokenRow
from stanch.values.records import Broken, Page

Item = TypeVar("Item")
LARGEST_PAGE = 500
LONGEST_CURSOR = 4096
Filters = Mapping[Column[Any], Any]


def page_of(
    connection: Connection,
    noun: Noun[Item],
    order: Sequence[Column[Any]],
    *,
    limit: int,
    cursor: str | None,
    filters: Filters | None = None,
    conditions: Sequence[ColumnElement[bool]] = (),
    descending: bool = False,
) -> Page[Item | Broken]:
    """One page of the rows that fit, in an order that ends with the table's key.

    A filter whose value is None filters nothing; `conditions` are further ones. Raises `BadInput` for a limit or a
    cursor that is none, and `BrokenRow` where the page's last row has no place in the order.
    """
    if type(limit) is not int or not 1 <= limit <= LARGEST_PAGE:
        raise BadInput(f"'limit' must be a whole number from 1 to {LARGEST_PAGE}")
    given = {column: value for column, value in (filters or {}).items() if value is not None}
    for column, value in given.items():
        if not isinstance(value, (str, int)) or (isinstance(value, str) and not is_storable(value)):
            raise BadInput(f"'{column.name}' is nothing that a list can be filtered by")
    where = [*(column == value for column, value in given.items()), *conditions]
    name = _name(noun, given, conditions, descending)
    total = connection.execute(select(func.count()).select_from(noun.table).where(*where)).scalar_one()
    if cursor is not None:
        # WHY not the column's type: a number of a cursor may have more bits than its column has on PostgreSQL.
        kinds = (BigInteger() if isinstance(c.type, Integer) else c.type for c in order)
        keys = [literal(key, kind) for key, kind in zip(_read(cursor, name, order), kinds, strict=True)]
        place, last = tuple_(*order), tuple_(*keys)
        where.append(place < last if descending else place > last)
    wanted = select(noun.table).where(*where).limit(limit + 1)
    wanted = wanted.order_by(*(column.desc() if descending else column.asc() for column in order))
    rows = connection.execute(wanted).mappings().all()
    following = _write(noun, name, order, rows[limit - 1]) if len(rows) > limit else None
    return Page(tuple(noun.read(row) for row in rows[:limit]), total, following)


def _name(noun: Noun[Any], given: Filters, conditions: Sequence[ColumnElement[bool]], descending: bool) -> str:
    """A short name of the list that a cursor belongs to: a cursor of another list would skip rows."""
    said = [noun.table.name, descending, *sorted((c.name, v) for c, v in given.items()), *map(str, conditions)]
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]


def _write(noun: Noun[Any], name: str, order: Sequence[Column[Any]], row: Mapping[Any, Any]) -> str:
    keys = [row[column.name] for column in order]
    for column, key in zip(order, keys, strict=True):
        if not _fits(column, key):
            raise BrokenRow(noun.table.name, str(row[noun.key.name]), f"its '{column.name}' has no place in the order")
    return base64.urlsafe_b64encode(json.dumps([name, *keys]).encode()).decode().rstrip("=")


def _read(cursor: str, name: str, order: Sequence[Column[Any]]) -> list[Any]:
    padded = cursor[:LONGEST_CURSOR] + "=" * (-len(cursor[:LONGEST_CURSOR]) % 4)
    try:
        said = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        said = None
    keys = said[1:] if isinstance(said, list) and said[:1] == [name] else []
    if len(keys) != len(order) or not all(map(_fits, order, keys)):
        raise BadInput("'cursor' is none that this list has given")
    return keys


def _fits(column: Column[Any], key: Any) -> bool:
    if isinstance(column.type, Integer):
        return type(key) is int and abs(key) < 1 << 63
    return isinstance(key, str) and is_storable(key)
