"""What the tests of content share: a place for a store in each database, migrated already."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from stanch.storage.store import Store
from tests.stores.conftest import postgresql_server
from tests.stores.places import Place, PostgresqlPlace, SqlitePlace
from tests.stores.template import new_file

__all__ = ["postgresql_server"]


@pytest.fixture(scope="session")
def migrated_database(postgresql_server: str) -> Callable[[], PostgresqlPlace]:
    """Makes a database on each call, a copy of one that was migrated. WHY: that takes longer than most tests."""
    numbers = itertools.count(1)

    def made(name: str, template: str) -> PostgresqlPlace:
        with psycopg.connect(postgresql_server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return PostgresqlPlace(postgresql_server.replace("/postgres?", f"/{name}?"))

    store = Store.open(made("content_template", "template0").url)
    store.migrate()
    store.close()
    return lambda: made(f"content_{next(numbers)}", "content_template")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The place of a new store, in each database."""
    if request.param == "sqlite":
        new_file(tmp_path / "store.db")
        return SqlitePlace(str(tmp_path / "store.db"))
    make: Callable[[], PostgresqlPlace] = request.getfixturevalue("migrated_database")
    return make()
