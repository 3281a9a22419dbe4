"""The suite on SQLite, and what only a file can do."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from stanch.storage import engine
from stanch.storage.store import Store
from stanch.values.decision import Effect
from stanch.values.fault import BadInput, BrokenRow, StoreUnreadable
from stanch.values.records import Broken, RuleFields
from tests.stores.places import BY, Place, SqlitePlace, new_session
from tests.stores.suite import StoreSuite


class TestSqlite(StoreSuite):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return SqlitePlace(str(tmp_path / "store #1 100%.db"))

    def test_the_file_is_its_owners_alone(self, store: Store, place: SqlitePlace) -> None:
        new_session(store)
        files = [place.path, f"{place.path}-wal", f"{place.path}-shm"]
        assert [os.stat(path).st_mode & 0o777 for path in files] == [0o600] * 3

    def test_a_path_that_is_wrong_makes_no_file(self, tmp_path: Path) -> None:
        store = Store.open(f"sqlite:///{tmp_path}/gone/s.db")
        assert store.ready().problem == "the store does not exist yet; migrate it"
        with pytest.raises(StoreUnreadable, match="not there"):
            store.policy()
        with pytest.raises(StoreUnreadable, match="no such file or directory"):
            store.migrate()
        assert list(tmp_path.iterdir()) == []
        store.close()

    @pytest.mark.parametrize(
        "content", [b"this is no database at all, but a text " * 50, b"SQLite format 3\x00" + b"\xff" * 5000]
    )
    def test_a_file_that_is_no_store_is_left_alone(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "s.db"
        path.write_bytes(content)
        store = Store.open(f"sqlite:///{path}")
        for ask in (store.migrate, store.policy):
            with pytest.raises(StoreUnreadable, match=r"no SQLite database|damaged"):
                ask()
        assert not store.ready().ready
        store.close()
        assert path.read_bytes() == content

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("priority", "'high'"),
            ("priority", "1.5"),
            ("priority", "99999999999"),
            ("note", "x'00ff'"),
            ("note", "CAST(x'ff41' AS TEXT)"),
            ("tool_pattern", "CAST(x'410042' AS TEXT)"),
            ("action", "x'64656e79'"),
            ("mandatory", "'yes'"),
        ],
    )
    def test_a_column_of_another_type_breaks_its_row_alone(
        self, store: Store, place: SqlitePlace, column: str, value: str
    ) -> None:
        rule = store.create_rule(RuleFields(tool_pattern="x", action=Effect.DENY), by=BY)
        place.rows(f"UPDATE rules SET {column} = {value} WHERE id = {rule.id}")
        found = store.rules("default")
        assert isinstance(found, Broken)
        assert (found.table, found.id) == ("rules", str(rule.id))
        listed = store.list_rules(limit=500)
        assert [one.id for one in listed.items if isinstance(one, Broken)] == [str(rule.id)]
        assert len(listed.items) == listed.total
        store.update_rule(rule.id, RuleFields(tool_pattern="x", action=Effect.DENY), by=BY)
        assert not isinstance(store.rules("default"), Broken)

    def test_a_row_without_a_place_in_the_list_ends_no_page(self, store: Store, place: SqlitePlace) -> None:
        for name in "abc":
            store.create_group(name, name="", by=BY)
        place.rows("UPDATE permission_groups SET id = CAST(x'61ff' AS TEXT) WHERE id = 'a'")
        assert isinstance(store.list_groups(limit=500).items[0], Broken)
        with pytest.raises(BrokenRow, match="no place"):
            store.list_groups(limit=1)

    def test_a_rule_of_no_group_is_named(self, store: Store, place: SqlitePlace) -> None:
        rule = store.create_rule(RuleFields(tool_pattern="x", action=Effect.DENY), by=BY)
        place.rows(f"UPDATE rules SET group_id = 'defualt' WHERE id = {rule.id}")
        assert store.policy().orphans == (Broken("rules", str(rule.id), "its group does not exist"),)

    def test_a_broken_group_keeps_its_place(self, store: Store, place: SqlitePlace) -> None:
        place.rows("UPDATE permission_groups SET name = x'00'")
        (group,) = store.policy().groups
        assert group.group == Broken("permission_groups", "default", "'name' must be text, got bytes")
        assert group.id == "default"

    def test_a_reader_does_not_wait_for_a_writer(self, store: Store, place: SqlitePlace) -> None:
        with closing(sqlite3.connect(place.path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            assert store.revision() == 2

    def test_a_new_file_that_somebody_holds_is_waited_for(self, place: SqlitePlace) -> None:
        store = Store.open(place.url)
        with closing(sqlite3.connect(place.path, isolation_level=None, check_same_thread=False)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            released = threading.Timer(0.3, holder.execute, ["COMMIT"])
            released.start()
            store.migrate()
            released.join()
        assert store.ready().ready
        store.close()

    def test_a_lock_that_is_kept_is_named(
        self, store: Store, place: SqlitePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "LOCK_SECONDS", 0.05)
        hurried = Store.open(place.url)
        before = place.dump()
        with closing(sqlite3.connect(place.path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnreadable, match="locked by another process"):
                new_session(hurried)
        assert place.dump() == before
        new_session(hurried)
        hurried.close()

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "sqlite://",
            "sqlite:///:memory:",
            "sqlite:///file:x?mode=ro",
            "sqlite:///x?timeout=1",
            "sqlite:///x?.db",
            "mysql://root:hunter2@localhost/x",
            "postgresql+asyncpg://u:hunter2@h/x",
            "hunter2",
            "postgresql://u:hunter2@h:port/x",
        ],
    )
    def test_an_address_that_is_none_is_refused(self, url: str) -> None:
        with pytest.raises(BadInput, match="sqlite:///PATH") as caught:
            Store.open(url)
        assert "hunter2" not in str(caught.value)
