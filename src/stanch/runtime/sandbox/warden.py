"""The process between Stanch and a confined program: it starts the sandbox, watches it, and ends it.

Settles which limit brings a program to its end, and that nothing of it is left. Does not settle what is confined
(`bubblewrap`, `landlock`), nor what becomes of the output (`running`). It is a program of its own, imports the standard
library only (and `sandlock`, where that confines), and has no variables of the host.

WHY a process: code between fork and exec is not safe where there are threads, and Stanch has many. It reads a pipe
whose other end is Stanch's alone, which ends when Stanch does; whatever is orphaned below becomes its child (a
subreaper), so nothing gets away by leaving its group or session.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from stanch.runtime.sandbox import looking, warden_bubblewrap, warden_landlock
from stanch.runtime.sandbox.confined import CannotStart, Confined, adopt_orphans

LOOKS = 0.05
"""Seconds between two looks at processes and memory; at files it is twice that, and more where there are many."""
ENDING = 10.0
_RESERVE = 16 << 20


def main(told: int, input_: int) -> None:
    """Runs what the first line of standard input describes, and writes to `told` that it started, and how it ended."""
    # INVARIANT: nobody else has these. Who could write to `told` would say how it ended.
    for descriptor in (told, input_):
        os.set_inheritable(descriptor, False)
    given = _description()
    os.chdir("/")
    adopt_orphans()
    with suppress(OSError):
        os.nice(-5)
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    rung = _bell()
    try:
        directory = os.open(given["directory"], os.O_RDONLY | os.O_DIRECTORY)
        confined = _started(given, input_)
    except (CannotStart, OSError) as why:
        _clear()
        _tell(told, how="NEVER_STARTED", why=str(why) if isinstance(why, CannotStart) else os.strerror(why.errno or 0))
        return
    _tell(told, started=True)
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (1, 2, input_):
        os.dup2(nothing, descriptor, inheritable=False)
    watch = Watch(given["limits"], directory)
    how = watch.until(confined, rung)
    code = confined.code()
    if how != "BY_ITSELF" or code is None:
        confined.end()
    _clear()
    if code is None:
        code = confined.code()
    how = watch.at_last(how, code or 0)
    confined.close()
    _tell(told, how=how, code=128 + signal.SIGKILL if code is None else code, why=watch.why)


def _started(given: Mapping[str, Any], input_: int) -> Confined:
    if given["sandbox"] == "bubblewrap":
        return warden_bubblewrap.start(given, input_)
    return warden_landlock.start(given, input_)


class Watch:
    """What is looked at while a program runs."""

    def __init__(self, limits: Mapping[str, float], directory: int) -> None:
        self._limits = limits
        self._directory = directory
        self._device = os.fstat(directory).st_dev
        self._until = time.monotonic() + limits["seconds"]
        self._next_files = 0.0
        # WHY a share of what there was: else nothing could run where there is little room to begin with.
        self._reserve = min(_RESERVE, self._free() // 4)
        self.why = ""

    def until(self, confined: Confined, rung: int) -> str:
        """Why it has to end, or has ended."""
        while confined.code() is None:
            now = time.monotonic()
            if now >= self._until:
                return "TOO_LATE"
            found = looking.below(os.getpid())
            how = self._processes(found, confined) or self._files(found, confined, now)
            if how is not None:
                return how
            wait = min(LOOKS, max(0.0, self._until - now))
            ready = select.select([0, rung], [], [], wait)[0]
            if 0 in ready:
                return "NOT_WANTED"  # nothing else comes there but the end of it
            if rung in ready:
                _empty(rung)
        return "BY_ITSELF"

    def _processes(self, found: list[int], confined: Confined) -> str | None:
        if len(found) - confined.overhead > self._limits["processes"]:
            return "TOO_MANY_PROCESSES"
        most = int(self._limits["memory"])
        return "TOO_MUCH_MEMORY" if looking.memory(found, most) > most else None

    def _files(self, found: list[int], confined: Confined, now: float) -> str | None:
        if now < self._next_files:
            return None
        how = self._held(found) or ("DISK_FULL" if self._free() < self._reserve else None)
        if how is None and (why := confined.room()):
            self.why, how = why, "TOO_MUCH_ON_DISK"
        after = time.monotonic()
        self._next_files = after + max(2 * LOOKS, 4 * (after - now))
        return how

    def _held(self, found: list[int]) -> str | None:
        most, entries = int(self._limits["directory_bytes"]), int(self._limits["directory_entries"])
        held = looking.held(self._directory, most, entries)
        if held.size + looking.unlinked(found, self._device) > most:
            self.why = "bytes"
        elif held.entries > entries:
            self.why = "entries"
        elif not held.whole:
            self.why = "depth"
        return "TOO_MUCH_ON_DISK" if self.why else None

    def at_last(self, how: str, code: int) -> str:
        """How it ended, where that can be told better now that nothing of it is running."""
        if how != "BY_ITSELF":
            return how
        if code == 128 + signal.SIGXCPU:
            self.why = "cpu"
            return "TOO_LATE"
        if code == 128 + signal.SIGXFSZ:
            self.why = "file"
            return "TOO_MUCH_ON_DISK"
        if (held := self._held([])) is not None:
            return held
        return "DISK_FULL" if code and self._free() <= self._reserve else how

    def _free(self) -> int:
        about = os.fstatvfs(self._directory)
        return about.f_bavail * about.f_frsize


def _clear() -> None:
    """Ends every process below this one, and waits until none is left.

    WHY children only: a child's id is its own until it is buried here, so the signal reaches nobody else. What a child
    has started becomes a child of this process when that ends.
    """
    until = time.monotonic() + ENDING
    while time.monotonic() < until:
        for child in looking.children(os.getpid()):
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        select.select([], [], [], 0.002)


def _description() -> dict[str, Any]:
    given = b""
    while not given.endswith(b"\n"):
        more = os.read(0, 1 << 16)
        if not more:
            sys.exit(1)  # Stanch is gone before it has said what to do
        given += more
    described: dict[str, Any] = json.loads(given)
    return described


def _tell(told: int, **what: object) -> None:
    with suppress(BrokenPipeError):
        os.write(told, json.dumps(what).encode() + b"\n")


def _bell() -> int:
    """A descriptor that can be read once a child has ended."""
    rung, ring = os.pipe()
    for end in (rung, ring):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return rung


def _empty(rung: int) -> None:
    with suppress(BlockingIOError):
        while os.read(rung, 512):
            pass
