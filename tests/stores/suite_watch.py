"""A change reaches whoever watches, on every node."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

import pytest

from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable
from tests.stores.opened import OnAStore
from tests.stores.places import BY, SECONDS, Place, new_session


def heard(revisions: queue.Queue[int], wanted: int, seconds: float = SECONDS) -> list[int]:
    """What was heard until the wanted revision came."""
    found: list[int] = []
    while not found or found[-1] != wanted:
        found.append(revisions.get(timeout=seconds))
    return found


def until(holds: Callable[[], bool]) -> None:
    """Returns when something that another thread does was done."""
    pause = threading.Event()
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        pause.wait(0.01)


class Watching(OnAStore):
    def test_a_change_reaches_another_node_within_a_second(self, store: Store, other: Store) -> None:
        revisions: queue.Queue[int] = queue.Queue()
        with other.watch(revisions.put) as watch:
            for _ in range(3):
                new_session(store)
                heard(revisions, store.revision(), seconds=1.0)
            assert watch.problem is None
        new_session(store)
        with pytest.raises(queue.Empty):
            revisions.get(timeout=0.7)

    def test_a_change_of_ones_own_is_heard_at_once(self, store: Store) -> None:
        revisions: queue.Queue[int] = queue.Queue()
        with store.watch(revisions.put, interval=1000):
            new_session(store)
            assert heard(revisions, store.revision()) == [store.revision()]

    def test_a_refused_change_is_no_news(self, store: Store) -> None:
        revisions: queue.Queue[int] = queue.Queue()
        with store.watch(revisions.put, interval=0.05):
            for _ in range(3):
                with pytest.raises(Exception, match="default"):
                    store.delete_group("default", by=BY)
            new_session(store)
            assert heard(revisions, store.revision()) == [store.revision()]

    def test_a_listener_that_fails_is_told_again(self, store: Store) -> None:
        told: queue.Queue[int] = queue.Queue()
        failing = threading.Event()
        failing.set()

        def listen(revision: int) -> None:
            told.put(revision)
            if failing.is_set():
                raise RuntimeError("a secret")

        with store.watch(listen, interval=0.05) as watch:
            new_session(store)
            assert told.get(timeout=SECONDS) == told.get(timeout=SECONDS) == store.revision()
            assert watch.problem == "the listener failed with RuntimeError"
            failing.clear()
            until(lambda: watch.problem is None)

    def test_a_watch_of_a_store_that_went_away_says_so_and_goes_on(self, store: Store, place: Place) -> None:
        revisions: queue.Queue[int] = queue.Queue()
        with store.watch(revisions.put, interval=0.05) as watch:
            place.rows("ALTER TABLE store_state RENAME TO gone")
            until(lambda: "missing" in str(watch.problem))
            place.rows("ALTER TABLE gone RENAME TO store_state")
            new_session(store)
            heard(revisions, store.revision())
            until(lambda: watch.problem is None)

    def test_closing_a_store_ends_its_watches(self, store: Store) -> None:
        before = threading.active_count()
        watches = [store.watch(print, interval=1000) for _ in range(3)]
        assert threading.active_count() > before
        store.close()
        assert threading.active_count() == before
        assert not any(watch.running for watch in watches)

    def test_a_watch_may_end_itself(self, store: Store) -> None:
        ended = threading.Event()

        def listen(_: int) -> None:
            watch.stop()
            ended.set()

        watch = store.watch(listen)
        new_session(store)
        assert ended.wait(SECONDS)
        watch.stop()
        assert not watch.running

    def test_a_store_that_cannot_be_read_cannot_be_watched(self, place: Place) -> None:
        store = Store.open(place.url)
        with pytest.raises(StoreUnreadable):
            store.watch(print)
        store.close()
