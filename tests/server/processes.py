"""A server that runs as a process of its own, and how a test starts, asks and ends it.

Every wait is for something that is seen, and has a bound.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from tests.server.forked import become

SECONDS = 60.0
# WHY: forked from a server that has no threads and has everything imported, a process starts in milliseconds.
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["tests.server.forked"])
_TOKEN = re.compile(r"stanch_[\w-]{43}")


class Reply(NamedTuple):
    """What the server answered; `json` is None for a body that is none."""

    status: int
    json: Any


def until(holds: Callable[[], bool], what: str, pause: float = 0.01) -> float:
    """The seconds until it held; fails where that takes too long."""
    waiting, start = threading.Event(), time.monotonic()
    while not holds():
        assert time.monotonic() < start + SECONDS, f"this did not come: {what}"
        waiting.wait(pause)
    return time.monotonic() - start


def ask(url: str, method: str, path: str, body: Any = None, token: str | None = None) -> Reply:
    """One request on a connection of its own. Raises `OSError` or `HTTPException` where there is no answer."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=SECONDS)
    try:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        raw = answer.read()
    finally:
        connection.close()
    try:
        return Reply(answer.status, json.loads(raw))
    except ValueError:
        return Reply(answer.status, None)


def environment(home: Path) -> dict[str, str]:
    """The environment of a user whose home is this directory."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "NO_COLOR": "1", "PYTHONWARNINGS": "error"}


class Running(ABC):
    """`stanch up` in a process of its own, its output in files beside its data directory."""

    def __init__(self, data: Path, *words: str, cwd: Path, usual_port: bool = False) -> None:
        """Starts it with these options, on any free port unless they name one or `usual_port` is true."""
        self.data, self.cwd = data, cwd
        self.out, self.err = data.with_suffix(".out"), data.with_suffix(".err")
        port = () if usual_port or "--port" in words else ("--port", "0")
        self.url = ""
        self.begin(["up", "--data", str(data), *port, *words])

    @abstractmethod
    def begin(self, words: list[str]) -> None:
        """Starts `stanch` with these words."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """The number of the process."""

    @abstractmethod
    def code(self, seconds: float = SECONDS) -> int | None:
        """Its exit code, once it ended; None where it goes on for longer than this."""

    def ready(self) -> Running:
        """Itself, once it answers that it is healthy."""
        self.url = wait_for_url(self.data, self.pid, self.alive)
        return self

    def alive(self) -> bool:
        """False once the process ended."""
        return self.code(0) is None

    @property
    def token(self) -> str:
        """The administrator's token."""
        return (self.data / "admin-token").read_text("utf-8").strip()

    def ask(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Reply:
        """A request of the administrator, or of whoever has the token."""
        return ask(self.url, method, path, body, self.token if token is None else token)

    def get(self, path: str) -> Any:
        """What the administrator reads there."""
        reply = self.ask("GET", path)
        assert reply.status == 200, reply
        return reply.json

    def check(self, tool: str, /, **arguments: Any) -> Any:
        """The gate's answer to a call."""
        reply = self.ask("POST", "/api/check", {"tool": tool, "arguments": arguments})
        assert reply.status == 200, reply
        return reply.json

    def send(self, number: int) -> None:
        """Sends it a signal, unless it has ended."""
        if self.alive():
            os.kill(self.pid, number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Tells it to stop; returns its exit code."""
        self.send(number)
        return self.ended()

    def ended(self) -> int:
        """Its exit code, once it ended."""
        code = self.code()
        self.kill()
        assert code is not None, "it did not end"
        return code

    def kill(self) -> None:
        """Ends the process at once. Safe to repeat."""
        self.send(signal.SIGKILL)
        self.code()

    @property
    def said(self) -> str:
        """All that it wrote to standard output so far."""
        return self.out.read_text("utf-8")

    @property
    def complained(self) -> str:
        """All that it wrote to standard error so far."""
        return self.err.read_text("utf-8")

    @property
    def shown_tokens(self) -> list[str]:
        """Every token that it printed anywhere."""
        return _TOKEN.findall(self.said + self.complained)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Command(Running):
    """The command as its users start it."""

    def __init__(
        self, data: Path, *words: str, cwd: Path, usual_port: bool = False, variables: Mapping[str, str] | None = None
    ) -> None:
        """Starts it, with further variables in its environment."""
        self._variables = variables or {}
        super().__init__(data, *words, cwd=cwd, usual_port=usual_port)

    def begin(self, words: list[str]) -> None:
        """Starts it."""
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "stanch.surfaces.cli.main", *words],
                cwd=self.cwd,
                env={**environment(self.cwd.parent), **self._variables},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def code(self, seconds: float = SECONDS) -> int | None:
        """Its exit code, if it has ended by then."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


class Forked(Running):
    """The command in a process that has everything imported already: the same code, without the wait for it."""

    def begin(self, words: list[str]) -> None:
        """Starts it."""
        given = (words, str(self.cwd), environment(self.cwd.parent), str(self.out), str(self.err))
        self._process: BaseProcess = FORKS.Process(target=become, args=given, daemon=True)
        self.out.write_bytes(b"")
        self.err.write_bytes(b"")
        self._process.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def code(self, seconds: float = SECONDS) -> int | None:
        """Its exit code, if it has ended by then."""
        self._process.join(seconds)
        return self._process.exitcode


def wait_for_url(data: Path, process: int, alive: Callable[[], bool]) -> str:
    """Where the process answers, once it says that it is healthy."""
    url = ""

    def healthy() -> bool:
        nonlocal url
        assert alive(), f"the server ended:\n{data.with_suffix('.err').read_text('utf-8')}"
        with suppress(OSError, ValueError, KeyError, http.client.HTTPException):
            said = json.loads((data / "lock").read_text("utf-8"))
            url = said["url"] if said["process"] == process else ""
            return bool(url) and ask(url, "GET", "/healthz").status == 200
        return False

    until(healthy, "a healthy server")
    return url
