"""Scripted model servers on loopback: Anthropic messages, OpenAI responses and OpenAI chat completions, all streaming.

A server plays a `Script`: for every conversation a list of turns, each a tuple of blocks (a thought, a text, a tool
call). A conversation is recognised by the phrase that stands first in it, so that a subagent gets turns of its own.
Every request body is kept, in order.
"""

import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.sessions import events
from tests.sessions.turns import Call, Json, Script, Text, Turn

CLOSING: Turn = (Text("Done."),)


@dataclass
class Recorder:
    """What a server was asked, and how far each conversation has got."""

    script: Script
    requests: list[Json] = field(default_factory=list)
    _taken: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: Json) -> tuple[str, Turn]:
        """Keep the request and say which turn answers it, with an id prefix of its own."""
        with self._lock:
            self.requests.append(body)
            phrase = self._conversation(body)
            number = self._taken.get(phrase, 0)
            turns = self.script.get(phrase, [])
            if not events.offers_tools(body) or number >= len(turns):
                return self._stamp(f"aside {len(self.requests)}"), CLOSING
            self._taken[phrase] = number + 1
            return self._stamp(f"{phrase} {number}"), _filled(turns[number], body)

    def _conversation(self, body: Json) -> str:
        said = json.dumps(events.said(body))
        found = [(said.index(phrase), phrase) for phrase in self.script if phrase in said]
        return min(found)[1] if found else ""

    @staticmethod
    def _stamp(seed: str) -> str:
        return hashlib.sha256(seed.encode()).hexdigest()[:20]


def _filled(turn: Turn, body: Json) -> Turn:
    return tuple(_filled_call(block, body) if isinstance(block, Call) else block for block in turn)


def _filled_call(call: Call, body: Json) -> Call:
    def value(given: Any) -> Any:
        if not isinstance(given, re.Pattern):
            return given
        found = given.findall(json.dumps(body))
        return int(found[-1]) if found else 0

    return Call(call.tool, {name: value(given) for name, given in call.arguments.items()})


def _handler(recorder: Recorder) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name the base class gives it
            pass

        def do_GET(self) -> None:
            self._send(404, "application/json", b"{}")

        do_HEAD = do_GET  # noqa: N815 - the name the base class looks for

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                return self._send(200, "application/json", json.dumps({"input_tokens": len(raw) // 4}).encode())
            dialect = events.DIALECTS.get(path)
            if dialect is None:
                return self._send(404, "application/json", b"{}")
            body: Json = json.loads(raw)
            stamp, turn = recorder.answer(body)
            answer = dialect(turn, stamp, str(body.get("model")), len(raw) // 4, bool(body.get("stream")))
            kind = "text/event-stream" if body.get("stream") else "application/json"
            return self._send(200, kind, answer.encode())

        def _send(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


class _Server(ThreadingHTTPServer):
    """A server that takes no offence at an agent that hangs up."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(script: Script) -> Iterator[tuple[str, Recorder]]:
    """Run a server for the script on a free loopback port; give its base address and its recorder."""
    recorder = Recorder(script)
    server = _Server(("127.0.0.1", 0), _handler(recorder))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", recorder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
