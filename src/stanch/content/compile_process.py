"""The process in which a document is made: started, answered, and ended in time.

Settles how long it may go on, and that nothing of what it failed with is told but a word and a line. Does not settle
what it does (`compile_alone`), nor which files it is given (`compile_reading`).
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from stanch.content.compile_template import Problem, Uncompiled

SECONDS = 45.0
MOST_LINE = 1 << 20
MOST_MADE = 128 << 20
_LOOK = 0.05
_BLOCK = 1 << 16
_AT_ONCE = threading.BoundedSemaphore(2)
Answers = Callable[[str, str], Mapping[str, Any]]
"""What is told of a file that a document names, by how it is put in and its path. Where it raises, nothing is made."""


@dataclass(frozen=True, slots=True)
class Made:
    """A document that was made. `told` is what was said of it."""

    data: bytes = field(repr=False)
    told: Mapping[str, Any]


def made(job: Mapping[str, Any], answers: Answers, cancelled: threading.Event, seconds: float = SECONDS) -> Made:
    """The document of a job. Raises `Uncompiled`, and whatever answering raises."""
    with _turn(cancelled, seconds):
        # WHY no environment: whatever a document makes of the process, there is nothing in it to be had.
        child = subprocess.Popen(
            [sys.executable, "-I", "-B", "-m", "stanch.content.compile_alone"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"LANG": "C.UTF-8"},
            cwd="/",
        )
        try:
            with _Talk(child, cancelled, time.monotonic() + seconds) as talk:
                return _made(talk, job, answers)
        finally:
            child.kill()
            child.wait()


@contextmanager
def _turn(cancelled: threading.Event, seconds: float) -> Iterator[None]:
    """Waits until one more may be made, and no longer than making one may take. Raises `Uncompiled`."""
    end = time.monotonic() + seconds
    while not _AT_ONCE.acquire(timeout=_LOOK):
        if cancelled.is_set():
            raise Uncompiled(Problem.CANCELLED)
        if time.monotonic() > end:
            raise Uncompiled(Problem.TOO_LONG)
    try:
        yield
    finally:
        _AT_ONCE.release()


def _made(talk: _Talk, job: Mapping[str, Any], answers: Answers) -> Made:
    talk.say(job)
    while True:
        told = talk.hear()
        if "problem" in told:
            raise Uncompiled(Problem(told["problem"]), str(told["path"]), int(told["line"]))
        if "made" in told:
            return Made(talk.take(int(told["made"])), told)
        talk.say(answers(str(told["kind"]), str(told["path"])))


class _Talk:
    """Lines of JSON to a process and from it. INVARIANT: it waits for no longer than it may."""

    def __init__(self, child: subprocess.Popen[bytes], cancelled: threading.Event, end: float) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._in, self._out = child.stdin, child.stdout
        self._cancelled, self._end = cancelled, end
        self._held = bytearray()
        for pipe in (self._in, self._out):
            os.set_blocking(pipe.fileno(), False)

    def __enter__(self) -> _Talk:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self._in, self._out):
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    def say(self, value: Mapping[str, Any]) -> None:
        """Sends a line."""
        left = memoryview(json.dumps(value).encode() + b"\n")
        while left:
            self._wait(self._in.fileno(), writing=True)
            try:
                left = left[os.write(self._in.fileno(), left[:_BLOCK]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise Uncompiled(Problem.TOO_LONG) from None

    def hear(self) -> Mapping[str, Any]:
        """The next line."""
        while (at := self._held.find(b"\n")) == -1:
            self._more(MOST_LINE)
        line = bytes(self._held[:at])
        del self._held[: at + 1]
        try:
            return dict(json.loads(line))
        except ValueError:
            raise Uncompiled(Problem.DAMAGED) from None

    def take(self, size: int) -> bytes:
        """So many bytes."""
        if size > MOST_MADE:
            raise Uncompiled(Problem.TOO_LARGE)
        while len(self._held) < size:
            self._more(size + _BLOCK)
        return bytes(self._held[:size])

    def _more(self, most: int) -> None:
        self._wait(self._out.fileno(), writing=False)
        data = os.read(self._out.fileno(), _BLOCK)
        if not data:
            # WHY this one: a process that says nothing more was ended by one of its limits.
            raise Uncompiled(Problem.TOO_LONG)
        self._held += data
        if len(self._held) > most + _BLOCK:
            raise Uncompiled(Problem.TOO_LARGE)

    def _wait(self, pipe: int, *, writing: bool) -> None:
        looking = select.poll()
        looking.register(pipe, select.POLLOUT if writing else select.POLLIN)
        while True:
            if self._cancelled.is_set():
                raise Uncompiled(Problem.CANCELLED)
            if time.monotonic() > self._end:
                raise Uncompiled(Problem.TOO_LONG)
            if looking.poll(_LOOK * 1_000):
                return
