"""The rows of workbenches, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stanch.storage.store import Store
from stanch.storage.workbenches import WorkbenchRows
from stanch.values.fault import BrokenRow, Conflict, NotFound
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import Actor, Broken
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
