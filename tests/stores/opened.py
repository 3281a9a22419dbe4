"""The fixtures that every part of the suite stands on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stanch.storage.store import Store
from tests.stores.places import Place


class OnAStore:
    """Tests of a store in some place."""

    @pytest.fixture
    def place(self) -> Place:
        """An empty place. To be given by whoever inherits."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, place: Place) -> Iterator[Store]:
        """A new store."""
        store = Store.open(place.url)
        store.migrate()
        yield store
        store.close()

    @pytest.fixture
    def other(self, place: Place, store: Store) -> Iterator[Store]:
        """The same store, as another node has it open."""
        other = Store.open(place.url)
        yield other
        other.close()
