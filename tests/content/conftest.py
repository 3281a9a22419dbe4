"""What the tests of content share: a place for a store in each database, migrated already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stanch.storage.store import Store
from tests.stores.conftest import new_database, postgresql_server
from tests.stores.places import Place, PostgresqlPlace, SqlitePlace
from tests.stores.template import new_file

__all__ = ["new_database", "postgresql_server"]


@pytest.fixture(scope="session")
def migrated_database(new_database: Callable[..., PostgresqlPlace]) -> Callable[[], PostgresqlPlace]:
    """Makes a database on each call, a copy of one that was migrated. WHY: that takes longer than most tests."""
    template = new_database()
    store = Store.open(template.url)
    store.migrate()
    store.close()
    name = template.url.partition("?")[0].rpartition("/")[2]
    return lambda: new_database(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The place of a new store, in each database."""
    if request.param == "sqlite":
        new_file(tmp_path / "store.db")
        return SqlitePlace(str(tmp_path / "store.db"))
    make: Callable[[], PostgresqlPlace] = request.getfixturevalue("migrated_database")
    return make()
