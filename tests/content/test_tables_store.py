"""Tables in both databases: rows, filters, orders, figures, pages, and what nobody sees before it is whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.content.table_queries import (
    FigureGiven,
    FilterGiven,
    QueryTable,
    SearchTable,
    SortGiven,
    query_table,
    search_table,
)
from stanch.content.table_rows import (
    ChangedCells,
    InsertRows,
    OneRow,
    PageOfRows,
    Selection,
    UpdateRows,
    insert_rows,
    one_row,
    rows_of_table,
    selection,
    update_rows,
)
from stanch.content.tables import (
    ColumnGiven,
    CreateTable,
    DeleteFrom,
    ListTables,
    ReadTable,
    create_table,
    delete_from,
    list_tables,
    read_table,
)
from stanch.values.fault import BadFields, BadInput, BrokenRow, Conflict, NotFound
from stanch.values.tables import ColumnType, Comparison, Figure
from tests.content.knowledge_world import Knowledge, knowledge
from tests.stores.places import Place, together

KINDS: dict[ColumnType, tuple[Any, ...]] = {
    ColumnType.TEXT: ("", "a", "B", "é", "Z\u00df", "a' OR 1=1 --", "%", "_", "10", "9", "😀"),
    ColumnType.INTEGER: (0, -5, 9, 10, 1 << 62, -(1 << 63), (1 << 63) - 1),
    ColumnType.NUMBER: (0, 0.5, -0.5, 9, 10, 1e300, -1e300, 1e-300),
    ColumnType.BOOLEAN: (True, False),
    ColumnType.DATE: ("0001-01-01", "2024-02-29", "9999-12-31"),
    ColumnType.DATETIME: ("2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.500000Z", "0099-01-01T00:00:00.000000Z"),
    ColumnType.JSON: ({"a": [1, "x"]}, [], "text", 5, True, {"a": None}),
}
HOLDS: dict[Comparison, Callable[[Any, Any], bool]] = {
    Comparison.EQUAL: lambda cell, value: cell is not None and same(cell, value),
    Comparison.DIFFERENT: lambda cell, value: cell is None or not same(cell, value),
    Comparison.LESS: lambda cell, value: cell is not None and key(cell) < key(value),
    Comparison.AT_MOST: lambda cell, value: cell is not None and key(cell) <= key(value),
    Comparison.MORE: lambda cell, value: cell is not None and key(cell) > key(value),
    Comparison.AT_LEAST: lambda cell, value: cell is not None and key(cell) >= key(value),
}


def same(cell: Any, value: Any) -> bool:
    return json.dumps(cell, sort_keys=True) == json.dumps(value, sort_keys=True) or (
        type(cell) in (int, float) and type(value) in (int, float) and cell == value
    )


def key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[Knowledge]:
    with knowledge(place, tmp_path) as made:
        yield made


def made(world: Knowledge, name: str = "t", *columns: tuple[str, ColumnType], **more: Any) -> str:
    """The id of a new table."""
    given = tuple(ColumnGiven(name=one, type=kind) for one, kind in columns or (("a", ColumnType.TEXT),))
    return create_table(world.access(), CreateTable(name=name, columns=given, **more)).id


def put(world: Knowledge, table: str, *rows: dict[str, Any]) -> list[int]:
    """The ids of new rows."""
    return [one.id for one in insert_rows(world.access(), InsertRows(table=table, rows=rows)).items]


def asked(world: Knowledge, table: str, limit: int = 3, **query: Any) -> tuple[list[int], int]:
    """The ids of all rows that fit, page by page, and the total."""
    found: list[int] = []
    cursor = None
    while True:
        page = query_table(world.access(), QueryTable(table=table, limit=limit, cursor=cursor, **query))
        found += [one.id for one in page.items]
        cursor = page.next
        if cursor is None:
            return found, page.total


def test_every_filter_and_order_is_that_of_python(world: Knowledge) -> None:
    for kind, values in KINDS.items():
        made(world, kind.value, ("c", kind))
        cells = [*values, None, *values[:2]]
        rows = dict(zip(put(world, kind.value, *({"c": one} for one in cells)), cells, strict=True))
        ordered = kind not in (ColumnType.JSON, ColumnType.BOOLEAN)
        for value in values:
            for how, holds in HOLDS.items():
                if how in (Comparison.EQUAL, Comparison.DIFFERENT) or ordered:
                    found = asked(world, kind.value, filters=(FilterGiven(column="c", how=how, value=value),))
                    wanted = [row for row, cell in rows.items() if holds(cell, value)]
                    assert found == (wanted, len(wanted)), (kind, how, value)
        among = FilterGiven(column="c", how=Comparison.IN, value=list(values[:2]))
        wanted = [row for row, cell in rows.items() if any(same(cell, one) for one in values[:2]) and cell is not None]
        assert asked(world, kind.value, filters=(among,))[0] == wanted
        for absent in (True, False):
            given = (FilterGiven(column="c", how=Comparison.IS_NULL, value=absent),)
            assert asked(world, kind.value, filters=given)[0] == [r for r, c in rows.items() if (c is None) is absent]
        if kind is not ColumnType.JSON:
            full = [row for row in rows if rows[row] is not None]
            empty = [row for row in rows if rows[row] is None]
            for down in (False, True):
                ids = asked(world, kind.value, sort=(SortGiven(column="c", descending=down),), limit=2)[0]
                assert ids == [*sorted(full, key=lambda row: key(rows[row]), reverse=down), *empty] or down
                assert [rows[row] for row in ids] == [
                    *sorted((rows[row] for row in full), key=key, reverse=down),
                    None,
                ]


def test_rows_of_several_orders_and_filters_come_page_by_page(world: Knowledge) -> None:
    made(world, "t", ("g", ColumnType.INTEGER), ("n", ColumnType.NUMBER))
    cells = [(at % 3 if at % 5 else None, at * 7 % 11 / 2) for at in range(40)]
    rows = dict(zip(put(world, "t", *({"g": g, "n": n} for g, n in cells)), cells, strict=True))
    filters = (FilterGiven(column="n", how=Comparison.AT_LEAST, value=1),)
    sort = (SortGiven(column="g", descending=True), SortGiven(column="n"))
    wanted = sorted(
        (row for row, (_, n) in rows.items() if n >= 1),
        key=lambda row: (rows[row][0] is None, -(rows[row][0] or 0), rows[row][1], row),
    )
    for limit in (1, 2, 7, 500):
        assert asked(world, "t", limit, filters=filters, sort=sort) == (wanted, len(wanted))


def test_figures_are_exact_where_whole_numbers_are(world: Knowledge) -> None:
    made(world, "t", ("i", ColumnType.INTEGER), ("n", ColumnType.NUMBER), ("d", ColumnType.DATE))
    whole = [(1 << 63) - 1, (1 << 63) - 1, -7, None]
    put(world, "t", *({"i": one, "n": 0.5, "d": "2024-01-01"} for one in whole))
    figures: list[tuple[str, str | None]] = [
        ("count", None),
        *((one, "i") for one in ("count", "sum", "avg", "min", "max")),
    ]
    figures += [("sum", "n"), ("min", "d")]
    given = tuple(FigureGiven(figure=Figure(one), column=column) for one, column in figures)
    shown = query_table(world.access(), QueryTable(table="t", figures=given)).figures
    total = sum(one for one in whole if one is not None)
    assert [one.value for one in shown] == [4, 3, total, total / 3, -7, (1 << 63) - 1, 2.0, "2024-01-01"]
    none = (FilterGiven(column="d", how=Comparison.IS_NULL),)
    shown = query_table(world.access(), QueryTable(table="t", filters=none, figures=given)).figures
    assert [one.value for one in shown] == [0, 0, None, None, None, None, None, None]


HOSTILE = ["a'; DROP TABLE content_rows; --", '$[0]"', "a\\", "c0", "x') OR ('1'='1", "%s", ":p", "{}", "🜚 ö"]


def test_names_and_values_never_become_sql(world: Knowledge) -> None:
    made(world, "t", *((name, ColumnType.TEXT) for name in HOSTILE))
    row, other = put(world, "t", {name: name for name in HOSTILE}, {HOSTILE[0]: "else"})
    for name in HOSTILE:
        for how in (Comparison.EQUAL, Comparison.CONTAINS):
            given = (FilterGiven(column=name, how=how, value=name),)
            assert asked(world, "t", filters=given, sort=(SortGiven(column=name),)) == ([row], 1)
        found = search_table(world.access(), SearchTable(table="t", query=name))
        assert {one.row for one in found.items} == {row}
        with pytest.raises(BadFields):
            asked(world, "t", filters=(FilterGiven(column=f"{name}'", value="x"),))
    assert asked(world, "t")[0] == [row, other]
    with pytest.raises(NotFound):
        read_table(world.access(), ReadTable(table="t' OR '1'='1"))


def test_a_filter_has_the_type_of_its_column(world: Knowledge) -> None:
    made(world, "t", ("i", ColumnType.INTEGER), ("j", ColumnType.JSON), ("b", ColumnType.BOOLEAN))
    bad: list[tuple[str, str, Any]] = [
        ("i", "=", "1 OR 1=1"),
        ("i", "contains", "1"),
        ("i", "in", []),
        ("i", "in", [1, None]),
        ("i", "=", None),
        ("i", "is null", "yes"),
        ("j", "<", {}),
        ("b", ">", True),
        ("none", "=", 1),
    ]
    for column, how, value in bad:
        with pytest.raises(BadFields) as caught:
            asked(world, "t", filters=(FilterGiven(column=column, how=Comparison(how), value=value),))
        assert "OR 1=1" not in str(caught.value)
    for figure, of in [("sum", "j"), ("min", "b"), ("avg", None)]:
        with pytest.raises(BadFields):
            asked(world, "t", figures=(FigureGiven(figure=Figure(figure), column=of),))
    with pytest.raises(BadFields):
        asked(world, "t", sort=(SortGiven(column="j"),))


def test_a_cursor_is_of_its_own_list_and_holds_no_cell(world: Knowledge) -> None:
    made(world, "t")
    put(world, "t", *({"a": f"cell-{at}"} for at in range(3)))
    sort = (SortGiven(column="a"),)
    page = query_table(world.access(), QueryTable(table="t", limit=1, sort=sort))
    assert page.next is not None
    others: tuple[tuple[SortGiven, ...], ...] = ((), (SortGiven(column="a", descending=True),))
    for other in others:
        with pytest.raises(BadInput):
            query_table(world.access(), QueryTable(table="t", cursor=page.next, sort=other))
    for cursor in ("x", "", "WzEsMl0", page.next[:-3]):
        with pytest.raises(BadInput):
            query_table(world.access(), QueryTable(table="t", cursor=cursor, sort=sort))
    delete_from(world.access(), DeleteFrom(table="t", rows=(1,)))
    with pytest.raises(Conflict):
        query_table(world.access(), QueryTable(table="t", cursor=page.next, sort=sort))


def test_rows_are_changed_together_or_not(world: Knowledge) -> None:
    made(world, "t", ("a", ColumnType.TEXT), ("n", ColumnType.INTEGER))
    first, second = put(world, "t", {"a": "x", "n": 1}, {"a": "y"})
    change = ChangedCells(row=first, values={"n": 2}, version=1)
    done = update_rows(world.access(), UpdateRows(table="t", rows=(change,)))
    assert [(one.id, one.version) for one in done.items] == [(first, 2)]
    assert one_row(world.access(), OneRow(table="t", row=first)).values == {"a": "x", "n": 2}
    for bad, fault in [
        (ChangedCells(row=first, values={"n": 3}, version=1), Conflict),
        (ChangedCells(row=99, values={"n": 3}), NotFound),
        (ChangedCells(row=first, values={"n": "x"}), BadFields),
        (ChangedCells(row=first, values={"z": 1}), BadFields),
    ]:
        with pytest.raises(fault):
            update_rows(world.access(), UpdateRows(table="t", rows=(ChangedCells(row=second, values={"a": "z"}), bad)))
    rows = selection(world.access(), Selection(table="t", rows=(second, first, second, 99)))
    assert [(one.id, one.values["a"]) for one in rows.items] == [(second, "y"), (first, "x")]


def test_two_who_change_a_row_of_the_same_version_are_told_apart(world: Knowledge) -> None:
    made(world, "t")
    (row,) = put(world, "t", {"a": "x"})

    def change() -> Any:
        given = ChangedCells(row=row, values={"a": "y"}, version=1)
        return update_rows(world.access(), UpdateRows(table="t", rows=(given,)))

    ended = together(*[change] * 4)
    assert sorted(type(one).__name__ for one in ended) == ["Conflict"] * 3 + ["RowsWritten"]


def test_an_id_is_never_given_twice(world: Knowledge) -> None:
    made(world, "t")
    assert put(world, "t", {"a": "x"}, {"a": "y"}) == [1, 2]
    assert delete_from(world.access(), DeleteFrom(table="t", rows=(2, 7))).rows == 1
    assert put(world, "t", {"a": "z"}) == [3]
    ended = together(*[lambda: put(world, "t", *[{"a": "w"}] * 50)] * 4)
    assert sorted(one for ids in ended for one in ids) == list(range(4, 204))


def test_a_personal_table_is_nobody_elses(world: Knowledge) -> None:
    mine = made(world, "mine", personal=True)
    everyones = made(world, "all")
    assert [one.id for one in list_tables(world.access(), ListTables()).items] == [mine, everyones]
    bram = world.access("bram")
    page = list_tables(bram, ListTables())
    assert ([one.id for one in page.items], page.total) == ([everyones], 1)
    for named in (mine, "mine"):
        with pytest.raises(NotFound):
            read_table(bram, ReadTable(table=named))
    made(world, "mine")
    assert read_table(bram, ReadTable(table="mine")).owner is None
    assert read_table(world.access(), ReadTable(table="mine")).owner == "ada"
    for personal in (True, False):
        with pytest.raises(Conflict):
            made(world, "mine", personal=personal)


def test_a_table_that_is_gone_leaves_nothing(world: Knowledge) -> None:
    table = made(world, "t")
    put(world, "t", *[{"a": "x"}] * 20)
    done = delete_from(world.access(), DeleteFrom(table="t"))
    assert (done.rows, done.whole) == (20, True)
    for name in ("content_rows", "content_tables", "content_imports"):
        assert world.place.rows(f"SELECT * FROM {name}") == []
    with pytest.raises(NotFound):
        put(world, table, {"a": "x"})
    assert made(world, "t") != table


@pytest.mark.parametrize("cells", ["[", '["x","y"]', "{}", '["\\ud800"]', '["a","a"]'])
def test_a_row_that_cannot_be_read_is_named_and_breaks_no_page(world: Knowledge, cells: str) -> None:
    made(world, "t")
    put(world, "t", {"a": "x"}, {"a": "y"})
    world.place.rows(f"UPDATE content_rows SET cells = '{cells}' WHERE id = 1")
    page = rows_of_table(world.access(), PageOfRows(table="t"))
    assert ([one.id for one in page.items], [one.id for one in page.broken], page.total) == ([2], [1], 2)
    with pytest.raises(BrokenRow):
        one_row(world.access(), OneRow(table="t", row=1))
    with pytest.raises(BrokenRow):
        update_rows(world.access(), UpdateRows(table="t", rows=(ChangedCells(row=1, values={"a": "z"}),)))


@pytest.mark.parametrize("name", ["", " x", "a/b", "a\nb", "a\u202eb", "0123456789abcdef01234567", "x" * 201])
def test_a_name_that_no_table_can_have(world: Knowledge, name: str) -> None:
    with pytest.raises((BadFields, ValueError)):
        made(world, name)


def test_columns_have_names_of_their_own(world: Knowledge) -> None:
    for columns in [("a", "a"), ("a", ""), ("a ", "b"), ("a\0", "b")]:
        with pytest.raises((BadFields, ValueError)):
            made(world, "t", *((one, ColumnType.TEXT) for one in columns))


def test_words_are_found_in_whatever_a_cell_holds(world: Knowledge) -> None:
    made(world, "t", ("a", ColumnType.TEXT), ("n", ColumnType.NUMBER), ("j", ColumnType.JSON))
    put(world, "t", {"a": "Größe 12.5%", "n": 12.5, "j": {"Key": ["deep", 12.5]}}, {"a": "_", "n": 125})
    for words, places in [
        ("12.5", [(1, "a"), (1, "n"), (1, "j")]),
        ("GRöße", [(1, "a")]),
        ("key", [(1, "j")]),
        ("%", [(1, "a")]),
        ("_", [(2, "a")]),
        ("5", [(1, "a"), (1, "n"), (1, "j"), (2, "n")]),
        ("nowhere", []),
    ]:
        found = search_table(world.access(), SearchTable(table="t", query=words))
        assert [(one.row, one.column) for one in found.items] == places, words
