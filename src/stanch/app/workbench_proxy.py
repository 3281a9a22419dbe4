"""The one way out of a workbench: a Unix socket over which running code asks for stored content.

Settles how code asks, how much at once, and that nobody is answered any more once the run has ended. Does not settle
what is answered (`app.workbench_inside`).
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from stanch.app.workbench_inside import Inside, Unanswered
from stanch.content.streams import Stream

NAME = "socket"
MOST_ASKED = 16 << 20
LARGE = 1 << 20
"""Arguments of more bytes than these are looked at one after another: as values, they take much more."""
MOST_AT_ONCE = 8
SECONDS = 30.0


@contextmanager
def proxy(folder: Path, inside: Inside) -> Iterator[Path]:
    """A socket in the folder at which code is answered within the block. Raises `OSError` where there can be none."""
    path = folder / NAME
    path.unlink(missing_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # WHY by its descriptor: an address of a socket has room for a hundred bytes, and a path may have more.
        server = _Server(f"/proc/self/fd/{handle}/{NAME}", inside)
    finally:
        os.close(handle)
    path.chmod(0o600)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield path
    finally:
        inside.end()
        # WHY first: while as many are connected as may be, the server waits for one of them to go.
        server.leave()
        server.shutdown()
        thread.join()
        server.leave()
        server.server_close()
        with suppress(FileNotFoundError):
            path.unlink()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """INVARIANT: `server_close` returns once no request is under way any more."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, address: str, inside: Inside) -> None:
        self.inside, self.room = inside, threading.BoundedSemaphore(MOST_AT_ONCE)
        self.large = threading.Lock()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Takes a connection, unless there are as many as may be: then it waits its turn."""
        self.room.acquire()
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)
        self.room.release()

    def leave(self) -> None:
        """Ends every connection, whoever is at its other end."""
        with self._lock:
            left = list(self._open)
        for one in left:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: code that hangs up in the middle is no fault of the server."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one request of running code."""

    server: _Server
    timeout = SECONDS
    protocol_version = "HTTP/1.0"
    server_version, sys_version = "stanch", ""

    def do_GET(self) -> None:
        """The bytes of a file: `/files/PATH`, with `?version=N` an older one."""
        self._answered(self._file)

    def do_POST(self) -> None:
        """What a tool gives: `/call/TOOL`, its arguments a JSON object."""
        self._answered(self._call)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's own word
        """Logs nothing: an address may hold content."""

    def address_string(self) -> str:
        """Who asks. A Unix socket has no address."""
        return ""

    def _file(self) -> None:
        asked = urlsplit(self.path)
        if not asked.path.startswith("/files/"):
            raise Unanswered(404, "not_found", "there is nothing at this address")
        said = parse_qs(asked.query).get("version", [])
        version = int(said[0]) if len(said) == 1 and said[0].isascii() and said[0].isdigit() else None
        if said and version is None:
            raise Unanswered(422, "unusable", "'version' is a number")
        self._sent(self.server.inside.get(unquote(asked.path.removeprefix("/files/")), version))

    def _call(self) -> None:
        asked = urlsplit(self.path)
        if not asked.path.startswith("/call/"):
            raise Unanswered(404, "not_found", "there is nothing at this address")
        body = self._body() or b"{}"
        with self.server.large if len(body) > LARGE else nullcontext():
            self._said(200, self._done(unquote(asked.path.removeprefix("/call/")), body))

    def _done(self, tool: str, body: bytes) -> Any:
        try:
            arguments = json.loads(body)
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise Unanswered(422, "unusable", "the arguments are a JSON object")
        return self.server.inside.call(tool, arguments)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or len(length) > 12:
            raise Unanswered(411, "unusable", "the length of the arguments is missing")
        if int(length) > MOST_ASKED:
            raise Unanswered(413, "unusable", f"the arguments have more than {MOST_ASKED >> 20} MiB")
        return self.rfile.read(int(length))

    _begun = False
    """True once some of an answer is on its way: then nothing else may stand in it."""

    def _answered(self, answer: Any) -> None:
        self.close_connection, self._begun = True, False
        try:
            answer()
        except Unanswered as why:
            self._said(why.status, {"error": {"code": why.code, "sentence": why.words}})
        except OSError:
            return
        except Exception as why:  # whatever it fails with, its words may hold content
            if not self._begun:
                self._said(500, {"error": {"code": "fault", "sentence": f"it failed with {type(why).__name__}"}})

    def _said(self, status: int, value: Any) -> None:
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def _sent(self, stream: Stream) -> None:
        """INVARIANT: the length goes first, so that whoever reads sees where bytes are missing."""
        chunks = iter(stream.chunks)
        first = next(chunks, b"")
        self._begun = True
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        if stream.size is not None:
            self.send_header("Content-Length", str(stream.size))
        self.end_headers()
        self.wfile.write(first)
        for chunk in chunks:
            self.wfile.write(chunk)
