"""What was read from the store is given again until somebody changes anything, and never while nobody could tell."""

from __future__ import annotations

from typing import Any, cast

from stanch.app.remembered import Remembered
from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable


class Watching:
    def __init__(self) -> None:
        self.running, self.problem = True, None  # type: bool, str | None

    def stop(self) -> None:
        self.running = False


class Changing:
    """A store that changes when a test says so, and is heard of when a test says so."""

    def __init__(self) -> None:
        self.changes, self.watching, self.fails = 0, Watching(), False
        self.told: Any = None

    def watch(self, told: Any) -> Watching:
        if self.fails:
            raise StoreUnreadable("away")
        self.told = told
        return self.watching


def asked(store: Changing, seconds: float = 60.0) -> tuple[Remembered, list[int], Any]:
    remembered, reads = Remembered(cast(Store, store), seconds), list[int]()

    def read() -> int:
        reads.append(1)
        return len(reads)

    def ask() -> int:
        return remembered.get("key", read)

    return remembered, reads, ask


def test_it_is_read_once() -> None:
    _, reads, ask = asked(Changing())
    assert [ask(), ask(), ask()] == [1, 1, 1]
    assert len(reads) == 1


def test_a_change_through_this_process_counts_before_it_is_told() -> None:
    store = Changing()
    _, _, ask = asked(store)
    assert ask() == 1
    store.changes += 1
    assert [ask(), ask()] == [2, 2]


def test_a_change_of_another_process_counts_once_it_is_told() -> None:
    store = Changing()
    _, _, ask = asked(store)
    assert ask() == 1
    store.told(7)
    assert [ask(), ask()] == [2, 2]


def test_nothing_is_remembered_while_nobody_listens() -> None:
    store = Changing()
    _, _, ask = asked(store)
    ask()
    store.watching.problem = "away"
    assert [ask(), ask()] == [2, 3]
    store.watching.problem = None
    store.watching.running, store.fails = False, True
    assert [ask(), ask()] == [4, 5]


def test_a_change_while_it_is_read() -> None:
    store = Changing()
    remembered, reads, ask = asked(store)

    def read() -> int:
        store.told(7)
        return 0

    assert remembered.get("key", read) == 0
    assert ask() == 1
    assert reads == [1]


def test_it_is_read_again_after_a_while() -> None:
    _, _, ask = asked(Changing(), seconds=0.0)
    assert [ask(), ask()] == [1, 2]
