"""What a cell may hold: each type, from a JSON body, from a text, and from a file with types of its own."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from stanch.content.table_cells import BadCell, given, read, taken, texts_in, texts_of
from stanch.values.tables import ColumnType

T = ColumnType
CANARY = "canary-8d1f"


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        (T.TEXT, "", ""),
        (T.TEXT, "00123", "00123"),
        (T.TEXT, "𝔘 ä\n", "𝔘 ä\n"),
        (T.INTEGER, -(1 << 63), -(1 << 63)),
        (T.INTEGER, (1 << 63) - 1, (1 << 63) - 1),
        (T.NUMBER, 1, 1),
        (T.NUMBER, 0.1, 0.1),
        (T.NUMBER, (1 << 53) + 2, float((1 << 53) + 2)),
        (T.BOOLEAN, False, False),
        (T.DATE, "2024-02-29", "2024-02-29"),
        (T.DATETIME, "2024-02-29T23:00:00-02:00", "2024-03-01T01:00:00.000000Z"),
        (T.DATETIME, "2024-02-29", "2024-02-29T00:00:00.000000Z"),
        (T.DATETIME, "0001-01-01T00:00:00.5", "0001-01-01T00:00:00.500000Z"),
        (T.JSON, {"a": [1, None, "x"]}, {"a": [1, None, "x"]}),
        (T.JSON, "x", "x"),
    ],
)
def test_a_cell_of_a_body_has_its_type(kind: ColumnType, value: Any, kept: Any) -> None:
    found = given(value, kind)
    assert (found, type(found)) == (kept, type(kept))
    assert given(None, kind) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (T.TEXT, 1),
        (T.TEXT, "a\0b"),
        (T.TEXT, "\ud800"),
        (T.INTEGER, True),
        (T.INTEGER, 1.0),
        (T.INTEGER, "1"),
        (T.INTEGER, 1 << 63),
        (T.NUMBER, float("inf")),
        (T.NUMBER, float("nan")),
        (T.NUMBER, True),
        (T.NUMBER, 10**400),
        (T.BOOLEAN, 1),
        (T.BOOLEAN, "true"),
        (T.DATE, "2023-02-29"),
        (T.DATE, "20240131"),
        (T.DATE, "2024-01-31T10:00"),
        (T.DATETIME, "yesterday"),
        (T.DATETIME, "0001-01-01T00:00:00+14:00"),
        (T.JSON, {"a": "\0"}),
        (T.JSON, {"\ud800": 1}),
        (T.JSON, [float("inf")]),
        (T.JSON, 1 << 64),
        (T.JSON, json.loads("[" * 40 + "]" * 40)),
    ],
)
def test_a_cell_of_another_type_is_refused(kind: ColumnType, value: Any) -> None:
    with pytest.raises(BadCell):
        given(value, kind)


@pytest.mark.parametrize(
    ("kind", "text", "kept"),
    [
        (T.TEXT, " x ", " x "),
        (T.TEXT, "", ""),
        (T.INTEGER, " 007 ", 7),
        (T.INTEGER, "+5", 5),
        (T.INTEGER, "", None),
        (T.NUMBER, "1e3", 1000.0),
        (T.NUMBER, "12", 12),
        (T.NUMBER, ".5", 0.5),
        (T.BOOLEAN, "YES", True),
        (T.BOOLEAN, "0", False),
        (T.DATE, "2024-01-31", "2024-01-31"),
        (T.DATETIME, "2024-01-31 10:00", "2024-01-31T10:00:00.000000Z"),
        (T.JSON, '{"a":1}', {"a": 1}),
    ],
)
def test_a_text_becomes_a_cell(kind: ColumnType, text: str, kept: Any) -> None:
    assert read(kind)(text) == kept


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (T.INTEGER, "1.0"),
        (T.INTEGER, "1_000"),
        (T.INTEGER, "\u0661"),
        (T.INTEGER, "99999999999999999999"),
        (T.NUMBER, "1,5"),
        (T.NUMBER, "nan"),
        (T.NUMBER, "1e999"),
        (T.BOOLEAN, "2"),
        (T.DATE, "31.1.2024"),
        (T.JSON, '{"a":1,"a":2}'),
        (T.JSON, "NaN"),
        (T.JSON, "[" * 5000),
        (T.TEXT, "a\0"),
    ],
)
def test_a_text_that_is_no_such_cell_is_refused_without_being_told(kind: ColumnType, text: str) -> None:
    with pytest.raises(BadCell) as caught:
        read(kind)(text)
    assert text not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        (T.TEXT, 5, "5"),
        (T.TEXT, datetime(2024, 1, 31, tzinfo=UTC), "2024-01-31T00:00:00.000000Z"),
        (T.TEXT, Decimal("1.10"), "1.10"),
        (T.TEXT, {"b": 1, "a": 2}, '{"a":2,"b":1}'),
        (T.INTEGER, 5.0, 5),
        (T.INTEGER, Decimal("7"), 7),
        (T.INTEGER, "8", 8),
        (T.INTEGER, "  ", None),
        (T.NUMBER, Decimal("0.5"), 0.5),
        (T.BOOLEAN, 1, True),
        (T.DATE, datetime(2024, 1, 31), "2024-01-31"),
        (T.DATE, date(2024, 1, 31), "2024-01-31"),
        (T.DATETIME, date(2024, 1, 31), "2024-01-31T00:00:00.000000Z"),
        (T.DATETIME, datetime(2024, 1, 31, 1, tzinfo=timezone(timedelta(hours=2))), "2024-01-30T23:00:00.000000Z"),
        (T.JSON, [date(2024, 1, 31), Decimal("2.5")], ["2024-01-31", "2.5"]),
    ],
)
def test_a_typed_value_becomes_a_cell(kind: ColumnType, value: Any, kept: Any) -> None:
    assert taken(value, kind) == kept


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (T.INTEGER, 5.5),
        (T.INTEGER, "x"),
        (T.NUMBER, Decimal("NaN")),
        (T.DATE, datetime(2024, 1, 31, 1)),
        (T.TEXT, b"\xff"),
        (T.JSON, float("nan")),
        (T.BOOLEAN, 2),
    ],
)
def test_a_typed_value_that_does_not_fit_is_refused(kind: ColumnType, value: Any) -> None:
    with pytest.raises(BadCell):
        taken(value, kind)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@drawn(st.lists(JSON))
def test_both_ways_to_the_texts_of_cells_give_the_same(cells: list[Any]) -> None:
    assert texts_of(cells) == list(texts_in(cells))


@drawn(st.lists(JSON, max_size=5))
def test_every_text_is_among_the_texts(cells: list[Any]) -> None:
    def put(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(put, value), CANARY]
        return {**{key: put(one) for key, one in value.items()}, CANARY: 1} if isinstance(value, dict) else value

    placed = [put(cell) for cell in cells]
    assert texts_of(placed).count(CANARY) == json.dumps(placed).count(CANARY)
