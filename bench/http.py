"""The gate over HTTP: `POST /api/check` of a running server beside a bare route of the same framework.

Both are processes of the same kind: uvicorn with the same settings, on loopback. The one is `stanch up` with a policy
of 100 rules, the other has one route that reads the same body and judges nothing (`bench.bare`). They are asked in
turn, round after round, over connections that are kept: one at a time for the time that an answer takes, eight at once
for answers per second. Every answer is first held against that of the engine in this process.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.environments import ROOT
from bench.pool import PATIENCE, Worker, WorkerError, progress
from bench.rows import Row, duration, save, short
from stanch.app.loading import open_engine

RULES = 100
CALLS = 40
CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure: rounds, and requests of a round on the one connection and on each of the eight."""

    rounds: int
    alone: int
    together: int


QUICK, FULL = Plan(5, 300, 100), Plan(15, 1000, 250)


@dataclass(slots=True)
class Figures:
    """What came out of each round: microseconds at the median and at 99 of 100, and answers per second."""

    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)


class Client:
    """One connection that is kept. WHY not a library: what the client takes would be most of what is measured."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._socket = socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._left = b""

    def ask(self, request: bytes) -> bytes:
        """The body of the answer, which has to be no refusal."""
        self._socket.sendall(request)
        got = self._left
        while (end := got.find(b"\r\n\r\n")) < 0:
            got += self._more()
        head = got[:end].lower()
        at = head.find(b"\r\ncontent-length:")
        if not head.startswith(b"http/1.1 20") or at < 0:
            raise WorkerError(f"the server answered {got[:200]!r}")
        size = end + 4 + int(head[at + 17 :].partition(b"\r\n")[0])
        while len(got) < size:
            got += self._more()
        self._left = got[size:]
        return got[end + 4 : size]

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
        policy, calls = _workspace(root)
        progress("http: starting both servers")
        gate = Gate(root, policy)
        bare = Worker(sys.executable, "bench.bare")
        try:
            url = gate.start()
            session = {"session_id": _session(url, gate.token)}
            targets = {"stored": url, "described": url, "bare": bare.answer()["url"]}
            requests = {
                who: [_call(url, call, gate.token, session if who == "stored" else {}) for call in calls]
                for who, url in targets.items()
            }
            for who in ("stored", "described"):
                _check(url, requests[who], calls, policy)
            figures = {who: Figures() for who in targets}
            for number in range(plan.rounds):
                progress(f"http: round {number + 1} of {plan.rounds}")
                for who, url in targets.items():
                    _round(url, requests[who], plan, figures[who])
        finally:
            bare.close()
            gate.close()
    rows = _rows("a stored session", figures["stored"], figures["bare"])
    rows += _rows("a described session", figures["described"], figures["bare"])
    save("http", rows, quick=quick)
    return rows


class Gate:
    """`stanch up` as a process, with its data in a temporary directory."""

    def __init__(self, root: Path, policy: Path) -> None:
        self._data = root / "data"
        self._log = (root / "server.txt").open("w+b")
        words = ["up", "--policy", str(policy), "--data", str(self._data), "--port", "0"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stanch.surfaces.cli.main", *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )

    def start(self) -> str:
        """Where it listens. Its token can be read from then on."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            try:
                said = json.loads((self._data / "lock").read_text("utf-8"))
                return str(said["url"])
            except (OSError, ValueError):
                time.sleep(0.05)
        self._log.seek(0)
        raise WorkerError(f"stanch up did not start:\n{self._log.read().decode('utf-8', 'replace')}")

    @property
    def token(self) -> str:
        return (self._data / "admin-token").read_text("utf-8").strip()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()


def _workspace(root: Path) -> tuple[Path, list[tuple[str, str]]]:
    """A policy file in a workspace of its own, and calls as (tool, path) of which some are allowed and some are not."""
    workspace = root / "workspace"
    rules, calls = [], []
    for number in range(RULES):
        action = ("allow", "ask", "deny")[number % 3]
        rules.append(f'[[groups.rules]]\ntool = "@read"\npath = "part{number}/**"\naction = "{action}"\n')
    for number in range(CALLS):
        part = workspace / f"part{number * RULES // CALLS}" / "src" / "deep"
        part.mkdir(parents=True, exist_ok=True)
        (part / f"f{number}.py").touch()
        calls.append(("read_file", str((part / f"f{number}.py").relative_to(workspace))))
    policy = workspace / "stanch.toml"
    policy.write_text('version = 1\n\n[[groups]]\nid = "default"\n\n' + "\n".join(rules), "utf-8")
    return policy, calls


def _call(url: str, call: tuple[str, str], token: str, session: dict[str, str]) -> bytes:
    tool, path = call
    return _request(url, "/api/check", {"tool": tool, "arguments": {"path": path}, **session}, token)


def _request(url: str, path: str, body: dict[str, Any], token: str) -> bytes:
    raw = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


def _session(url: str, token: str) -> str:
    """The id of a new session."""
    client = Client(url)
    made = json.loads(client.ask(_request(url, "/api/sessions", {"agent_id": "bench", "source": "cli"}, token)))
    client.close()
    return str(made["id"])


def _check(url: str, requests: Sequence[bytes], calls: Sequence[tuple[str, str]], policy: Path) -> None:
    """Holds every answer against the engine's own; one wrong one ends the run."""
    engine = open_engine(policy)
    client = Client(url)
    for request, (tool, path) in zip(requests, calls, strict=True):
        got, wanted = json.loads(client.ask(request)), engine.check(tool, {"path": path})
        if got["effect"] != wanted.effect.value or got["reason"]["code"] != wanted.reason.code.value:
            raise WorkerError(f"{tool} {path}: the server answers {got}, the engine {wanted.effect}")
    client.close()


def _round(url: str, requests: Sequence[bytes], plan: Plan, figures: Figures) -> None:
    spent: list[float] = []
    _work(url, requests, plan.alone, spent.append)
    cuts = statistics.quantiles(spent, n=100)
    figures.p50.append(cuts[49])
    figures.p99.append(cuts[98])
    start = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        working = [pool.submit(_work, url, requests, plan.together, lambda _: None) for _ in range(CONNECTIONS)]
    for work in working:
        work.result()
    figures.rate.append(plan.together * CONNECTIONS / (time.perf_counter() - start))


def _work(url: str, requests: Sequence[bytes], count: int, take: Callable[[float], None]) -> None:
    client = Client(url)
    client.ask(requests[0])
    for number in range(count):
        request = requests[number % len(requests)]
        start = time.perf_counter()
        client.ask(request)
        take((time.perf_counter() - start) * 1e6)
    client.close()


def _rows(session: str, gate: Figures, bare: Figures) -> list[Row]:
    def row(what: str, ours: list[float], theirs: list[float], unit: str, shown: Callable[[float], str]) -> Row:
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        illustration = f"{shown(statistics.median(ours))} to {shown(statistics.median(theirs))}"
        rival = "a bare route of the same framework"
        return Row(
            what, rival, f"{RULES} rules", statistics.median(ratios), unit, None, illustration, min(ratios), max(ratios)
        )

    return [
        row(f"POST /api/check of {session}, half of all answers", gate.p50, bare.p50, "times its time", duration),
        row(f"POST /api/check of {session}, 99 of 100 answers", gate.p99, bare.p99, "times its time", duration),
        row(
            f"POST /api/check of {session}, {CONNECTIONS} connections",
            gate.rate,
            bare.rate,
            "times its rate",
            lambda rate: f"{short(rate)} a second",
        ),
    ]
