"""Running a command: its warden is started, its output is read, its end is waited for.

Settles what of a command comes back, and that its end comes. Does not settle how its processes are ended
(`executing_warden`), nor what a model is told (`executing`).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from enum import Enum

from stanch.runtime.builtin import executing_warden as warden
from stanch.runtime.builtin.executing_output import Kept
from stanch.runtime.pipes import End, pipe, write_all

_WARDEN = os.path.abspath(warden.__file__)
_LOOKS = 0.05  # seconds between two looks at whether anybody still waits for the end
_DRAINING = 0.2  # seconds for the last of the output, where somebody out of reach may still write it
_PATIENCE = warden.GRACE + 2 * warden.LEAVING + warden.KILLING + 5.0
_BLOCK = 1 << 16


class Ending(Enum):
    """How a command came to its end."""

    NEVER_STARTED = warden.NEVER_STARTED
    BY_ITSELF = warden.BY_ITSELF
    TOO_LATE = warden.TOO_LATE
    NOT_WANTED = warden.NOT_WANTED
    LOST = -1  # its warden was ended, by the command for instance


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a command. `code` is its exit code, less than 0 for a signal, an error number where it never
    started. `left`: some of it was still running when its shell had ended. `living`: some of it could not be ended.
    """

    ending: Ending
    output: str = field(repr=False)
    code: int = 0
    left: bool = False
    living: bool = False


def run(
    shell: str,
    command: bytes,
    directory: int,
    environment: Mapping[str, str],
    *,
    seconds: float,
    cancelled: threading.Event,
) -> Ran:
    """Runs the command in the directory of that descriptor and waits for its end, or brings it about: after `seconds`,
    and once it is cancelled. Raises `OSError` where this machine can start no process.

    INVARIANT: when it returns, nothing that the command started is running, but for what `living` tells of.
    """
    if cancelled.is_set():
        return Ran(Ending.NOT_WANTED, "")
    variables = [os.fsencode(f"{name}={value}") for name, value in environment.items()]
    description = b"".join(part + b"\0" for part in (b"%f" % seconds, os.fsencode(shell), command, *variables)) + b"\0"
    with ExitStack() as ends:
        watched, wanted = pipe(ends)
        told, telling = pipe(ends)
        written, writing = pipe(ends)
        process = subprocess.Popen(  # noqa: S603 - the program is this one's own
            [sys.executable, "-I", "-S", _WARDEN, str(telling.fileno())],
            stdin=watched.fileno(),
            stdout=writing.fileno(),
            stderr=subprocess.DEVNULL,
            # WHY by descriptor: a path may lead elsewhere by now, the directory that was opened is the one judged.
            cwd=f"/proc/self/fd/{directory}",
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
            pass_fds=(telling.fileno(),),
            start_new_session=True,
        )
        try:
            for end in (watched, telling, writing):
                end.close()
            with suppress(BrokenPipeError):
                write_all(wanted, description)
            return _Running(process, told, written, wanted).until(time.monotonic() + seconds, cancelled)
        finally:
            wanted.close()  # WHY: to the warden, this is the word to end
            _bury(process)


def _bury(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class _Running:
    def __init__(self, process: subprocess.Popen[bytes], told: End, written: End, wanted: End) -> None:
        self._process = process
        self._told, self._written, self._wanted = told, written, wanted
        self._kept = Kept()
        self._words = b""

    def until(self, deadline: float, cancelled: threading.Event) -> Ran:
        """What became of it, once it has ended."""
        last = deadline + _PATIENCE
        with selectors.DefaultSelector() as selector:
            for end in (self._told, self._written):
                os.set_blocking(end.fileno(), False)
                selector.register(end, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(_LOOKS):
                    if not self._read(key.fileobj):
                        selector.unregister(key.fileobj)
                        if key.fileobj is self._told:
                            last = min(last, time.monotonic() + _DRAINING)
                if cancelled.is_set() and self._wanted.fileno() >= 0:
                    self._wanted.close()
                    last = min(last, time.monotonic() + _PATIENCE)
                if time.monotonic() >= last:
                    break
        return self._ran()

    def _read(self, end: object) -> bool:
        """Takes what there is; false at its end."""
        source = self._told if end is self._told else self._written
        piece = os.read(source.fileno(), _BLOCK)
        if source is self._told:
            self._words += piece
        else:
            self._kept.add(piece)
        return bool(piece)

    def _ran(self) -> Ran:
        words = [[int(number) for number in line.split()] for line in self._words.splitlines()]
        output = self._kept.text()
        if not words or len(words[-1]) != 4:
            # WHY: a command can end its warden, or halt it. Then the shell has ended with it, and its group does here.
            self._process.kill()
            if words:
                with suppress(OSError):
                    os.killpg(words[0][0], signal.SIGKILL)
            return Ran(Ending.LOST, output, living=bool(words))
        reason, code, left, living = words[-1]
        return Ran(Ending(reason), output, code, bool(left), bool(living))
