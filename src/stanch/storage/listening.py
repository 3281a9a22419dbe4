"""Hearing PostgreSQL's notices of changes.

Settles how a notice rings, and that the ear comes back after it was cut off. Does not settle what changed: a notice
may be lost, so whoever listens looks for himself from time to time (`watching`).
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable

import psycopg
from sqlalchemy import URL

from stanch.storage.engine import LOCK_SECONDS


class Ear:
    """A thread with a connection of its own that rings on each notice of a channel, and after each new connection."""

    def __init__(self, url: URL, channel: str, ring: Callable[[], None], retry: float) -> None:
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._channel, self._ring, self._retry = channel, ring, retry
        self._stopped = threading.Event()
        self._woken, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="stanch-listen", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and its connection. Safe to repeat."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._wake.send(b".")
        self._thread.join(3 * LOCK_SECONDS)
        self._wake.close()
        if not self._thread.is_alive():
            self._woken.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._listen()
            except (psycopg.Error, OSError):
                # The watch goes on by looking; this only makes it slower, until the server is back.
                self._stopped.wait(self._retry)

    def _listen(self) -> None:
        with (
            psycopg.connect(self._address, autocommit=True, connect_timeout=LOCK_SECONDS) as connection,
            selectors.DefaultSelector() as selector,
        ):
            connection.execute(f"LISTEN {self._channel}")
            self._ring()
            selector.register(self._woken, selectors.EVENT_READ)
            selector.register(connection, selectors.EVENT_READ)
            while not self._stopped.is_set():
                selector.select()
                if not self._stopped.is_set():
                    # Several notices are one ring: what counts is the revision that is then found.
                    for _ in connection.notifies(timeout=0):
                        pass
                    self._ring()
