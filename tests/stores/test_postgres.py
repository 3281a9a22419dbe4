"""The suite on PostgreSQL, and what only a server can do."""

from __future__ import annotations

import queue
from collections.abc import Callable

import pytest

from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable
from tests.stores.places import BY, Place, PostgresqlPlace, new_session
from tests.stores.suite import StoreSuite
from tests.stores.suite_messages import said
from tests.stores.suite_watch import heard, until

TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
LISTENING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"


class TestPostgresql(StoreSuite):
    @pytest.fixture
    def place(self, new_database: Callable[[], PostgresqlPlace]) -> Place:
        return new_database()

    def test_a_notice_reaches_another_node_at_once(self, store: Store, other: Store) -> None:
        revisions: queue.Queue[int] = queue.Queue()
        with other.watch(revisions.put, interval=1000) as watch:
            self.wait_for_an_ear(watch.ring, revisions, store)
            new_session(store)
            heard(revisions, store.revision(), seconds=1.0)

    def test_a_notice_of_messages_reaches_another_node_at_once(self, store: Store, other: Store, place: Place) -> None:
        session, numbers = new_session(store).id, queue.Queue[int]()
        with other.watch_messages(numbers.put, interval=1000):
            until(lambda: place.rows(f"{LISTENING} AND query LIKE '%messages'") == [(1,)])
            for _ in range(3):
                store.add_message(session, said("a"))
                heard(numbers, store.newest_message(), seconds=1.0)

    def test_the_ear_comes_back_after_it_was_cut_off(self, store: Store, other: Store, place: Place) -> None:
        revisions: queue.Queue[int] = queue.Queue()
        with other.watch(revisions.put) as watch:
            for _ in range(3):
                assert place.rows(TERMINATE), "nobody was connected"
                new_session(store)
                heard(revisions, store.revision(), seconds=1.0)
            new_session(store)
            heard(revisions, store.revision(), seconds=1.0)
            assert watch.problem is None

    def test_a_store_outlives_its_connections(self, store: Store, place: Place) -> None:
        for _ in range(3):
            place.rows(TERMINATE)
            assert store.ready().ready
            place.rows(TERMINATE)
            store.create_project(name="p", by=BY)

    def test_a_server_that_is_gone_is_not_an_empty_store(self) -> None:
        for url in (
            "postgresql://stanch:hunter2@127.0.0.1:9/x?connect_timeout=2",
            "postgresql://stanch:hunter2@/x?host=/nowhere",
        ):
            store = Store.open(url)
            assert store.ready().problem == "the store cannot be used: the server cannot be reached"
            with pytest.raises(StoreUnreadable, match="cannot be reached"):
                store.list_groups()
            store.close()

    def test_a_database_that_is_not_there_is_named_as_such(self, place: PostgresqlPlace) -> None:
        store = Store.open(place.url.replace("store_", "nothing_"))
        with pytest.raises(StoreUnreadable):
            store.migrate()
        store.close()

    @staticmethod
    def wait_for_an_ear(ring: Callable[[], None], revisions: queue.Queue[int], store: Store) -> None:
        """Returns once a first notice, or the ear's own first ring, was heard."""
        new_session(store)
        ring()
        heard(revisions, store.revision())
