"""The model proxy: what it adds to a request with 500 messages, beside the same request straight to the provider.

The proxy is `stanch up`, the provider a process that answers at once with a stream (`bench.upstream`); what is added is
the proxy's alone. An agent at work goes on with a conversation: each of its requests has two messages more than the one
before. Straight and through the proxy, such requests are made in turn, over connections that are kept, and the time is
taken to the first byte of the streamed answer and to its last. Some files are closed to the model, and what was read of
them is looked for at the provider: one byte of it ends the run.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.http import Gate
from bench.pool import PATIENCE, Worker, WorkerError, progress
from bench.rows import Row, Target, duration, save

MESSAGES = 500
FILES = 100
LINE = "    def part(self, number: int) -> str: return self.known[number]  # as it was\n"
PAUSE = 0.01
"""Seconds between two requests: an agent runs a tool before it goes on, and the answer is taken note of meanwhile."""
HIDDEN = "KEY=of-the-launch-0123456789"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure: rounds, and requests of a round."""

    rounds: int
    requests: int


QUICK, FULL = Plan(5, 60), Plan(15, 150)


@dataclass(slots=True)
class Figures:
    """Microseconds of each round at the median, to the first byte and to the last."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)


class Client:
    """One connection that is kept, and what it takes to the first and the last byte of a streamed answer."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._socket = socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> tuple[float, float]:
        """Microseconds to the first byte of the body, and to its end."""
        start = time.perf_counter()
        self._socket.sendall(request)
        got = b""
        while len(got) <= (head := got.find(b"\r\n\r\n")) + 4 or head < 0:
            got += self._more()
        first = time.perf_counter()
        if not got.startswith(b"HTTP/1.1 200"):
            raise WorkerError(f"the server answered {got[:300]!r}")
        while not got.endswith(b"\r\n0\r\n\r\n"):
            got += self._more()
        return (first - start) * 1e6, (time.perf_counter() - start) * 1e6

    def _more(self) -> bytes:
        read = self._socket.recv(1 << 16)
        if not read:
            raise WorkerError("the server closed the connection")
        return read

    def close(self) -> None:
        self._socket.close()


def run(quick: bool) -> list[Row]:
    plan = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as name:
        root = Path(os.path.realpath(name))
        upstream = Worker(sys.executable, "bench.upstream")
        gate: Gate | None = None
        try:
            straight = str(upstream.answer()["url"])
            policy = _workspace(root, straight)
            progress("proxy: starting")
            gate = Gate(root, policy)
            url = gate.start()
            clients = {"straight": Client(straight), "proxied": Client(url)}
            tokens = {"straight": "none", "proxied": gate.token}
            figures = {one: Figures() for one in clients}
            seen: list[float] = []
            for number in range(plan.rounds):
                progress(f"proxy: round {number + 1} of {plan.rounds}")
                talks = {one: _talk(root / "repo", f"{number} {one}", plan.requests) for one in clients}
                spent: dict[str, list[tuple[float, float]]] = {one: [] for one in clients}
                for at in range(plan.requests + 1):
                    for one, client in clients.items():
                        request = _request(next(talks[one]), tokens[one])
                        time.sleep(PAUSE)
                        took = client.ask(request)
                        if at:
                            spent[one].append(took)
                        elif one == "proxied":
                            seen.append(took[0])
                for one, times in spent.items():
                    figures[one].first.append(statistics.median(first for first, _ in times))
                    figures[one].last.append(statistics.median(last for _, last in times))
            for client in clients.values():
                client.close()
        finally:
            upstream.close()
            if gate is not None:
                gate.close()
    rows = _rows(figures, seen)
    save("proxy", rows, quick=quick)
    return rows


def _workspace(root: Path, provider: str) -> Path:
    """A policy file beside files of which every tenth is closed to the model."""
    workspace = root / "repo"
    for number in range(FILES):
        folder = workspace / f"part{number % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.py").touch()
    policy = workspace / "stanch.toml"
    policy.write_text(
        f"""version = 1

[providers.bench]
dialect = "openai"
base_url = "{provider}/v1"

[models.assignments]
"bench/*" = "closed"

[tiers.closed]
label = "no part 3"
otherwise = {{ read = "allow", write = "allow", execute = "allow", network = "allow" }}
[[tiers.closed.cells]]
path = "part3"
read = "deny"

[proxy.usual]
openai = "bench"
""",
        "utf-8",
    )
    return policy


def _talk(workspace: Path, about: str, more: int) -> Iterator[list[dict[str, Any]]]:
    """The conversation of an agent that reads files, first with so many messages, then with two more each time."""
    said: list[dict[str, Any]] = [{"role": "user", "content": f"mend what is broken ({about})"}]
    number = 0
    while True:
        number += 1
        file = number % FILES
        path = str(workspace / f"part{file % 10}" / f"f{file}.py")
        arguments = json.dumps({"path": path})
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "read_file", "arguments": arguments}}
        text = LINE * 6 + (HIDDEN if file % 10 == 3 else "")
        said.append({"role": "assistant", "content": "I read the next file.", "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
        if len(said) >= MESSAGES:
            yield said


def _request(messages: list[dict[str, Any]], token: str) -> bytes:
    raw = json.dumps({"messages": messages, "model": "m", "stream": True}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


def _rows(figures: dict[str, Figures], seen: list[float]) -> list[Row]:
    rival = "the same request straight to the provider"
    sizes = f"{MESSAGES} messages and more"

    def row(what: str, times: Callable[[Figures], list[float]]) -> Row:
        ours, theirs = times(figures["proxied"]), times(figures["straight"])
        added = [(one - other) / 1e3 for one, other in zip(ours, theirs, strict=True)]
        shown = f"{duration(statistics.median(ours))} to {duration(statistics.median(theirs))}"
        return Row(
            what, rival, sizes, statistics.median(added), "ms", Target("at most", 2), shown, min(added), max(added)
        )

    first = statistics.median(seen) - statistics.median(figures["straight"].first)
    return [
        row("added to the first byte of the answer, half of all requests", lambda one: one.first),
        row("added to the last byte of the answer, half of all requests", lambda one: one.last),
        Row("added to a conversation that was never seen before", rival, sizes, first / 1e3, "ms"),
    ]
