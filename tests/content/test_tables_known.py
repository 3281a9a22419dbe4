"""What is known of tables and rows, and what a model is given of them: secrets in every place that a row has."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.content.access import Access
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
    UpdateRows,
    insert_rows,
    one_row,
    rows_of_table,
    update_rows,
)
from stanch.content.tables import ColumnGiven, CreateTable, ListTables, ReadTable, create_table, list_tables, read_table
from stanch.delivery.admit import ContentRefused
from stanch.provenance.states import WORKSPACE, Entry
from stanch.secrets.text import Secret
from stanch.storage.content_table_queries import QueriesOfTables
from stanch.values.fault import BadFields
from stanch.values.tables import ColumnType, Comparison, Figure
from tests.content.knowledge_world import LABEL, NAME, VALUE, Knowledge, knowledge
from tests.stores.places import Place

T = ColumnType
COLUMNS = (("a", T.TEXT), ("i", T.INTEGER), ("n", T.NUMBER), ("j", T.JSON), ("d", T.DATE))


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[Knowledge]:
    with knowledge(place, tmp_path) as made:
        yield made


@pytest.fixture
def table(world: Knowledge) -> str:
    return made(world.access(), "t")


def made(by: Access, name: str, columns: tuple[tuple[str, ColumnType], ...] = COLUMNS) -> str:
    return create_table(
        by, CreateTable(name=name, columns=tuple(ColumnGiven(name=one, type=kind) for one, kind in columns))
    ).id


def put(by: Access, *rows: dict[str, Any], table: str = "t") -> list[int]:
    return [one.id for one in insert_rows(by, InsertRows(table=table, rows=rows)).items]


def change(by: Access, row: int, **values: Any) -> None:
    update_rows(by, UpdateRows(table="t", rows=(ChangedCells(row=row, values=values),)))


def told(access: Access, given: Any) -> Any:
    """What a model is told: projected, as every door does it."""
    assert access.delivery.gate is not None
    return json.loads(json.dumps(access.delivery.gate.projector().structure(given.model_dump(mode="json"))))


def seen(world: Knowledge, table: str = "t", **more: Any) -> Any:
    """A page of rows as a model is told of it."""
    access = world.model(**more)
    return told(access, rows_of_table(access, PageOfRows(table=table)))


def why(world: Knowledge, row: int) -> tuple[str, str] | None:
    """Why a model may not have a row, None where it may."""
    try:
        one_row(world.model(), OneRow(table="t", row=row))
    except ContentRefused as refused:
        return refused.reason.code.value, refused.reason.detail
    return None


def number_secret(world: Knowledge, name: str, value: str) -> None:
    world.entries = (*world.entries, Entry(name, WORKSPACE, Secret(value)))


def test_a_row_that_is_written_anew_meanwhile_is_withheld(
    world: Knowledge, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is known of the row that came is not known of the one that went."""
    (row,) = put(
        world.workflow(complete=False), {name: "unknown words" if name == "a" else None for name, _ in COLUMNS}
    )
    real: Any = QueriesOfTables.row_provenance
    done: list[int] = []

    def racing(self: QueriesOfTables, table_id: str, ids: Any) -> Any:
        if not done:
            done.append(row)
            values = {name: "clean" if name == "a" else None for name, _ in COLUMNS}
            change(world.access(), row, **values)
            world.place.rows("UPDATE content_rows SET provenance = NULL")
        return real(self, table_id, ids)

    monkeypatch.setattr(QueriesOfTables, "row_provenance", racing)
    assert why(world, row) == ("content_unknown", "version_mismatch")
    assert done
    assert why(world, row) is None


@pytest.mark.parametrize(
    "values",
    [
        {"a": f"before {VALUE} behind"},
        {"a": base64.b64encode(f"x{VALUE}y".encode()).decode()},
        {"j": {"deep": [{"er": VALUE}]}},
        {"j": {VALUE: 1}},
        {"j": json.dumps({"quoted": f'"{VALUE}'})},
    ],
)
def test_a_secret_is_found_and_redacted_wherever_it_stands(world: Knowledge, table: str, values: Any) -> None:
    put(world.workflow(), values, {"a": "clean"})
    page = seen(world)
    assert VALUE not in json.dumps(page)
    assert base64.b64encode(VALUE[3:-3].encode()).decode().strip("=")[4:-4] not in json.dumps(page)
    assert LABEL in json.dumps(page)
    assert (len(page["items"]), page["withheld"]) == (2, 0)
    whole = rows_of_table(world.access(), PageOfRows(table="t"))
    assert whole.items[0].values == {**dict.fromkeys("aijnd"), **values}


@pytest.mark.parametrize(("column", "value"), [("i", 1234567890123), ("n", 1234567890123.0), ("j", [1234567890123])])
def test_a_secret_is_found_as_a_number(world: Knowledge, table: str, column: str, value: Any) -> None:
    number_secret(world, "PHONE", "1234567890123")
    put(world.workflow("PHONE"), {column: value})
    assert "1234567890123" not in json.dumps(seen(world))
    assert "{{PHONE}}" in json.dumps(seen(world))


def test_a_row_of_an_unknown_source_is_left_out_and_counted(world: Knowledge, table: str) -> None:
    put(world.access(), {"a": "one"})
    put(world.workflow(complete=False), {"a": "two"})
    page = seen(world)
    assert ([row["id"] for row in page["items"]], page["total"]) == ([1], 2)
    assert (page["withheld"], page["reasons"]) == (1, {"content_unknown": 1})
    assert why(world, 2) == ("content_unknown", "incomplete")


@pytest.mark.parametrize(("column", "given"), [("a", "4711"), ("i", 4711), ("j", {"pin": ["4711"]}), ("j", [4711])])
def test_a_cell_with_a_secret_that_is_too_short_is_replaced_whole(
    world: Knowledge, table: str, column: str, given: Any
) -> None:
    number_secret(world, "PIN", "4711")
    put(world.workflow("PIN"), {column: given, "d": "2024-01-01"})
    (row,) = seen(world)["items"]
    assert row["values"] == {**dict.fromkeys("aijn"), "d": "2024-01-01", column: "{{PIN}}"}


def test_a_secret_over_two_cells_makes_the_row_unknown(world: Knowledge) -> None:
    made(world.access(), "t", (("a", T.TEXT), ("b", T.TEXT)))
    put(world.workflow(), {"a": VALUE[:9], "b": VALUE[9:]})
    assert why(world, 1) == ("content_unknown", "rewritten")


@pytest.mark.parametrize(
    ("secret", "values"),
    [("2024-01-01 10:00", {"m": "2024-01-01 10:00"}), ("12345678.90", {"m": None, "x": "y"})],
)
def test_a_type_that_rewrites_a_secret_makes_the_row_unknown(world: Knowledge, secret: str, values: Any) -> None:
    number_secret(world, "DATE", secret)
    made(world.access(), "t", (("m", T.DATETIME), ("x", T.TEXT)))
    put(world.workflow("DATE"), values)
    rewritten = values["m"] == secret
    assert why(world, 1) == (("content_unknown", "rewritten") if rewritten else None)


def test_what_stays_of_a_row_stays_known(world: Knowledge, table: str) -> None:
    put(world.workflow(), {"a": VALUE})
    put(world.workflow(complete=False), {"a": "x"})
    change(world.access(), 1, i=1)
    change(world.access(), 2, i=1)
    assert seen(world)["items"] == [{"id": 1, "version": 2, "values": {"a": LABEL, "i": 1, **dict.fromkeys("njd")}}]
    change(world.access(), 1, a="gone")
    assert why(world, 1) is None
    change(world.access(), 2, a="y", i=2, n=3, j=4, d=None)
    assert why(world, 2) is None, "nothing of the old row is left"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE content_rows SET cells = replace(cells, 'clean', 'other')",
        "UPDATE content_rows SET provenance = (SELECT provenance FROM content_rows WHERE id = 2) WHERE id = 1",
        "UPDATE content_rows SET provenance = 'x'",
        "UPDATE content_rows SET id = 9 WHERE id = 1",
    ],
)
def test_a_row_that_was_changed_behind_the_store_is_unknown(world: Knowledge, table: str, statement: str) -> None:
    put(world.workflow(), {"a": "clean"}, {"a": VALUE})
    world.place.rows(statement)
    page = seen(world)
    assert page["withheld"] >= 1
    assert VALUE not in json.dumps(page)


def test_a_personal_table_takes_no_secret_of_somebody_else(world: Knowledge) -> None:
    world.user_secret("BRAMS", "bram-secret-0123456789", "bram")
    world.user_secret("ADAS", "ada-secret-0123456789", "ada")
    columns = (ColumnGiven(name="a"),)
    create_table(world.access(), CreateTable(name="t", columns=columns, personal=True))
    put(world.workflow("BRAMS", person="ada"), {"a": "bram-secret-0123456789"})
    put(world.workflow("ADAS", person="ada"), {"a": "ada-secret-0123456789"})
    assert why(world, 1) == ("content_unknown", "scope_mismatch")
    assert why(world, 2) is None


def test_secrets_in_the_names_of_columns(world: Knowledge) -> None:
    twice = VALUE.encode().hex()
    made(world.workflow(), "t", ((f"x {VALUE}", T.TEXT), (f"x {twice}", T.TEXT), ("plain", T.TEXT)))
    put(world.access(), {f"x {VALUE}": "one", f"x {twice}": "two", "plain": "three"})
    page = seen(world)
    assert [one["name"] for one in page["columns"]] == [f"x {LABEL}", f"x {LABEL} #2", "plain"]
    assert page["items"][0]["values"] == {f"x {LABEL}": "one", f"x {LABEL} #2": "two", "plain": "three"}
    access = world.model()
    query = QueryTable(table="t", filters=(FilterGiven(column=f"x {LABEL}", value="one"),))
    assert query_table(access, query).total == 1, "it is asked for by the name under which it is shown"
    with pytest.raises(BadFields, match="must name a column"):
        query_table(access, QueryTable(table="t", sort=(SortGiven(column=f"x {VALUE}"),)))


def test_a_table_of_an_unknown_source_shows_no_name_and_its_rows(world: Knowledge) -> None:
    made(world.workflow(complete=False), "hidden", (("secret-ish", T.TEXT),))
    put(world.access(), {"secret-ish": "x"}, table="hidden")
    with pytest.raises(ContentRefused):
        read_table(world.model(), ReadTable(table="hidden"))
    access = world.model()
    page = list_tables(access, ListTables())
    assert (page.items, page.total, page.withheld) == ((), 1, 1)
    assert seen(world, "hidden")["items"] == [{"id": 1, "version": 1, "values": {"column_1": "x"}}]
    found = search_table(world.model(), SearchTable(table="hidden", query="x"))
    assert [(one.row, one.column, one.value) for one in found.items] == [(1, "column_1", "x")]
    with pytest.raises(BadFields, match="column 1") as caught:
        put(world.model(), {"column_1": 5}, table="hidden")
    assert "secret-ish" not in str(caught.value)


def test_a_filter_tells_no_more_than_the_count(world: Knowledge, table: str) -> None:
    put(world.workflow(complete=False), {"a": "hush hush"}, {"a": "hush"})
    put(world.access(), {"a": "hush, open"})
    for how, value in [(Comparison.CONTAINS, "hush"), (Comparison.MORE, "a")]:
        query = QueryTable(table="t", limit=2, filters=(FilterGiven(column="a", how=how, value=value),))
        first = query_table(world.model(), query)
        assert ([row.id for row in first.items], first.total, first.withheld) == ([], 3, 2)
        second = query_table(world.model(), query.model_copy(update={"cursor": first.next}))
        assert ([row.id for row in second.items], second.total, second.next) == ([3], 3, None)
        assert "hush" not in base64.b64decode(f"{first.next}==").decode()
        # What a filter lets through is found again by everybody else, in the same pages.
        assert query_table(world.access(), query).next == first.next


@pytest.mark.parametrize("figure", ["min", "max", "sum", "avg"])
def test_a_figure_over_rows_that_a_model_may_not_read_is_withheld(world: Knowledge, table: str, figure: str) -> None:
    put(world.access(), {"i": 5}, {"i": 1})
    put(world.workflow(), {"i": 7, "a": VALUE})
    given = (FigureGiven(figure=Figure(figure), column="i"), FigureGiven(figure=Figure.COUNT))

    def asked(access: Access, **more: Any) -> Any:
        return query_table(access, QueryTable(table="t", figures=given, **more)).figures

    open_to_all = asked(world.access())
    assert asked(world.model()) == open_to_all
    put(world.workflow(complete=False), {"i": 99})
    shown, count = asked(world.model())
    assert (shown.value, shown.withheld, shown.reason) == (None, True, "content_unknown")
    assert count.value == 4
    assert [one.value for one in asked(world.access())] != [one.value for one in open_to_all]
    below = (FilterGiven(column="i", how=Comparison.LESS, value=50),)
    assert [one.value for one in asked(world.model(), filters=below)] == [one.value for one in open_to_all]


def test_a_figure_that_is_a_secret_is_redacted(world: Knowledge, table: str) -> None:
    number_secret(world, "PHONE", "1234567890123")
    put(world.workflow(NAME, "PHONE"), {"a": VALUE, "i": 1234567890123})
    access = world.model()
    asked = ((Figure.MAX, "a"), (Figure.MIN, "i"), (Figure.SUM, "i"))
    figures = tuple(FigureGiven(figure=figure, column=column) for figure, column in asked)
    page = told(access, query_table(access, QueryTable(table="t", figures=figures)))
    assert [one["value"] for one in page["figures"]] == [LABEL, "{{PHONE}}", None]
    assert page["figures"][2]["reason"] == "content_cut", "of a sum, the rest could be taken away"


def test_a_search_tells_places_and_no_cut_secret(world: Knowledge, table: str) -> None:
    long = f"{'x' * 70} needle {VALUE} {'y' * 200}"
    put(world.workflow(), {"a": long})
    put(world.workflow(complete=False), {"a": "needle"})
    put(world.access(), {"a": long})
    access = world.model()
    page = told(access, search_table(access, SearchTable(table="t", query="NEEDLE")))
    assert [(one["row"], one["value"] is None) for one in page["items"]] == [(1, True), (2, True), (3, False)]
    assert page["reasons"] == {"content_cut": 1, "content_unknown": 1}
    assert not any(VALUE[at : at + 6] in json.dumps(page) for at in range(len(VALUE) - 6))


def test_only_the_columns_that_are_asked_for_count(world: Knowledge, table: str) -> None:
    put(world.workflow(), {"a": VALUE, "i": 1})
    access = world.model()
    page = query_table(access, QueryTable(table="t", columns=("i",)))
    assert page.items[0].values == {"i": 1}
    gate = access.delivery.gate
    assert gate is not None
    assert getattr(gate, "registry").entries == ()  # noqa: B009 - a protocol has none


def test_a_row_whose_keys_collide_takes_no_other_with_it(world: Knowledge, table: str) -> None:
    both = {VALUE: 1, VALUE.encode().hex(): 2}
    put(world.workflow(), {"j": both}, {"a": "fine"})
    page = seen(world)
    assert ([row["id"] for row in page["items"]], page["reasons"]) == ([2], {"content_unscanned": 1})


def test_a_model_writes_what_it_was_told(world: Knowledge, table: str) -> None:
    put(world.model(), {"a": f"I say {VALUE}"})
    assert LABEL in json.dumps(seen(world))
    assert why(world, 1) is None


def test_nothing_is_read_of_what_is_known_for_anybody_but_a_model(world: Knowledge, table: str) -> None:
    put(world.workflow(), {"a": VALUE}, {"a": "x", "i": 3})
    put(world.workflow(complete=False), {"a": "z"})
    before = world.seals.reads
    for access in (world.access(), world.workflow(), world.access("bram")):
        page = rows_of_table(access, PageOfRows(table="t"))
        assert [row.values["a"] for row in page.items] == [VALUE, "x", "z"]
        figures = (FigureGiven(figure=Figure.MAX, column="a"),)
        assert query_table(access, QueryTable(table="t", figures=figures)).figures[0].value == "z"
        one_row(access, OneRow(table="t", row=1))
        assert search_table(access, SearchTable(table="t", query=VALUE)).items[0].value == VALUE
        list_tables(access, ListTables())
        read_table(access, ReadTable(table="t"))
    assert world.seals.reads == before
    seen(world)
    assert world.seals.reads > before
