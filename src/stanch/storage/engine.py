"""Connections to the database.

Settles which databases there are and how each connection is set up. Does not settle what is asked over it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from stanch.values.fault import BadInput

LOCK_SECONDS = 10
WRITES = "stanch_writes"
_POSTGRESQL_NAMES = ("postgresql", "postgres", "postgresql+psycopg")
_EXPECTED = "write sqlite:///PATH or postgresql://USER@HOST/DATABASE"


def url_of(text: str) -> URL:
    """The address of a database. Raises `BadInput` for one that no store can be in; a password stays out of it."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise BadInput(f"the address of the store cannot be read: {_EXPECTED}") from None
    if url.drivername in _POSTGRESQL_NAMES:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise BadInput(f"no store can be kept in {url.drivername}: {_EXPECTED}")
    path = url.database
    if not path or path.startswith((":", "file:")) or "?" in text or url.host:
        raise BadInput(f"a store is kept in a file, named without options: {_EXPECTED}")
    return url.set(drivername="sqlite", database=os.path.abspath(path))


def engine_for(url: URL) -> Engine:
    """The engine of an address made by `url_of`. It connects when it is first asked."""
    if url.drivername == "sqlite":
        engine = create_engine(url, hide_parameters=True, creator=lambda: _sqlite(url))
        event.listen(engine, "begin", _begin)
        return engine
    given = url.query
    patience = {
        "connect_timeout": LOCK_SECONDS,
        "tcp_user_timeout": LOCK_SECONDS * 1000,
        "keepalives_idle": LOCK_SECONDS,
        "application_name": "stanch",
    }
    arguments = {key: value for key, value in patience.items() if key not in given}
    engine = create_engine(url, hide_parameters=True, pool_pre_ping=True, connect_args=arguments)
    event.listen(engine, "connect", _limits)
    return engine


def make_file(url: URL) -> None:
    """Makes the file of an SQLite store, for its owner alone, if it is not there. Raises `OSError`."""
    if url.drivername == "sqlite":
        os.close(os.open(str(url.database), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def has_file(url: URL) -> bool:
    """False for an SQLite store whose file is not there."""
    return url.drivername != "sqlite" or os.path.exists(str(url.database))


def _sqlite(url: URL) -> sqlite3.Connection:
    # WHY: never made by being opened: a mistyped path is an error, not an empty store without a rule.
    path = str(url.database).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(
        f"file:{path}?mode=rw", uri=True, isolation_level=None, check_same_thread=False, timeout=LOCK_SECONDS
    )
    # WHY: text that is no UTF-8 has to reach the reader of its row, which says so; sqlite3 would fail the whole query.
    connection.text_factory = _text
    try:
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Has changes written ahead of the file, which is done once in a file's life.

    WHY tries: where another connection is about to write, SQLite refuses this at once, whatever its timeout.
    """
    pause, end = threading.Event(), time.monotonic() + LOCK_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            pause.wait(0.01)
        else:
            return


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _begin(connection: Connection) -> None:
    # WHY: a transaction that reads first and writes later fails at once where another writer got in between, so
    # writers take the lock before they look.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _limits(connection: Any, _: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{6 * LOCK_SECONDS}s'")
    connection.commit()
