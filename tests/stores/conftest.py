"""What the tests of stores share: a PostgreSQL server, and explained asserts in the suite, which is no test file."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.stores.places import PostgresqlPlace
from tests.stores.servers import lacking, temporary_server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The address of a running server. STANCH_NO_POSTGRES=1 skips what needs one; nothing else does."""
    if os.environ.get("STANCH_NO_POSTGRES") == "1":
        pytest.skip("STANCH_NO_POSTGRES=1: not tested on PostgreSQL")
    problem = lacking()
    if problem is not None:
        pytest.fail(f"{problem}; STANCH_NO_POSTGRES=1 skips these tests", pytrace=False)
    with temporary_server() as address:
        yield address


@pytest.fixture(scope="session")
def new_database(postgresql_server: str) -> Callable[..., PostgresqlPlace]:
    """Makes a database on each call: a copy of the one of this name, else an empty one."""
    numbers = itertools.count(1)

    def make(template: str = "template0") -> PostgresqlPlace:
        name = f"store_{next(numbers)}"
        with psycopg.connect(postgresql_server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return PostgresqlPlace(postgresql_server.replace("/postgres?", f"/{name}?"))

    return make
