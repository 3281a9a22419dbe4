"""The rows of workbenches, on SQLite and PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stanch.app.workbench_clearing import Clearing
from stanch.app.workbenches import Workbenches
from stanch.storage.store import Store
from stanch.storage.workbenches import WorkbenchRows
from stanch.values.fault import BrokenRow, Conflict, NotFound
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import Actor, Broken, SessionRecord
from tests.app.workbench_killed import seals
from tests.stores.places import Place

BY = Actor("ada", "test")


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    """A store with two sessions."""
    made = Store.open(place.url)
    for session in ("one", "two"):
        made.create_session(
            agent_id="coder",
            source=Source.WEB,
            principal=Principal(PrincipalKind.DELEGATED, "ada", "copilot"),
            session_id=session,
            by=BY,
        )
    yield made
    made.close()


def test_a_row_is_kept_and_changed_by_who_has_seen_it(store: Store) -> None:
    rows = WorkbenchRows(store)
    assert rows.workbench("one") is None
    made = rows.keep_workbench("one", history=None, memory="m1", expected=0, detail={"secrets": []}, by=BY)
    assert (made.revision, made.history, made.memory) == (1, None, "m1")
    for expected in (0, 2):
        with pytest.raises(Conflict, match="changed meanwhile"):
            rows.keep_workbench("one", history="h", memory="m", expected=expected, detail={}, by=BY)
    changed = rows.keep_workbench("one", history="h2", memory="m2", expected=1, detail={}, by=BY)
    assert rows.workbench("one") == changed
    assert (changed.revision, changed.history) == (2, "h2")
    assert rows.workbench("two") is None
    assert rows.workbench("no\0thing") is None
    assert rows.forget_workbench("one", by=BY)
    assert not rows.forget_workbench("one", by=BY)
    assert rows.workbench("one") is None
    rows_kept = [row for row in store.list_audit(limit=20).items if not isinstance(row, Broken)]
    said = {(row.action, row.subject) for row in rows_kept if row.action.startswith("workbench")}
    assert said == {("workbench.clear", "one"), ("workbench.keep", "one")}


def test_there_is_none_without_its_session(store: Store) -> None:
    with pytest.raises(NotFound):
        WorkbenchRows(store).keep_workbench("three", history=None, memory="m", expected=0, detail={}, by=BY)


def test_a_row_that_cannot_be_read_is_no_empty_one(store: Store) -> None:
    rows = WorkbenchRows(store)
    rows.keep_workbench("one", history=None, memory="m1", expected=0, detail={}, by=BY)
    with store._touching() as connection:
        connection.exec_driver_sql("UPDATE workbenches SET memory = ''")
    with pytest.raises(BrokenRow):
        rows.workbench("one")


def test_sessions_are_found_by_the_names_of_their_directories(store: Store) -> None:
    def name_of(session_id: str) -> str:
        return session_id if session_id == "two" else f"x-{session_id}"

    found = WorkbenchRows(store).sessions_called(["x-one", "two", "one", "three", os.fsdecode(b"\xff")], name_of)
    assert sorted(one.id for one in found if isinstance(one, SessionRecord)) == ["one", "two"]
    assert WorkbenchRows(store).sessions_called([], name_of) == []


def test_that_of_an_ended_session_is_removed_with_its_row(store: Store, tmp_path: Path) -> None:
    benches = Workbenches(tmp_path / "workbenches", store, seals(), patience=0.2)
    for session in ("one", "two"):
        with benches.held(session, by=BY) as bench:
            bench.directory.put("notes.txt", [b"bytes"], 5)
    store.end_session("one", by=BY)
    clearing = Clearing(benches, lambda: datetime.now(UTC) + timedelta(hours=25))
    assert clearing.clear_due(timedelta(hours=24)) == ["one"]
    assert [one.id for one in benches.sessions() if isinstance(one, SessionRecord)] == ["two"]
    (row,) = (one for one in store.list_audit(action="workbench.clear").items if not isinstance(one, Broken))
    assert (row.actor, row.subject, row.detail["forgotten"]) == ("stanch", "one", False)
