"""Imports in both databases: every form of file, what does not fit, and that nothing is left half-done."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from stanch.content import import_files, imports
from stanch.content.imports import ImportAsked, import_state
from stanch.content.table_rows import InsertRows, insert_rows
from stanch.content.tables import ColumnGiven, CreateTable, ListTables, ReadTable, create_table, list_tables, read_table
from stanch.values.fault import BadFields, BadInput, Conflict, NotFound, NotInstalled
from stanch.values.tables import ColumnType, ImportState
from tests.content.imported import rows, upload, workbook
from tests.content.knowledge_world import Knowledge, knowledge
from tests.stores.places import Place

CSV = 'a,n\nx,1\n"two\nlines, and a ""quote""",2\n\n,\n'
CANARY = "canary-5f2e"


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[Knowledge]:
    with knowledge(place, tmp_path) as made:
        yield made


def table(world: Knowledge, **columns: ColumnType) -> None:
    given = tuple(ColumnGiven(name=name, type=kind) for name, kind in columns.items())
    create_table(world.access(), CreateTable(name="t", columns=given))


def left(world: Knowledge) -> dict[str, int]:
    """How many rows each table of the database has."""
    names = ("content_rows", "content_tables")
    return {name: world.place.rows(f"SELECT count(*) FROM {name}")[0][0] for name in names}


WANTED: list[dict[str, Any]] = [{"a": "x", "n": 1}, {"a": 'two\nlines, and a "quote"', "n": 2}, {"a": "", "n": None}]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", CSV),
        ("a.csv", "\ufeff" + CSV.replace("\n", "\r\n").replace("two\r\n", "two\n")),
        ("a.tsv", 'n\ta\n1\tx\n2\t"two\nlines, and a ""quote"""\n\t\n'),
        ("a.json", json.dumps(WANTED)),
        ("a.json", json.dumps(WANTED, indent=3, ensure_ascii=True) + "\n"),
        ("a.jsonl", "".join(json.dumps(row) + "\n\n" for row in WANTED)),
        ("a.jsonl", '{"a":"x","n":1}\n' + json.dumps(WANTED[1]) + '\r\n{"a":""}'),
        ("a.xlsx", workbook([("a", "n"), ("x", 1), (WANTED[1]["a"], 2.0), ("", None)])),
    ],
)
def test_every_form_gives_the_same_rows(world: Knowledge, name: str, data: str | bytes) -> None:
    table(world, a=ColumnType.TEXT, n=ColumnType.INTEGER)
    done = upload(world.access(), "t", name, data)
    found = rows(world.access(), "t")
    # A workbook has no empty texts.
    assert found == WANTED[: 2 if name == "a.xlsx" else 3]
    size = len(data.encode() if isinstance(data, str) else data)
    assert (done.state, done.done, done.of) == (ImportState.DONE, size, size)


def test_parquet(world: Knowledge) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    moment = datetime(2024, 1, 31, 10)
    made = pa.table(
        {
            "t": ["x", None],
            "i": [1, 2],
            "f": [0.5, None],
            "b": [True, False],
            "d": [date(2024, 1, 31), None],
            "m": [moment, None],
            "l": [[1, 2], []],
        }
    )
    kept = io.BytesIO()
    pq.write_table(made, kept)
    upload(world.access(), "new", "a.parquet", kept.getvalue(), create=True)
    kinds = {one.name: one.type.value for one in read_table(world.access(), ReadTable(table="new")).columns}
    assert kinds == {
        "t": "text", "i": "integer", "f": "number", "b": "boolean", "d": "date", "m": "datetime", "l": "json",
    }  # fmt: skip
    first, second = rows(world.access(), "new")
    wanted = {"t": "x", "i": 1, "f": 0.5, "b": True, "d": "2024-01-31", "m": "2024-01-31T10:00:00.000000Z", "l": [1, 2]}
    assert first == wanted
    assert second == {**dict.fromkeys("tfdm"), "i": 2, "b": False, "l": []}


def test_parquet_says_what_to_install(world: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(NotInstalled, match=r"pip install 'stanch\[parquet\]'"):
        upload(world.access(), "new", "a.parquet", b"PAR1", create=True)


def test_a_workbook_has_dates_formulas_and_sheets(world: Knowledge) -> None:
    data = workbook([("no", "thing")], [("d", "f", "e"), (datetime(2024, 1, 31), "=1+1", None), (None, None, None)])
    upload(world.access(), "new", "a.xlsx", data, create=True, sheet="S1", types={"d": "date"})
    # Nothing has computed the formula, and its own text is no value.
    assert rows(world.access(), "new") == [{"d": "2024-01-31", "f": None, "e": None}]
    for bad, sheet in [(data, "none"), (b"PK\x03\x04 but no workbook", None), (b"text", None)]:
        with pytest.raises(BadFields):
            upload(world.access(), "new", "a.xlsx", bad, sheet=sheet)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", f"a,n\nx,1\ny,{CANARY}\n", "row 2, column 2: a whole number"),
        ("a.csv", f"a,n\n{CANARY}\n", "row 1 has 1 cells, and the header has 2"),
        ("a.csv", f"a,{CANARY}\nx,1\n", "its column 2 is none of the table"),
        ("a.csv", "a,a\nx,1\n", "name twice"),
        ("a.csv", "", "no header"),
        ("a.csv", f'a,n\n"{CANARY},1\nx,2\n', "is no CSV"),
        ("a.csv", f'a,n\n"{CANARY}"x,1\n', "is no CSV"),
        ("a.csv", b"a,n\nx,1\n\xff\xfe,2\n", "no text in UTF-8"),
        ("a.csv", f"a,n\n{CANARY}\0,1\n", "row 1, column 1: text"),
        ("a.json", f'[{{"a":"{CANARY}","n":1}},{{"n":"x"}}]', "row 2, column 2: a whole number"),
        ("a.json", f'[{{"a":"{CANARY}","z":1}}]', "row 1 has a key that is no column"),
        ("a.json", f'[{{"a":"{CANARY}","a":1}}]', "row 1 is no JSON, or has a key twice"),
        ("a.json", f'[{{"a":"{CANARY}"}}', "no array of objects"),
        ("a.json", f'[{{"a":"{CANARY}"}},]', "no array of objects"),
        ("a.json", f'[{{"a":"{CANARY}"}} {{"a":1}}]', "no array of objects"),
        ("a.json", f'[{{"a":"{CANARY}"}}] 1', "behind its array"),
        ("a.json", f'["{CANARY}"]', "no array of objects"),
        ("a.json", f'{{"a":"{CANARY}"}}\n["x"]\n', "row 2 is no object"),
        ("a.json", f'{{"a":"{CANARY}"}}\n{{"a":NaN}}\n', "row 2 is no JSON"),
        ("a.json", b'{"a":"\xff"}', "no text in UTF-8"),
        ("a.xlsx", workbook([("a", "n"), ("x", CANARY)]), "row 1, column 2: a whole number"),
        ("a.xlsx", workbook([("a", "n"), ("x", 1, CANARY)]), "row 1 has more cells"),
        ("a.xlsx", workbook([("a", None, "n")]), "name every column"),
        ("a.dat", CANARY, "'form' must say"),
    ],
)
def test_what_cannot_be_imported_is_told_by_its_place_and_leaves_nothing(
    world: Knowledge, name: str, data: str | bytes, said: str
) -> None:
    table(world, a=ColumnType.TEXT, n=ColumnType.INTEGER)
    with pytest.raises(BadFields) as caught:
        upload(world.access(), "t", name, data)
    assert said in str(caught.value)
    assert CANARY not in str(caught.value)
    assert left(world) == {"content_rows": 0, "content_tables": 1}


def test_cells_that_do_not_fit_can_be_left_out(world: Knowledge) -> None:
    table(world, a=ColumnType.TEXT, n=ColumnType.INTEGER)
    done = upload(world.access(), "t", "a.csv", "a,n\nx,one\ny,2\n", on_error="null")
    assert (done.nulled, rows(world.access(), "t")) == (1, [{"a": "x", "n": None}, {"a": "y", "n": 2}])


def test_a_table_is_made_with_its_rows_or_not_at_all(world: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "ROWS_AT_ONCE", 2)
    seen: list[Any] = []

    def looks(done: int, of: int | None) -> None:
        seen.append((done, of, list_tables(world.access(), ListTables()).total))

    data = "a,n\n" + "x,1\n" * 5
    with pytest.raises(BadFields):
        upload(world.access(told=looks), "new", "a.csv", data + "y,?\n", create=True, types={"n": "integer"})
    assert {total for _, _, total in seen} == {0}
    assert len(seen) > 1
    assert left(world) == {"content_rows": 0, "content_tables": 0}
    upload(world.access(told=looks), "new", "a.csv", data, create=True, types={"n": "integer"}, personal=True)
    assert seen[-1] == (len(data), len(data), 1)
    assert read_table(world.access(), ReadTable(table="new")).owner == "ada"
    assert upload(world.access(), "new", "a.csv", data, create=True).rows == 5
    assert len(rows(world.access(), "new")) == 10
    with pytest.raises(NotFound):
        upload(world.access("bram"), "new", "a.csv", data)
    for bad in ({"types": {"z": "integer"}}, {}):
        with pytest.raises(BadFields):
            upload(world.access(), "other", "a.csv", "a ,n\n", create=True, **bad)


def test_rows_are_seen_all_at_once(world: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    table(world, a=ColumnType.TEXT)
    insert_rows(world.access(), InsertRows(table="t", rows=({"a": "before"},)))
    monkeypatch.setattr(imports, "ROWS_AT_ONCE", 2)
    seen: list[tuple[int, int]] = []

    def looks(done: int, _: int | None) -> None:
        state = import_state(world.access(), ImportAsked(table="t", import_id="0123456789abcdef"))
        seen.append((len(rows(world.access(), "t")), state.rows))
        if done < 10:
            insert_rows(world.access(), InsertRows(table="t", rows=({"a": "meanwhile"},)))

    upload(world.access(told=looks), "t", "a.csv", "a\n" + "x\n" * 5, import_id="0123456789abcdef")
    counts = [count for count, _ in seen]
    assert counts[-1] >= 6
    assert all(count < 6 for count in counts[:-1])
    assert max(done for _, done in seen) == 5
    with pytest.raises(NotFound):
        import_state(world.access(), ImportAsked(table="other", import_id="0123456789abcdef"))


def test_an_id_of_another_import_stops_nothing(world: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    table(world, a=ColumnType.TEXT)
    monkeypatch.setattr(imports, "ROWS_AT_ONCE", 1)
    caught: list[BaseException] = []

    def again(_done: int, _all: int | None) -> None:
        if not caught:
            with pytest.raises(Conflict) as why:
                upload(world.access(), "made", "a.csv", "a\nx\n", import_id="a" * 16, create=True)
            caught.append(why.value)

    assert upload(world.access(told=again), "t", "a.csv", "a\nx\ny\n", import_id="a" * 16).rows == 2
    assert left(world) == {"content_rows": 2, "content_tables": 1}


def test_an_import_that_is_stopped_or_taken_for_lost_is_taken_back(
    world: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(world, a=ColumnType.TEXT)
    monkeypatch.setattr(imports, "ROWS_AT_ONCE", 1)
    stop = threading.Event()

    def stops(_done: int, _all: int | None) -> None:
        stop.set()

    with pytest.raises(BadInput, match="stopped"):
        upload(world.access(told=stops, cancelled=stop), "t", "a.csv", "a\nx\ny\nz\n")

    def clears(_done: int, _all: int | None) -> None:
        world.stores.clear_tables(alone=True)

    with pytest.raises(Conflict, match="over"):
        upload(world.access(told=clears), "t", "a.csv", "a\nx\ny\n")

    def drops(_done: int, _all: int | None) -> None:
        world.stores.delete_table(read_table(world.access(), ReadTable(table="t")).id, by=world.access().by)

    with pytest.raises((Conflict, NotFound)):
        upload(world.access(told=drops), "t", "a.csv", "a\nx\ny\n")
    assert left(world) == {"content_rows": 0, "content_tables": 0}


def test_two_tables_of_one_name_are_not_made(world: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "ROWS_AT_ONCE", 1)

    def makes(_done: int, _all: int | None) -> None:
        if list_tables(world.access(), ListTables()).total == 0:
            table(world, z=ColumnType.TEXT)

    with pytest.raises(Conflict, match="already is a table"):
        upload(world.access(told=makes), "t", "a.csv", "a\nx\n", create=True)
    assert left(world) == {"content_rows": 0, "content_tables": 1}


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_a_json_array_is_read_in_pieces(world: Knowledge, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    table(world, j=ColumnType.JSON)
    monkeypatch.setattr(import_files, "_BLOCK", block)
    cells = [1, "]},[{", {"a": ["}", "\\", '"']}, None, -1.5e3, "ä😀"]
    upload(world.access(), "t", "a.json", json.dumps([{"j": one} for one in cells], indent=1))
    assert [row["j"] for row in rows(world.access(), "t")] == cells
    upload(world.access(), "t", "a.json", " [ ] ")
    assert len(rows(world.access(), "t")) == len(cells)


@pytest.mark.parametrize(
    ("name", "begin"), [("a.csv", 'a\n"'), ("a.csv", "a\n"), ("a.json", '[{"a":"'), ("a.json", '{"a":"')]
)
def test_a_row_has_an_end(world: Knowledge, monkeypatch: pytest.MonkeyPatch, name: str, begin: str) -> None:
    table(world, a=ColumnType.TEXT)
    monkeypatch.setattr(import_files, "LONGEST_ROW", 1_000)
    monkeypatch.setattr(import_files, "_BLOCK", 500)
    with pytest.raises(BadFields, match="more than 1,000 characters"):
        upload(world.access(), "t", name, begin + "x" * 5_000)
    assert left(world)["content_rows"] == 0
