"""What the tests of content share: a place for a store in each database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stores.conftest import new_database, postgresql_server
from tests.stores.places import Place, PostgresqlPlace, SqlitePlace

__all__ = ["new_database", "postgresql_server"]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place, in each database."""
    if request.param == "sqlite":
        return SqlitePlace(str(tmp_path / "store.db"))
    make: Callable[[], PostgresqlPlace] = request.getfixturevalue("new_database")
    return make()
