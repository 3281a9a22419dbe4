"""What is known of stored items, for people: which secrets each carries by their names, and what a model would get.

Settles how an item is named and found. Does not settle what is known (each kind of store does), nor in which words it
is told (`provenance_told`). INVARIANT: no model may use this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, NamedTuple

from pydantic import Field

from stanch.content.access import Access
from stanch.content.file_items import known_of, version_at
from stanch.content.knowledge_provenance import KnownChunks, KnownDocuments
from stanch.content.provenance_told import ItemKnown, Of, item_broken, item_known
from stanch.content.run_values import known_files, known_values
from stanch.content.runs import visible_run
from stanch.content.table_known import Rows, table_source
from stanch.content.tables_shown import found_table
from stanch.delivery.admit import admit_content
from stanch.delivery.operation import Asked, Given, operation
from stanch.delivery.source import Known
from stanch.provenance.states import Cause, Provenance, Unknown, merged
from stanch.storage.knowledge_records import ChunkRecord
from stanch.values.fault import BadFields, BrokenRow, NotFound, StoreUnreadable
from stanch.values.records import Broken
from stanch.values.run import RunRecord

MOST_ITEMS = 100
AT_ONCE = 20
_DIGITS = 18


class OfItems(Asked):
    """Which items, all of one kind. `version` is a file's, its newest where left out."""

    kind: Of
    ids: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=2_048)], ...], Field(max_length=MOST_ITEMS)]
    version: Annotated[int | None, Field(ge=1, le=1 << 53)] = None


class ItemsKnown(Given):
    """What is known of the items that are there, in the order in which they were asked about."""

    items: tuple[ItemKnown, ...]


class _Found(NamedTuple):
    """An item that is there: its number as a version, and what says what is known of it."""

    version: int | None
    known: Known
    whole: bool = False


@operation("content.provenance", OfItems, tool=None)
def tell_provenance(access: Access, asked: OfItems) -> ItemsKnown:
    """Say what is known of stored items: which secrets they carry, by name, and what a model would get of each."""
    admit_content(access.delivery, ())
    found = _FINDING[asked.kind](access, asked)
    told: list[ItemKnown] = []
    for item in dict.fromkeys(asked.ids):
        if item in found:
            told.append(_told(asked.kind, item, found[item]))
    return ItemsKnown(items=tuple(told))


def _told(kind: Of, item: str, found: _Found | StoreUnreadable) -> ItemKnown:
    if isinstance(found, StoreUnreadable):
        return item_broken(kind, item, str(found))
    try:
        provenance = found.known()
    except StoreUnreadable as why:
        return item_broken(kind, item, str(why))
    return item_known(kind, item, provenance, version=found.version, whole=found.whole)


Found = Mapping[str, _Found | StoreUnreadable]
Finding = Callable[[Access, OfItems], Found]


def _each(access: Access, asked: OfItems, one: Callable[[Access, str, int | None], _Found]) -> Found:
    """Items that are looked up one by one. Those that are not there, or are nobody's here, are left out."""
    found: dict[str, _Found | StoreUnreadable] = {}
    for item in asked.ids:
        try:
            found[item] = one(access, item, asked.version)
        except (NotFound, BadFields):
            continue
        except StoreUnreadable as why:
            found[item] = why
    return found


def _file(access: Access, path: str, number: int | None) -> _Found:
    file, version = version_at(access, path, number)
    return _Found(version.number, known_of(access, file, version.number))


def _run(access: Access, run_id: str, _: int | None) -> _Found:
    run = visible_run(access, run_id)
    return _Found(None, lambda: merged(_within(access, run)))


def _within(access: Access, run: RunRecord) -> Iterator[Provenance]:
    """What is known of each value and file of a run, some at a time: the values may be long."""
    places = [0]
    while places:
        ids = [one.id for one in access.stores.run_parts(run.id, places)]
        batch = known_values(access, run, ids)
        yield from (batch.of(one)() for one in ids)
        places = [one.place for one in access.stores.run_steps(run.id, after=places[-1], limit=AT_ONCE)]
    cursor: str | None = None
    while True:
        page = access.stores.run_files(run.id, limit=AT_ONCE, cursor=cursor)
        for file in page.items:
            # WHY not passed over: nobody can say what a file carries whose row cannot be read.
            if isinstance(file, Broken):
                yield Unknown(Cause.SOURCE_UNKNOWN)
            else:
                yield known_files(access, run, [file]).of(file.id)()
        cursor = page.next
        if cursor is None:
            return


def _run_file(access: Access, item: str, _: int | None) -> _Found:
    run_id, _slash, name = item.partition("/")
    run = visible_run(access, run_id)
    file = access.stores.run_file(run.id, name)
    return _Found(None, known_files(access, run, [file]).of(file.id))


def _documents(access: Access, asked: OfItems) -> Found:
    records = access.stores.documents_of(asked.ids, access.person)
    known_ones = KnownDocuments(access, records)
    return {one.id: _Found(None, known_ones.of(one.id)) for one in records}


def _chunk(access: Access, item: str, _: int | None) -> _Found:
    document, _hash, written = item.rpartition("#")
    number = _number(written)
    page = access.stores.list_chunks(document, access.person, limit=1, cursor=str(number - 1) if number > 0 else None)
    chunk = next((one for one in page.items if isinstance(one, ChunkRecord)), None)
    if chunk is None or chunk.number != number:
        raise NotFound("chunk", item)
    return _Found(None, KnownChunks(access, [chunk]).of(chunk))


def _table(access: Access, named: str, _: int | None) -> _Found:
    return _Found(None, table_source(access, found_table(access, named)).provenance)


def _rows(access: Access, asked: OfItems) -> Found:
    by_table: dict[str, dict[int, str]] = {}
    for item in asked.ids:
        named, _, number = item.rpartition("/")
        by_table.setdefault(named, {})[_number(number)] = item
    found: dict[str, _Found | StoreUnreadable] = {}
    for named, items in by_table.items():
        try:
            table = found_table(access, named)
            page = access.stores.rows_by_id(table, list(items))
        except NotFound:
            continue
        rows = Rows(access, table, page.items)
        for row in page.items:
            found[items[row.id]] = _Found(row.version, rows.source(row).provenance, whole=True)
        for one in page.broken:
            found[items[one.id]] = BrokenRow("content_rows", items[one.id], one.problem)
    return found


def _number(written: str) -> int:
    """The number in an item's name; -1, which nothing has, for what is none."""
    return int(written) if written.isascii() and written.isdigit() and len(written) < _DIGITS else -1


_FINDING: Mapping[Of, Finding] = MappingProxyType(
    {
        Of.FILE: partial(_each, one=_file),
        Of.RUN: partial(_each, one=_run),
        Of.RUN_FILE: partial(_each, one=_run_file),
        Of.DOCUMENT: _documents,
        Of.CHUNK: partial(_each, one=_chunk),
        Of.TABLE: partial(_each, one=_table),
        Of.ROW: _rows,
    }
)
