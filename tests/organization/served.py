"""A server that answers as a test says, byte by byte, and a clock that goes as a test says."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from stanch.policy.organization import Moment

RULES = [{"tool": "@write", "path": "/**/closed", "action": "deny", "note": "ours"}]
SECONDS = 20.0
Answer = Callable[["Server", bytes], Iterable[bytes]]


@dataclass
class Clock:
    """Two clocks that stand until they are moved."""

    wall: float = 1_800_000_000.0
    steady: float = 5_000.0

    def __call__(self) -> Moment:
        return Moment(self.wall, self.steady)

    def on(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@dataclass
class Server:
    """What was asked, and what is answered. `ended` is set when the test is over: whoever is slow waits for it."""

    answer: Answer
    port: int = 0
    asked: list[bytes] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/rules"

    def header(self, name: str) -> list[str]:
        """The values of a header, over all requests."""
        lines = [line for one in self.asked for line in one.decode("latin-1").split("\r\n")]
        return [value for key, _, value in (line.partition(": ") for line in lines) if key.lower() == name]


@contextmanager
def served(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server on a free port of loopback until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(answer, listening.getsockname()[1], scheme="http" if tls is None else "https")
        threads: list[threading.Thread] = []

        def serve() -> None:
            while not server.ended.is_set():
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                one = threading.Thread(target=_answer, args=(server, connection, tls), daemon=True)
                threads.append(one)
                one.start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(SECONDS)
            for one in threads:
                one.join(SECONDS)


def _answer(server: Server, connection: socket.socket, tls: ssl.SSLContext | None) -> None:
    try:
        held = connection if tls is None else tls.wrap_socket(connection, server_side=True)
    except OSError:
        connection.close()
        return
    with held:
        try:
            raw = b""
            while b"\r\n\r\n" not in raw and (more := held.recv(65536)):
                raw += more
            server.asked.append(raw)
            for piece in server.answer(server, raw):
                held.sendall(piece)
        except OSError:
            return


def whole(body: bytes | list[Any] | dict[str, Any], status: str = "200 OK", **headers: str) -> bytes:
    """An answer with its length told."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    said = {
        "Content-Length": str(len(raw)),
        "Connection": "close",
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    lines = [f"HTTP/1.1 {status}", *(f"{key}: {value}" for key, value in said.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw


def says(answer: bytes) -> Answer:
    """Always the same answer."""
    return lambda server, raw: [answer]


def until(holds: Callable[[], bool], what: str) -> None:
    """Returns once it holds; fails where that takes too long."""
    pause, left = threading.Event(), int(SECONDS / 0.02)
    while not holds():
        left -= 1
        assert left > 0, f"this did not come: {what}"
        pause.wait(0.02)
