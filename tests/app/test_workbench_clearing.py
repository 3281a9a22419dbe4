"""Workbenches of ended sessions: which are removed, when, by whom, and what is left where a process dies on the way."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stanch.app.workbench_clearing import Clearing
from stanch.app.workbenches import Busy, Workbenches, directory_name
from stanch.host.locking import Lock
from stanch.provenance.states import Cause, Exact, Unknown
from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.identity import Source as Way
from stanch.values.records import AuditRecord
from tests.app.workbench_killed import BY, ENTRY, SESSION, seals, source
from tests.http.served import until
from tests.stores.template import new_store

AFTER = timedelta(hours=24)
LATER = datetime.now(UTC) + timedelta(hours=25)
AGENT = Principal(PrincipalKind.DELEGATED, "ada", "copilot")
CALL = "call_0123456789abcdef"


def opened(store: Store, session_id: str, **fields: Any) -> None:
    store.create_session(agent_id="coder", source=Way.WEB, principal=AGENT, session_id=session_id, by=BY, **fields)


def filled(benches: Workbenches, session_id: str = SESSION) -> Path:
    """The directory of a workbench with a secret and a taint in it."""
    with benches.held(session_id, by=BY) as bench:
        bench.registry.admit(Exact(frozenset([ENTRY])))
        bench.takes(source("e.txt", Exact(frozenset([ENTRY]))))
        bench.directory.put("d/e.txt", [b"bytes"], 5)
        bench.takes(source("u.txt", Unknown(Cause.INCOMPLETE)), tainted_entry="u.txt")
        bench.directory.put("u.txt", [b"bytes"], 5)
        return bench.directory.root


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = new_store(tmp_path / "store.db")
    opened(made, SESSION)
    yield made
    made.close()


@pytest.fixture
def benches(tmp_path: Path, store: Store) -> Workbenches:
    return Workbenches(tmp_path / "workbenches", store, seals(), patience=0.2)


@pytest.fixture
def clearing(benches: Workbenches) -> Clearing:
    """At work a day and an hour from now."""
    return Clearing(benches, lambda: LATER)


def rows(store: Store) -> list[AuditRecord]:
    """What the audit log says of workbenches that were cleared."""
    found = store.list_audit(action="workbench.clear", limit=100).items
    return [row for row in found if isinstance(row, AuditRecord)]


def test_one_of_an_ended_session_goes_with_its_directory(
    store: Store, benches: Workbenches, clearing: Clearing
) -> None:
    place = filled(benches)
    assert clearing.clear_due(AFTER) == []
    store.end_session(SESSION, by=BY)
    assert clearing.clear_due(AFTER) == [SESSION]
    assert not place.exists()
    assert benches.look(SESSION)[1].entries == ()
    assert benches.look(SESSION)[0].places == frozenset()
    (row,) = rows(store)
    assert (row.actor, row.surface, row.subject, row.detail["forgotten"]) == ("stanch", "clock", SESSION, True)
    assert clearing.clear_due(AFTER) == []
    assert len(rows(store)) == 1


def test_not_before_its_time(store: Store, benches: Workbenches) -> None:
    place = filled(benches)
    store.end_session(SESSION, by=BY)
    for now in (datetime.now(UTC), LATER - timedelta(hours=2), datetime.now(UTC) - timedelta(days=400)):
        assert Clearing(benches, lambda now=now: now).clear_due(AFTER) == []  # type: ignore[misc]
    assert (place / "files" / "u.txt").exists()


def test_a_living_session_keeps_it_whatever_its_parent_does(
    store: Store, benches: Workbenches, clearing: Clearing
) -> None:
    opened(store, "beef" * 4, parent_id=SESSION)
    mine, below = filled(benches), filled(benches, "beef" * 4)
    store.end_session("beef" * 4, by=BY)
    assert clearing.clear_due(AFTER) == ["beef" * 4]
    assert (mine.exists(), below.exists()) == (True, False)


def test_an_output_that_nobody_has_read_keeps_all_of_it(store: Store, benches: Workbenches, clearing: Clearing) -> None:
    place = filled(benches)
    outputs = benches.outputs(SESSION)
    outputs.keep(CALL, "what was printed")
    store.end_session(SESSION, by=BY)
    assert outputs.calls() == (CALL,)
    assert clearing.clear_due(AFTER) == []
    assert benches.look(SESSION)[1].entries == (ENTRY,)
    assert outputs.read(CALL) == "what was printed"
    outputs.keep(CALL, "and something else")
    assert clearing.clear_due(AFTER) == []
    assert outputs.read(CALL) == "and something else"
    assert clearing.clear_due(AFTER) == [SESSION]
    assert not place.exists()


def test_outputs_that_cannot_be_listed_keep_it(store: Store, benches: Workbenches, clearing: Clearing) -> None:
    place = filled(benches)
    store.end_session(SESSION, by=BY)
    (place / "outputs").write_text("no folder")
    with pytest.raises(StoreUnreadable):
        benches.outputs(SESSION).unread()
    assert clearing.clear_due(AFTER) == []
    assert (place / "files" / "u.txt").exists()


def test_one_that_is_used_stays(store: Store, benches: Workbenches, clearing: Clearing) -> None:
    """A run that was under way when its session ended, and an output that it leaves."""
    place = filled(benches)
    with benches.held(SESSION, by=BY):
        store.end_session(SESSION, by=BY)
        assert clearing.clear_due(AFTER) == []
        benches.outputs(SESSION).keep(CALL, "late")
    assert clearing.clear_due(AFTER) == []
    assert place.exists()


def test_no_link_is_followed(store: Store, benches: Workbenches, clearing: Clearing, tmp_path: Path) -> None:
    place, outside = filled(benches), tmp_path / "outside"
    (outside / "below").mkdir(parents=True)
    (outside / "below" / "kept").write_text("kept")
    outside.chmod(0o755)
    deep = place / "files"
    for _ in range(100):
        deep /= "d"
        deep.mkdir(exist_ok=True)
    for at in (place / "files" / "way", deep / "way", place / "way", place / "files" / "d" / "e"):
        at.symlink_to(outside, target_is_directory=True)
    (place / "files" / "file").symlink_to(outside / "below" / "kept")
    (place / "files" / "closed").mkdir(mode=0)
    # A directory that is none, and one that is called like no session: both stay.
    (place.parent / ("cafe" * 4)).symlink_to(outside, target_is_directory=True)
    (place.parent / ("f00d" * 4)).mkdir()
    opened(store, "cafe" * 4)
    store.end_session("cafe" * 4, by=BY)
    store.end_session(SESSION, by=BY)
    assert clearing.clear_due(AFTER) == [SESSION]
    assert (outside / "below" / "kept").read_text() == "kept"
    assert outside.stat().st_mode & 0o777 == 0o755
    assert [one.name for one in outside.iterdir()] == ["below"]
    assert {one.name for one in place.parent.iterdir()} == {"cafe" * 4, "f00d" * 4}


def test_a_session_with_any_id(store: Store, benches: Workbenches, clearing: Clearing) -> None:
    odd = ["../x", "a/b", "ABCDEF01", "x" * 400, directory_name("a/b"), "ist-aus\u202e"]
    for one in odd:
        opened(store, one)
        filled(benches, one)
        if one != "a/b":
            store.end_session(one, by=BY)
    assert {one.id for one in benches.sessions()} == set(odd)
    assert set(clearing.clear_due(AFTER)) == set(odd) - {"a/b"}
    assert benches.look("a/b")[1].entries == (ENTRY,)


def test_a_session_that_cannot_be_read_keeps_it(store: Store, benches: Workbenches, clearing: Clearing) -> None:
    place = filled(benches)
    store.end_session(SESSION, by=BY)
    with store._touching() as connection:
        connection.exec_driver_sql("UPDATE sessions SET ended_at = 'long ago'")
    assert clearing.clear_due(AFTER) == []
    assert place.exists()


def test_a_memory_that_cannot_be_read_goes_too(store: Store, benches: Workbenches, clearing: Clearing) -> None:
    place = filled(benches)
    store.end_session(SESSION, by=BY)
    with store._touching() as connection:
        connection.exec_driver_sql("UPDATE workbenches SET memory = 'AAAA'")
    assert clearing.clear_due(AFTER) == [SESSION]
    assert not place.exists()


def test_what_is_remembered_stays_where_its_bytes_are_not_here(
    store: Store, benches: Workbenches, tmp_path: Path
) -> None:
    """A node without the directory that all share knows nothing of the bytes."""
    filled(benches)
    store.end_session(SESSION, by=BY)
    elsewhere = Workbenches(tmp_path / "elsewhere", store, seals())
    assert Clearing(elsewhere, lambda: LATER).clear_due(AFTER) == []
    assert Clearing(Workbenches(None, store, seals()), lambda: LATER).clear_due(AFTER) == []
    assert benches.look(SESSION)[1].entries == (ENTRY,)


def test_bytes_that_stay_are_remembered(
    store: Store, benches: Workbenches, clearing: Clearing, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(benches)
    opened(store, "beef" * 4)
    filled(benches, "beef" * 4)
    for one in (SESSION, "beef" * 4):
        store.end_session(one, by=BY)

    def refusing(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("os.unlink", refusing)
        assert clearing.clear_due(AFTER) == []
    assert benches.look(SESSION)[1].entries == (ENTRY,)
    assert benches.look(SESSION)[0].is_tainted
    assert set(clearing.clear_due(AFTER)) == {SESSION, "beef" * 4}


@pytest.mark.parametrize("when", ["bytes", "cleared", "row", "lock"])
def test_a_process_that_dies_on_the_way(when: str, store: Store, benches: Workbenches, clearing: Clearing) -> None:
    place = filled(benches)
    store.end_session(SESSION, by=BY)
    words = [
        sys.executable,
        "-m",
        "tests.app.workbench_cleared",
        store._url.render_as_string(),
        str(place.parent),
        when,
    ]
    ended = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    memory, registry, entries = benches.look(SESSION)
    known = bool(registry.entries) and memory.is_tainted
    assert known is (when in ("bytes", "cleared"))
    assert known or not entries
    assert bool(rows(store)) is not known
    assert clearing.clear_due(AFTER) == [SESSION]
    assert not place.exists()
    assert benches.look(SESSION)[1].entries == ()
    assert 1 <= len(rows(store)) <= 2


def test_of_several_nodes_one_removes_it(store: Store, benches: Workbenches, tmp_path: Path) -> None:
    ids = [f"{at:016x}" for at in range(20)]
    for one in ids:
        opened(store, one)
        filled(benches, one)
        store.end_session(one, by=BY)
    found: list[str] = []
    gate = threading.Barrier(4)

    def clear() -> None:
        mine = Clearing(Workbenches(tmp_path / "workbenches", store, seals()), lambda: LATER)
        gate.wait(30)
        found.extend(mine.clear_due(AFTER))

    threads = [threading.Thread(target=clear) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == ids
    assert sorted(row.subject for row in rows(store)) == ids
    assert list((tmp_path / "workbenches").iterdir()) == []


def test_whoever_waits_for_it_has_a_new_one(
    store: Store, benches: Workbenches, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = filled(benches)
    store.end_session(SESSION, by=BY)
    waits, found = threading.Event(), []

    class Waiting(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.set()
            return super().wait(timeout)

    def wait() -> None:
        with benches.held(SESSION, by=BY, cancelled=Waiting(), patience=30.0) as bench:
            found.append((bench.registry.entries, bench.look(), (place / "lock").exists()))

    waiting = threading.Thread(target=wait)
    forget = benches._memories.forget

    def slowly(session_id: str, **given: Any) -> None:
        waiting.start()
        assert waits.wait(30)
        forget(session_id, **given)

    monkeypatch.setattr(benches._memories, "forget", slowly)
    assert benches.retire(SESSION, goes=lambda _: True, by=BY)
    waiting.join(30)
    assert found == [((), {}, True)]


def test_a_disk_that_keeps_what_is_held_until_it_is_let_go(
    store: Store, benches: Workbenches, clearing: Clearing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As disks over a network do: what is removed while somebody has it open stays under another name."""
    root = filled(benches)
    store.end_session(SESSION, by=BY)
    unlink, release, kept = Path.unlink, Lock.release, root / ".nfs0001"

    def renamed(path: Path, missing_ok: bool = False) -> None:
        if path == root / "lock":
            path.rename(kept)
        else:
            unlink(path, missing_ok)

    def lets_go(lock: Lock) -> None:
        release(lock)
        unlink(kept, missing_ok=True)

    monkeypatch.setattr(Path, "unlink", renamed)
    monkeypatch.setattr(Lock, "release", lets_go)
    assert clearing.clear_due(AFTER) == [SESSION]
    assert not root.exists()
    assert clearing.clear_due(AFTER) == []
    assert [row.action for row in rows(store)].count("workbench.clear") == 1


def test_a_lock_that_lost_its_name_is_not_taken(benches: Workbenches, monkeypatch: pytest.MonkeyPatch) -> None:
    place = filled(benches)
    monkeypatch.setattr("stanch.host.locking.Lock.stands", property(lambda _: False))
    with pytest.raises(Busy), benches.held(SESSION, by=BY, patience=0.0):
        pass
    assert not benches.retire(SESSION, goes=lambda _: True, by=BY)
    assert (place / "files" / "u.txt").exists()


def test_it_is_looked_for_in_the_background(store: Store, benches: Workbenches, clearing: Clearing) -> None:
    place = filled(benches)
    store.end_session(SESSION, by=BY)
    session = store.get_session(SESSION)
    assert clearing.goes_at(session) is None
    clearing.start(0)
    assert clearing.goes_at(session) is None
    clearing.start(24)
    try:
        until(lambda: not place.exists(), "the removal")
        assert session.ended_at is not None
        assert clearing.goes_at(session) == session.ended_at + AFTER
    finally:
        clearing.stop()
        clearing.stop()


def test_a_store_that_is_away_ends_nothing(
    store: Store, benches: Workbenches, clearing: Clearing, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = filled(benches)
    store.end_session(SESSION, by=BY)
    asked = threading.Event()
    found: Callable[[], Any] = benches.sessions

    def away() -> Any:
        if not asked.is_set():
            asked.set()
            raise StoreUnreadable("it is away")
        return found()

    monkeypatch.setattr(benches, "sessions", away)
    monkeypatch.setattr("stanch.app.workbench_clearing._TICK_SECONDS", 0.01)
    clearing.start(24)
    try:
        until(lambda: not place.exists(), "the removal")
    finally:
        clearing.stop()
