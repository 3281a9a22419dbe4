"""Imports of many rows: in bounded memory, and with nothing left of one whose process was killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stanch.content.table_queries import FigureGiven, FilterGiven, QueryTable, query_table
from stanch.content.tables import ListTables, list_tables
from stanch.storage.store import Store
from stanch.values.tables import Comparison, Figure
from tests.content.imported import sent
from tests.content.importing import VALUE, access, write
from tests.stores.places import Place

FEW, MANY = 20_000, 1_000_000
SECONDS = 1_200.0
MOST_MORE = 96.0
"""How many MiB an import takes besides what the process has already, whatever the number of rows."""


def process(place: Place, root: Path, count: int, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.content.importing", place.url, str(root / "a.csv"), str(count), how]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def imported(place: Place, root: Path, count: int) -> dict[str, Any]:
    """What the process says that imported so many rows, which are all there."""
    with process(place, root, count, "whole") as run:
        out, _ = run.communicate(timeout=SECONDS)
        assert run.returncode == 0
    said: dict[str, Any] = json.loads(out)
    store = Store.open(place.url)
    try:
        figures = (FigureGiven(figure=Figure.COUNT), FigureGiven(figure=Figure.MAX, column="id"))
        secret = FilterGiven(column="name", how=Comparison.CONTAINS, value=VALUE)
        found = query_table(access(store), QueryTable(table="t", figures=figures, filters=(secret,)))
        assert [one.value for one in found.figures] == [1, count]
        assert query_table(access(store), QueryTable(table="t", limit=1)).total == count == said["rows"]
    finally:
        store.close()
    return said


def killed(place: Place, root: Path, count: int) -> None:
    """Kills an import half-way; nothing of it is seen, or left after the next start."""
    with process(place, root, count, "half") as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "half\n"
        store = Store.open(place.url)
        assert place.rows("SELECT count(*) FROM content_rows")[0][0] >= count // 4
        assert list_tables(access(store), ListTables()).total == 0
        run.kill()
        run.wait(SECONDS)
    try:
        stores = access(store).stores
        assert list_tables(access(store), ListTables()).total == 0
        assert not stores.must_clear_tables(), "another process may still be at it"
        assert stores.must_clear_tables(alone=True)
        stores.clear_tables(alone=True)
        for table in ("content_rows", "content_tables"):
            assert place.rows(f"SELECT count(*) FROM {table}") == [(0,)]
        assert place.rows("SELECT state FROM content_imports") == [("failed",)]
        assert not stores.must_clear_tables(alone=True)
        write(root / "few.csv", 10)
        with (root / "few.csv").open("rb") as file:
            assert sent(access(store), "t", "a.csv", file, create=True).rows == 10
    finally:
        store.close()


def test_an_import_takes_little_memory(place: Place, tmp_path: Path) -> None:
    said = imported(place, tmp_path, FEW)
    assert said["after"] - said["before"] < MOST_MORE


def test_an_import_that_is_killed_leaves_nothing(place: Place, tmp_path: Path) -> None:
    killed(place, tmp_path, FEW)


@pytest.mark.soak
def test_a_million_rows_take_no_more_memory(place: Place, tmp_path: Path) -> None:
    said = imported(place, tmp_path, MANY)
    assert said["after"] - said["before"] < MOST_MORE


@pytest.mark.soak
def test_an_import_of_a_million_rows_that_is_killed_leaves_nothing(place: Place, tmp_path: Path) -> None:
    killed(place, tmp_path, MANY)
