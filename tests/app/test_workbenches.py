"""Workbenches: one call at a time, what is remembered when a process dies, a store or a key that is gone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stanch.app.workbench_gates import FetchGate, InsideGate, MountGate
from stanch.app.workbench_memory import Forgotten
from stanch.app.workbenches import Bench, Busy, Workbenches
from stanch.content.workbench_disk import chunks_of
from stanch.delivery.gates import RegistryGate
from stanch.delivery.workbench import MOST_PLACES
from stanch.provenance.seals import Seals
from stanch.provenance.states import UNRECORDED, WORKSPACE, Cause, Entry, Exact, Unknown
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.values.fault import BadInput, Conflict, NotFound, StoreUnreadable
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.identity import Source as Way
from stanch.values.reason import Code
from tests.app.workbench_killed import BY, ENTRY, SESSION, seals, source
from tests.stores.template import new_store

EXACT = Exact(frozenset([ENTRY]))
UNKNOWN = Unknown(Cause.INCOMPLETE)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with the session whose workbench it is."""
    made = new_store(tmp_path / "store.db")
    made.create_session(
        agent_id="coder",
        source=Way.WEB,
        principal=Principal(PrincipalKind.DELEGATED, "ada", "copilot"),
        session_id=SESSION,
        by=BY,
    )
    yield made
    made.close()


@pytest.fixture
def benches(tmp_path: Path, store: Store) -> Workbenches:
    """Workbenches on the disk of the test."""
    return Workbenches(tmp_path / "workbenches", store, seals(), patience=0.2)


def projectors(entries: object) -> Projector:
    raise AssertionError("nobody asks")


def admitted(gate: RegistryGate, name: str, provenance: Exact | Unknown) -> Code | None:
    reason = gate.admit(source(name, provenance), provenance)
    return None if reason is None else reason.code


def killed(store: Store, root: Path, when: str) -> None:
    words = [sys.executable, "-m", "tests.app.workbench_killed", store._url.render_as_string(), str(root), when]
    ended = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@pytest.mark.parametrize("when", ["known", "tainted", "copied", "running"])
def test_what_came_near_is_known_when_the_process_died(
    when: str, tmp_path: Path, store: Store, benches: Workbenches
) -> None:
    killed(store, tmp_path / "workbenches", when)
    memory, registry, entries = benches.look(SESSION)
    assert registry.entries == (ENTRY,)
    assert "/repo/e.txt" in memory.places
    assert ("u.txt" in memory.tainted or memory.running) is (when != "known")
    with benches.held(SESSION, by=BY) as bench:
        assert bench.registry.entries == (ENTRY,)
        tainted = {"known": set(), "tainted": set(), "copied": {"u.txt"}, "running": {"made", "e.txt"}}
        assert set(bench.memory.tainted) == tainted[when]
        assert bench.memory.running is False
    assert entries.keys() == {"known": set(), "tainted": {"e.txt"}, "copied": {"e.txt", "u.txt"}}.get(
        when, {"made", "e.txt"}
    )


def test_one_call_at_a_time(benches: Workbenches) -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with benches.held(SESSION, by=BY):
            inside.set()
            assert leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(30)
    with pytest.raises(Busy, match="another call"), benches.held(SESSION, by=BY):
        pass
    with pytest.raises(Busy):
        benches.clear(SESSION, by=BY)
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Busy), benches.held(SESSION, by=BY, cancelled=cancelled, patience=60.0):
        pass
    assert benches.look(SESSION)[2] == {}
    leave.set()
    thread.join()
    with benches.held(SESSION, by=BY):
        pass


def test_who_waits_takes_nothing_from_who_works(benches: Workbenches) -> None:
    """A copy that is coming stays, whoever asks for the workbench meanwhile."""

    def slowly() -> Iterator[bytes]:
        yield b"half"
        with pytest.raises(Busy), benches.held(SESSION, by=BY, patience=0.0):
            pass
        with pytest.raises(Busy):
            benches.clear(SESSION, by=BY)
        yield b"half"

    with benches.held(SESSION, by=BY) as bench:
        bench.directory.put("a", slowly(), 8)
        assert b"".join(chunks_of(bench.directory.open("a"))) == b"halfhalf"
        assert bench.directory.root.parent.stat().st_mode & 0o077 == 0


def test_nobody_writes_over_what_another_node_remembers(tmp_path: Path, store: Store, benches: Workbenches) -> None:
    """Of two nodes with disks of their own, one is told so."""
    elsewhere = Workbenches(tmp_path / "elsewhere", store, seals())
    with benches.held(SESSION, by=BY) as one, elsewhere.held(SESSION, by=BY) as other:
        one.takes(source("e.txt", EXACT))
        with pytest.raises(Conflict, match="changed meanwhile"):
            other.takes(source("c.txt", EXACT))


def test_the_gates(benches: Workbenches) -> None:
    with benches.held(SESSION, by=BY) as bench:
        assert admitted(MountGate(bench, projectors), "u.txt", UNKNOWN) is Code.CONTENT_UNKNOWN
        assert admitted(InsideGate(bench, projectors), "u.txt", UNKNOWN) is Code.CONTENT_UNKNOWN
        assert (bench.memory.places, bench.registry.entries) == (frozenset(), ())
        fetch = FetchGate(bench, projectors, "u.txt")
        assert admitted(fetch, "u.txt", UNKNOWN) is None
        assert fetch.registry.latched is Cause.INCOMPLETE
        assert bench.registry.latched is None
        assert (set(bench.memory.tainted), set(bench.memory.brought)) == ({"u.txt"}, {"file:u.txt"})
        short = Exact(frozenset([Entry("PIN", WORKSPACE, Secret("4711"))]))
        for gate in (MountGate(bench, projectors), FetchGate(bench, projectors, "s"), InsideGate(bench, projectors)):
            assert admitted(gate, "s", short) is Code.SECRET_TOO_SHORT
        assert bench.memory.places == {"/repo/u.txt"}
        assert admitted(InsideGate(bench, projectors), "e.txt", EXACT) is None
    memory, registry, _ = benches.look(SESSION)
    assert (set(memory.places), registry.entries) == ({"/repo/u.txt", "/repo/e.txt"}, (ENTRY,))


def test_a_full_history_takes_no_more_and_stays_usable(benches: Workbenches) -> None:
    with benches.held(SESSION, by=BY) as bench:
        bench.registry._most_entries = 1
        assert admitted(MountGate(bench, projectors), "e.txt", EXACT) is None
        more = Exact(frozenset([Entry("OTHER", WORKSPACE, Secret("another-secret-12"))]))
        for gate in (MountGate(bench, projectors), InsideGate(bench, projectors), FetchGate(bench, projectors, "m")):
            assert admitted(gate, "m.txt", more) is Code.REGISTRY_FULL
        assert admitted(MountGate(bench, projectors), "e.txt", EXACT) is None
        assert bench.memory.places == {"/repo/e.txt"}


def test_more_places_than_can_be_remembered(benches: Workbenches, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_PLACES >= 1_000
    monkeypatch.setattr("stanch.delivery.workbench.MOST_PLACES", 2)
    with benches.held(SESSION, by=BY) as bench:
        found = [admitted(MountGate(bench, projectors), name, Exact()) for name in ("a", "b", "c", "a")]
    assert found == [None, None, Code.REGISTRY_FULL, None]


def test_nothing_comes_in_that_cannot_be_remembered(benches: Workbenches, store: Store) -> None:
    with benches.held(SESSION, by=BY) as bench:
        store.close()
        for provenance in (EXACT, UNKNOWN):
            gate = FetchGate(bench, projectors, "x")
            with pytest.raises(StoreUnreadable):
                gate.admit(source("x", provenance), provenance)
        with pytest.raises(StoreUnreadable):
            MountGate(bench, projectors).admit(source("x", EXACT), EXACT)
        assert bench.directory.entries() == {}
    with pytest.raises(StoreUnreadable), benches.held(SESSION, by=BY):
        pass


def test_a_memory_without_its_key_is_none(tmp_path: Path, store: Store, benches: Workbenches) -> None:
    with benches.held(SESSION, by=BY) as bench:
        MountGate(bench, projectors).admit(source("e.txt", EXACT), EXACT)
        bench.directory.put("e.txt", [b"x"], 1)
    for ring in (Seals(lambda: None), seals()):
        other = Workbenches(tmp_path / "workbenches", store, ring, patience=0.0)
        if ring._ring() is None:
            with pytest.raises(Forgotten) as raised, other.held(SESSION, by=BY):
                pass
            assert raised.value.reason.code is Code.WORKBENCH_UNREADABLE
            with pytest.raises(Forgotten):
                other.look(SESSION)
        else:
            with other.held(SESSION, by=BY) as bench:
                assert bench.registry.entries == (ENTRY,)
    # Without a key nothing can be remembered, so that nothing comes in.
    fresh = Workbenches(tmp_path / "fresh", store, Seals(lambda: None))
    fresh.clear(SESSION, by=BY)
    with fresh.held(SESSION, by=BY) as bench, pytest.raises(Forgotten):
        bench.takes(source("c.txt", Exact()))


CHANGED = (
    "history = substr(history, 1, length(history) - 2) || 'AA'",
    "memory = substr(memory, 1, length(memory) - 2) || 'AA'",
    "changed_at = 'never'",
    "memory = x'ff'",
)


@pytest.mark.parametrize("changed", CHANGED)
def test_a_memory_that_was_changed_is_none(changed: str, store: Store, benches: Workbenches, tmp_path: Path) -> None:
    with benches.held(SESSION, by=BY) as bench:
        MountGate(bench, projectors).admit(source("e.txt", EXACT), EXACT)
    with store._touching() as connection:
        connection.exec_driver_sql(f"UPDATE workbenches SET {changed}")
    with pytest.raises(Forgotten), benches.held(SESSION, by=BY):
        pass
    # A person may empty it.
    benches.clear(SESSION, by=BY)
    with benches.held(SESSION, by=BY) as bench:
        assert (bench.registry.entries, bench.memory.places) == ((), frozenset())


def test_an_audit_row_holds_names_alone(benches: Workbenches, store: Store) -> None:
    with benches.held(SESSION, by=BY) as bench:
        bench.takes(source("u.txt", UNKNOWN), tainted_entry="u.txt")
        bench.directory.put("u.txt", [b"x"], 1)
        with bench.run() as tainted:
            assert tainted
            (bench.directory.files / "made-of-content").write_text("x")
        assert set(bench.memory.tainted) == {"u.txt", "made-of-content"}
    rows = [row for row in store.list_audit(limit=50).items if getattr(row, "action", "") == "workbench.keep"]
    assert len(rows) == 3
    assert "made-of-content" not in json.dumps([str(row) for row in rows])


def test_a_session_with_any_id_has_a_place_of_its_own(benches: Workbenches, store: Store, tmp_path: Path) -> None:
    places = {benches.directory(one).root for one in ("../x", "a/b", "ABCDEF01", SESSION, "x" * 500, "")}
    assert len(places) == 6
    assert all(place.parent == tmp_path / "workbenches" for place in places)
    with benches.held("nobody", by=BY) as bench, pytest.raises(NotFound):
        bench.takes(source("c.txt", Exact()))
    with pytest.raises(BadInput, match="no directory"), Workbenches(None, store, seals()).held(SESSION, by=BY):
        pass


def test_a_clean_run_writes_nothing_down(benches: Workbenches, store: Store) -> None:
    with benches.held(SESSION, by=BY) as bench:
        before = store.revision()
        with bench.run() as tainted:
            (bench.directory.files / "made").write_text("x")
        assert (tainted, store.revision()) == (False, before)


def test_an_item_without_a_path_is_remembered_by_its_name(benches: Workbenches) -> None:
    def there(bench: Bench) -> set[str]:
        return set(bench.memory.items)

    with benches.held(SESSION, by=BY) as bench:
        row = source("x", UNRECORDED)
        object.__setattr__(row, "path", None)
        assert bench.takes(row) is None
        assert there(bench) == {"file:x"}
