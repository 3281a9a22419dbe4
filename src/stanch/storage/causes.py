"""What a database's error means, in a few words.

Settles how every error of a driver becomes a `StoreUnreadable`. INVARIANT: no statement, no parameter and no driver's
message gets into it, since any of them may hold what was being stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError, ResourceClosedError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from stanch.values.fault import StoreUnreadable

_SQLITE = {
    "SQLITE_BUSY": "it is locked by another process",
    "SQLITE_LOCKED": "it is locked by another connection",
    "SQLITE_NOTADB": "the file is no SQLite database",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_CANTOPEN": "the file is not there, or cannot be opened",
    "SQLITE_READONLY": "the file cannot be written",
    "SQLITE_PERM": "access to the file is refused",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk failed",
    "SQLITE_ERROR": "a table or a column is missing; migrate the store",
    "SQLITE_CONSTRAINT": "a row does not fit the others",
}
# By the first five, else the first two characters of an SQLSTATE.
_POSTGRESQL = {
    "42P01": "a table is missing; migrate the store",
    "42703": "a column is missing; migrate the store",
    "42501": "a permission is missing",
    "3D000": "there is no such database",
    "55P03": "it is locked by another connection",
    "57014": "it took too long",
    "25006": "it is read-only",
    "08": "the connection failed",
    "23": "a row does not fit the others",
    "28": "the login was refused",
    "40": "another change got in between",
    "53": "the server is out of resources",
    "57": "the server closed the connection",
    "58": "the server's disk failed",
    "XX": "the data is damaged",
}


def cause(error: BaseException) -> str:
    """Why a database refused, in a few words that hold nothing of what was asked."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        error = error.orig
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", None) or "an error without a name"
        return _SQLITE.get("_".join(name.split("_")[:2]), f"SQLite reports {name}")
    if isinstance(error, psycopg.Error):
        state = error.sqlstate
        if state is None:
            return "the server cannot be reached" if isinstance(error, psycopg.OperationalError) else "it refused"
        return _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2]) or f"PostgreSQL reports {state}"
    if isinstance(error, PoolExhausted):
        return "every connection is in use"
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    if isinstance(error, ResourceClosedError):
        return "the connection was closed"
    return f"it failed with {type(error).__name__}"


@contextmanager
def translated() -> Iterator[None]:
    """Turns what a database raises within the block into `StoreUnreadable`."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, psycopg.Error, OSError) as error:
        # WHY: from None: the driver's error holds the statement and its parameters.
        raise StoreUnreadable(f"the store cannot be used: {cause(error)}") from None
