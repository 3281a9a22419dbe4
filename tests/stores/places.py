"""Where a store under test lies, and the way past the store to what is really there."""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import psycopg

from stanch.storage.store import Store
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import Actor, SessionRecord

BY = Actor("ada", "test")
PERSON = Principal(PrincipalKind.USER, "ada")
SECONDS = 30.0
TABLES = (
    "store_state",
    "permission_groups",
    "rules",
    "sessions",
    "projects",
    "tickets",
    "scheduled_jobs",
    "tokens",
    "audit",
    "nodes",
    "turns",
    "messages",
    "call_results",
    "job_runs",
    "vault_secrets",
    "vault_values",
)


class Place(ABC):
    """An empty place for one store. Statements go to the database as any client would send them."""

    url: str

    @abstractmethod
    def each(self, *statements: str) -> list[list[tuple[Any, ...]]]:
        """Runs statements without the store, each by itself; returns the rows of each that has any."""

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Runs a statement without the store; returns its rows, if it has any."""
        return self.each(statement)[0]

    @abstractmethod
    def refuse(self, table: str, event: str, condition: str) -> None:
        """Makes the database refuse `INSERT`, `UPDATE` or `DELETE` of rows that fit a condition on NEW or OLD."""

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that is stored."""
        found = self.each(*(f"SELECT * FROM {table}" for table in TABLES))
        return {table: sorted(rows, key=repr) for table, rows in zip(TABLES, found, strict=True)}


class SqlitePlace(Place):
    """A file."""

    def __init__(self, path: str) -> None:
        self.path, self.url = path, f"sqlite:///{path}"

    def each(self, *statements: str) -> list[list[tuple[Any, ...]]]:
        with closing(sqlite3.connect(self.path, timeout=SECONDS, isolation_level=None)) as connection:
            return [connection.execute(statement).fetchall() for statement in statements]

    def refuse(self, table: str, event: str, condition: str) -> None:
        self.rows(
            f"CREATE TRIGGER refused BEFORE {event} ON {table} WHEN {condition}"
            " BEGIN SELECT RAISE(ABORT, 'refused by a test'); END"
        )


class PostgresqlPlace(Place):
    """A database of its own on a server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def each(self, *statements: str) -> list[list[tuple[Any, ...]]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursors = [connection.execute(statement) for statement in statements]
            return [list(cursor.fetchall()) if cursor.description else [] for cursor in cursors]

    def refuse(self, table: str, event: str, condition: str) -> None:
        self.rows(
            "CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'refused by a test'; END $$"
        )
        self.rows(
            f"CREATE TRIGGER refused BEFORE {event} ON {table}"
            f" FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION refused()"
        )


def new_session(store: Store, **fields: Any) -> SessionRecord:
    """A session that needs nothing said."""
    given: dict[str, Any] = {"agent_id": "coder", "source": Source.WEB, "principal": PERSON, "by": BY, **fields}
    return store.create_session(**given)


def together(*works: Callable[[], Any]) -> list[Any]:
    """Runs all at the same time; returns what each returned or raised, in order."""
    start = threading.Barrier(len(works))
    ended: list[Any] = [None] * len(works)

    def run(at: int, work: Callable[[], Any]) -> None:
        start.wait(SECONDS)
        try:
            ended[at] = work()
        except Exception as error:
            ended[at] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    return ended


def all_of(list_page: Callable[..., Any], **filters: Any) -> Sequence[Any]:
    """Every item of a list, page by page."""
    found, cursor = [], None
    while True:
        page = list_page(limit=3, cursor=cursor, **filters)
        found += page.items
        if page.next is None:
            return found
        cursor = page.next
