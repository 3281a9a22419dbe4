"""Running a confined program from Stanch's side: its warden is started, its output passed on, its end waited for.

Settles that the end comes, and what is passed on until then. Does not settle which limit was reached (`warden`), nor
how that reads (`ending`).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from stanch.runtime.pipes import End, pipe, write_all
from stanch.runtime.sandbox import warden
from stanch.runtime.sandbox.ending import ended
from stanch.runtime.sandbox.program import Ended, How, Program

_SOURCE = str(Path(__file__).resolve().parents[3])
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from stanch.runtime.sandbox.warden import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]))"
)
_LOOKS = 0.05  # seconds between two looks at whether anybody still waits for the end
_PATIENCE = warden.ENDING + 30.0
_BLOCK = 1 << 16


def run(
    program: Program,
    how_to_confine: Mapping[str, Any],
    out: Callable[[bytes], None],
    cancelled: threading.Event,
    *,
    site: bool = False,
) -> Ended:
    """How the program ended, confined as described. `site`: the warden needs installed packages.

    INVARIANT: when this returns or raises, the warden has ended, and with it all that it started.
    """
    if cancelled.is_set():
        return ended(How.NOT_WANTED, 0, program.limits)
    limits = asdict(program.limits)
    described = {"argv": program.argv, "directory": os.path.realpath(program.directory), "limits": limits}
    description = json.dumps({**described, **how_to_confine}).encode() + b"\n"
    with ExitStack() as ends:
        watched, wanted = pipe(ends)
        told, telling = pipe(ends)
        written, writing = pipe(ends)
        given = End(_given(program.stdin))
        ends.callback(given.close)
        flags = ["-I", "-X", "utf8"] if site else ["-I", "-S", "-X", "utf8"]
        try:
            process = subprocess.Popen(  # noqa: S603 - the program is this one's own
                [sys.executable, *flags, "-c", _START, _SOURCE, str(telling.fileno()), str(given.fileno())],
                stdin=watched.fileno(),
                stdout=writing.fileno(),
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                pass_fds=(telling.fileno(), given.fileno()),
                start_new_session=True,
            )
        except OSError as error:
            return ended(How.NEVER_STARTED, 0, program.limits, os.strerror(error.errno or 0).lower())
        try:
            for end in (watched, telling, writing, given):
                end.close()
            os.set_blocking(wanted.fileno(), True)
            with suppress(BrokenPipeError):
                write_all(wanted, description)
            return _Running(program, told, written, wanted, out).until(cancelled)
        finally:
            wanted.close()  # WHY: to the warden, this is the word to end
            _bury(process)


def _given(stdin: bytes) -> int:
    """What the program reads: a file in memory that nobody can change, or nothing.

    WHY no pipe: a program that does not read what it is given would have to be waited for.
    """
    if not stdin:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    import fcntl

    file = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(stdin)
    while view:
        view = view[os.write(file, view) :]
    os.lseek(file, 0, os.SEEK_SET)
    fcntl.fcntl(
        file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    )
    return file


def _bury(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class _Told(NamedTuple):
    how: How
    code: int
    why: str


class _Running:
    def __init__(self, program: Program, told: End, written: End, wanted: End, out: Callable[[bytes], None]) -> None:
        self._limits = program.limits
        self._told, self._written, self._wanted = told, written, wanted
        self._out = out
        self._said = b""
        self._started = False
        self._before = b""  # what came before it started, which is the sandbox's and not the program's
        self._left = program.limits.output_bytes
        self._over = False

    def until(self, cancelled: threading.Event) -> Ended:
        """How it ended, once it has."""
        last = time.monotonic() + self._limits.seconds + _PATIENCE
        with selectors.DefaultSelector() as selector:
            for end in (self._told, self._written):
                os.set_blocking(end.fileno(), False)
                selector.register(end, selectors.EVENT_READ)
            while selector.get_map() and time.monotonic() < last:
                for key, _ in selector.select(_LOOKS):
                    end = self._told if key.fileobj is self._told else self._written
                    more = self._hear() if end is self._told else self._pass_on()
                    if not more:
                        selector.unregister(end)
                if cancelled.is_set():
                    self._wanted.close()
        told = self._outcome()
        if told.how is How.NEVER_STARTED:
            first = self._before.decode(errors="replace").strip().partition("\n")[0]
            return ended(told.how, 0, self._limits, ": ".join(part for part in (told.why, first) if part))
        if self._over and told.how in {How.NOT_WANTED, How.BY_ITSELF}:
            return ended(How.TOO_MUCH_OUTPUT, told.code, self._limits)
        return ended(told.how, told.code, self._limits, told.why)

    def _hear(self) -> bool:
        piece = os.read(self._told.fileno(), _BLOCK)
        self._said += piece
        if not self._started and b'"started"' in self._said:
            self._started = True
            self._give(self._before)
        return bool(piece)

    def _pass_on(self) -> bool:
        piece = os.read(self._written.fileno(), _BLOCK)
        if self._started:
            return self._give(piece) and bool(piece)
        self._before += piece
        return bool(piece)

    def _give(self, piece: bytes) -> bool:
        """False once there is more than there may be, which is the end of it."""
        if len(piece) > self._left:
            piece, self._over = piece[: self._left], True
            self._wanted.close()
        self._left -= len(piece)
        if piece:
            self._out(piece)
        return not self._over

    def _outcome(self) -> _Told:
        for line in reversed(self._said.splitlines()):
            with suppress(ValueError, KeyError):
                said = json.loads(line)
                return _Told(How[said["how"]], int(said.get("code", 0)), str(said.get("why", "")))
        return _Told(How.LOST, 0, "")
