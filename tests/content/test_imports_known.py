"""What is known of rows that are imported: from unknown files, from files with secrets, from clean ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stanch.app.content_writing import Declared, Said, Unsaid
from stanch.content import import_checks
from stanch.content.access import Access
from stanch.content.file_items import file_at
from stanch.content.file_writing import WriteFile, write_file
from stanch.content.import_checks import Checking, Parsed
from stanch.content.imports import ImportFile, import_file
from stanch.content.table_known import known_of_row
from stanch.content.table_rows import PageOfRows, rows_of_table
from stanch.content.tables import ColumnGiven, CreateTable, create_table
from stanch.content.tables_shown import found_table
from stanch.provenance.states import CLEAN, UNRECORDED, WORKSPACE, Cause, Entry, Exact, Provenance, Unknown
from stanch.secrets.text import Secret
from stanch.storage.content_table_nouns import canonical
from stanch.values.tables import ColumnType, Wanted
from tests.content.imported import upload, workbook
from tests.content.knowledge_world import LABEL, NAME, VALUE, Knowledge, knowledge
from tests.stores.places import Place

DIGITS = "00123456789"
REWRITTEN = Unknown(Cause.REWRITTEN)


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[Knowledge]:
    with knowledge(place, tmp_path) as made:
        made.entries = (
            *made.entries,
            Entry("DIGITS", WORKSPACE, Secret(DIGITS)),
            Entry("PIN", WORKSPACE, Secret("4711")),
        )
        yield made


def table(world: Knowledge, **columns: ColumnType) -> None:
    given = tuple(ColumnGiven(name=name, type=kind) for name, kind in (columns or {"a": ColumnType.TEXT}).items())
    create_table(world.access(), CreateTable(name="t", columns=given))


def model(world: Knowledge) -> Access:
    """The access of a chat's model, of which is noted what it reads that is not given to it."""
    given = world.model()
    given.delivery.note = lambda _: None
    return given


def known(world: Knowledge, named: str = "t") -> list[Any]:
    """What is known of each row: the names of its secrets, or the cause."""
    found = found_table(world.access(), named)
    page = world.stores.rows(found, Wanted(), limit=500)
    kept = world.stores.row_provenance(found.id, [row.id for row in page.items])
    return [_short(known_of_row(world.access(), found, row.id, row.written, kept[row.id][1])) for row in page.items]


def _short(found: Provenance) -> Any:
    if isinstance(found, Exact):
        return {entry.name for entry in found.entries}
    return found.cause.value if isinstance(found, Unknown) else None


def stored(world: Knowledge, by: Access, text: str, path: str = "a.csv") -> ImportFile:
    """An import of a file of the workspace with this text."""
    write_file(by, WriteFile(path=path, content=text))
    return ImportFile(table="t", path=path)


def test_rows_are_known_as_their_file_is(world: Knowledge) -> None:
    table(world, a=ColumnType.TEXT, n=ColumnType.INTEGER)
    dirty, clean = f"a,n\nx {VALUE},1\nplain,2\n", "a,n\nx,1\n"
    import_file(world.access(), stored(world, world.access(), clean, "unrecorded.csv"))
    import_file(world.access(), stored(world, world.workflow(), clean, "empty.csv"))
    import_file(world.access(), stored(world, world.workflow(), dirty, "entries.csv"))
    import_file(world.access(), stored(world, world.workflow(complete=False), clean, "unknown.csv"))
    assert known(world) == [None, set(), {NAME}, set(), "source_unknown"]


def test_an_upload_is_known_as_its_writer_says(world: Knowledge) -> None:
    table(world)
    upload(world.access(), "t", "a.csv", f"a\n{VALUE}\n")
    upload(world.workflow(), "t", "a.csv", f"a\n{VALUE}\nx\n")
    upload(world.workflow(complete=False), "t", "a.csv", "a\nx\n")
    upload(model(world), "t", "a.csv", f"a\n{VALUE}\nx\n")
    assert known(world) == [None, {NAME}, set(), "incomplete", {NAME}, set()]


@pytest.mark.parametrize(
    ("kind", "raw", "wanted"),
    [
        (ColumnType.INTEGER, DIGITS, "rewritten"),
        (ColumnType.NUMBER, f"{DIGITS}.0", "rewritten"),
        (ColumnType.TEXT, DIGITS, {"DIGITS"}),
        (ColumnType.JSON, f'["{DIGITS}"]', {"DIGITS"}),
        (ColumnType.INTEGER, "123", set()),
    ],
)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_type_that_rewrites_a_secret(world: Knowledge, kind: ColumnType, raw: str, wanted: Any, form: str) -> None:
    table(world, a=kind)
    quoted = raw.replace('"', '""')
    text = f'a\n"{quoted}"\n' if form == "csv" else json.dumps([{"a": raw}])
    if form == "json" and kind is ColumnType.JSON:
        text = f'[{{"a":{raw}}}]'
    upload(world.workflow("DIGITS"), "t", f"a.{form}", text)
    assert known(world) == [wanted]


def test_a_short_secret_is_found_in_its_cell_and_in_what_it_became(world: Knowledge) -> None:
    world.entries = (*world.entries, Entry("LED", WORKSPACE, Secret("0815")))
    table(world, a=ColumnType.TEXT, n=ColumnType.INTEGER)
    upload(world.workflow("PIN", "LED"), "t", "a.csv", "a,n\n4711,1\nx,4711\ny,0815\nz,815\n47,11\n")
    assert known(world) == [{"PIN"}, {"PIN"}, "rewritten", set(), set()]
    access = world.model()
    page = rows_of_table(access, PageOfRows(table="t"))
    assert [row.values for row in page.items][:2] == [{"a": "{{PIN}}", "n": 1}, {"a": "x", "n": "{{PIN}}"}]


def test_cells_that_are_left_out_take_their_secret_with_them(world: Knowledge) -> None:
    table(world, n=ColumnType.INTEGER)
    upload(world.workflow(), "t", "a.csv", f"n\n{VALUE}\n1\n", on_error="null")
    assert known(world) == ["rewritten", set()]


def test_a_delimiter_that_parts_a_secret(world: Knowledge) -> None:
    world.entries = (*world.entries, Entry("COMMA", WORKSPACE, Secret("left-half,right-half")))
    table(world, a=ColumnType.TEXT, b=ColumnType.TEXT)
    upload(world.workflow("COMMA"), "t", "a.csv", 'a,b\nleft-half,right-half\n"left-half,right-half",x\nx,y\n')
    assert known(world) == ["rewritten", {"COMMA"}, set()]


@pytest.mark.parametrize("held_back", [1, 64])
def test_a_secret_over_several_rows(world: Knowledge, monkeypatch: pytest.MonkeyPatch, held_back: int) -> None:
    monkeypatch.setattr(import_checks, "HELD_BACK", held_back)
    monkeypatch.setattr("stanch.content.imports.ROWS_AT_ONCE", 3)
    world.entries = (*world.entries, Entry("LINES", WORKSPACE, Secret("first\nsecond")))
    table(world)
    rows = ["x", "first", "second", "y", "z", "first", "second", "w", '"first\nsecond"', "first"]
    upload(world.workflow("LINES"), "t", "a.csv", "a\n" + "\n".join(rows) + "\n")
    torn = "rewritten"
    assert known(world) == [set(), torn, torn, set(), set(), torn, torn, set(), {"LINES"}, set()]


def test_a_key_that_stands_in_the_file_alone(world: Knowledge) -> None:
    world.entries = (*world.entries, Entry("SPACED", WORKSPACE, Secret('"a": "x", "b"')))
    table(world, a=ColumnType.TEXT, b=ColumnType.TEXT)
    upload(world.workflow("SPACED"), "t", "a.json", '[{"a": "x", "b": "y"}, {"a": "x"}]')
    assert known(world) == ["rewritten", set()]


def test_cells_of_a_workbook_whose_text_nobody_knows(world: Knowledge) -> None:
    table(world, a=ColumnType.TEXT, b=ColumnType.TEXT)
    moment = datetime(2024, 1, 31)
    clean = workbook([("a", "b"), ("x", moment), ("y", 1.5)])
    upload(world.workflow(), "t", "a.xlsx", clean)
    assert known(world) == [set(), set()], "no secret is in the file, in whatever form"
    upload(world.workflow(), "t", "a.xlsx", workbook([("a", "b"), (VALUE, 5), ("x", moment), ("y", "z")]))
    assert known(world)[2:] == [{NAME}, "rewritten", set()]
    upload(world.access(), "t", "a.xlsx", workbook([("a", "b"), (VALUE, moment)]))
    assert known(world)[5:] == [None]


def test_a_formula_of_a_workbook_is_no_value(world: Knowledge) -> None:
    table(world, a=ColumnType.TEXT)
    upload(world.workflow(), "t", "a.xlsx", workbook([("a",), (f'="{VALUE}"',), ("x",)]))
    page = rows_of_table(world.access(), PageOfRows(table="t"))
    assert VALUE not in page.model_dump_json()


def test_the_columns_of_a_new_table_are_known_as_its_file_is(world: Knowledge) -> None:
    hexed = VALUE.encode().hex()
    upload(world.workflow(), "new", "a.csv", f"x {hexed},b\n1,2\n", create=True)
    upload(world.workflow(complete=False), "other", "a.csv", "a\n1\n", create=True)
    shown = rows_of_table(world.model(), PageOfRows(table="new"))
    assert [one.name for one in shown.columns] == [f"x {LABEL}", "b"]
    hidden = rows_of_table(world.model(), PageOfRows(table="other"))
    assert ([one.name for one in hidden.columns], hidden.withheld) == (["column_1"], 1)


def test_an_import_returns_nothing_and_counts_on_no_model(world: Knowledge) -> None:
    table(world)
    asked = stored(world, world.workflow(), f"a\n{VALUE}\n")
    access = model(world)
    done = import_file(access, asked)
    assert VALUE not in done.model_dump_json()
    assert (access.delivery.accounted, len(access.delivery.observed)) == (True, 1)
    assert known(world) == [{NAME}]
    assert file_at(world.access(), "a.csv").version == 1


def _parsed(gave: Sequence[Any], cells: Sequence[Any], raw: str) -> Parsed:
    return Parsed(gave, cells, canonical(list(cells)), raw)


def test_what_is_known_of_every_value_alike_is_asked_once() -> None:
    asked: list[Any] = []

    def always(value: Any) -> Provenance:
        asked.append(value)
        return UNRECORDED

    checking = Checking(always)
    rows = [_parsed([VALUE], [VALUE], VALUE)] * 5
    assert [found for _, found in checking.of(rows)] == [UNRECORDED] * 5
    assert list(checking.of((), last=True)) == []
    assert asked == [""]


SECRETS = ("0123456789", "ab,cdefgh", "line1\nline2\nline3", "short")
PIECES = st.sampled_from(
    [*SECRETS, "x", "0", ",", "ab", "line1", "line2\nline3", base64.b64encode(b"ab,cdefgh").decode()]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(PIECES, min_size=2, max_size=3), min_size=1, max_size=12), st.integers(1, 5))
def test_rows_together_are_known_as_each_by_itself(rows: list[list[str]], at_once: int) -> None:
    entries = [Entry(f"S{at}", WORKSPACE, Secret(one)) for at, one in enumerate(SECRETS)]
    found = Said(Declared(tuple(one.name for one in entries)), entries).over()
    parsed = [_parsed(cells, cells[:-1], ",".join(cells) + "\n") for cells in rows]
    checking = Checking(found)
    together: list[Provenance] = []
    for begin in range(0, len(parsed), at_once):
        together += [one for _, one in checking.of(parsed[begin : begin + at_once])]
    together += [one for _, one in checking.of((), last=True)]
    assert len(together) == len(rows)
    for cells, (each, one) in zip(rows, zip(parsed, together, strict=True), strict=True):
        alone = [known for _, known in Checking(found).of([each], last=True)]
        # Beside its own, a row may only have a border that a secret reaches over.
        assert one == alone[0] or one == REWRITTEN
        if isinstance(one, Exact):
            carried = found(list(cells[:-1]))
            assert one == carried or not isinstance(carried, Exact)
    if not any(len(cells) for cells in rows):
        assert together == [CLEAN] * len(rows)
    assert Unsaid().over()("x") == UNRECORDED
