"""Running a small program that answers on its standard output: for so long, so much, and nothing of it is left.

Settles how such a program is started and ended. Does not settle what it is told, nor what its answer means
(`app.programs`). ABSENT: what a program starts in a session of its own and lets go of is not looked for; it holds
nothing that anybody here waits for.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import IO, NamedTuple

PASSED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER")
"""The variables that a program is given, besides `PATH`: no other, since a secret may have any name."""
PATH = "/usr/local/bin:/usr/bin:/bin"
_LOOK = 0.05
_GRACE = 0.5
_CHUNK = 1 << 16


class End(StrEnum):
    """How a program came to its end."""

    DONE = "done"
    NOT_STARTED = "not started"
    TOO_LATE = "too late"
    TOO_MUCH = "too much"
    NOT_WANTED = "not wanted"


class Outcome(NamedTuple):
    """How it ended, its exit code (less than 0: the signal), and what it wrote to its standard output."""

    end: End
    code: int = 0
    output: bytes = b""


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The variables that a program is started with, out of those of this process."""
    return {"PATH": given.get("PATH", PATH)} | {name: given[name] for name in PASSED if name in given}


def run_program(
    command: Sequence[str],
    told: bytes,
    *,
    directory: str,
    seconds: float,
    most: int,
    unwanted: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Runs the command in a directory with `told` as its standard input. Raises nothing.

    It is ended, with whatever of its process group is left, once it has ended by itself, after so many seconds, where
    it writes more than `most` bytes, or where `unwanted` says that nobody waits for it. What it writes to its standard
    error is dropped.
    """
    until = time.monotonic() + seconds
    try:
        process = subprocess.Popen(  # noqa: S603 - the deployment's own words, and no shell
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=directory,
            env=environment(os.environ),
            start_new_session=True,
        )
    except (OSError, ValueError):
        return Outcome(End.NOT_STARTED)
    try:
        return _Run(process, told, until, most, unwanted).outcome()
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and its group."""
    _kill_group(process)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the group. WHY before the process is reaped: until then nobody else can have its number."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


class _Run:
    """One program under way."""

    def __init__(
        self, process: subprocess.Popen[bytes], told: bytes, until: float, most: int, unwanted: Callable[[], bool]
    ) -> None:
        self._process, self._told, self._until = process, told, until
        self._most, self._unwanted = most, unwanted
        self._found = bytearray()
        self._selector = selectors.DefaultSelector()

    def outcome(self) -> Outcome:
        """How it ended. Its process is not reaped yet."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for pipe, events in (
            (self._process.stdin, selectors.EVENT_WRITE),
            (self._process.stdout, selectors.EVENT_READ),
        ):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, events)
        with self._selector:
            return self._driven(self._process.stdin, self._process.stdout)

    def _driven(self, stdin: IO[bytes], stdout: IO[bytes]) -> Outcome:
        ended: float | None = None
        while True:
            now = time.monotonic()
            if now >= self._until:
                return Outcome(End.TOO_LATE)
            if self._unwanted():
                return Outcome(End.NOT_WANTED)
            if ended is None and self._has_ended():
                ended = now
                _kill_group(self._process)
            # WHY not until the end of its output: what it has started may hold that open for as long as it likes.
            if stdout not in self._open() and ended is not None:
                return self._done()
            if ended is not None and now >= ended + _GRACE:
                return self._done()
            wait = min(self._until - now, _LOOK)
            ready = self._selector.select(wait) if self._selector.get_map() else ()
            if not self._selector.get_map():
                time.sleep(min(wait, 0.005))
            for key, _ in ready:
                if key.fileobj is stdin:
                    self._write(stdin)
                elif not self._read(stdout):
                    return Outcome(End.TOO_MUCH)

    def _open(self) -> set[object]:
        return {key.fileobj for key in self._selector.get_map().values()}

    def _has_ended(self) -> bool:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _done(self) -> Outcome:
        found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        assert found is not None
        code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return Outcome(End.DONE, code, bytes(self._found))

    def _write(self, stdin: IO[bytes]) -> None:
        """Writes what it takes. A program that does not read what it is told may still answer."""
        try:
            written = os.write(stdin.fileno(), self._told[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            written, self._told = 0, b""
        self._told = self._told[written:]
        if not self._told:
            self._selector.unregister(stdin)
            stdin.close()

    def _read(self, stdout: IO[bytes]) -> bool:
        """Reads what is there; false where that is too much."""
        try:
            found = os.read(stdout.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        if not found:
            self._selector.unregister(stdout)
            return True
        self._found += found
        return len(self._found) <= self._most
