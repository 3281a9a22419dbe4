"""What is run apart, within which limits, and how it ended.

Settles the records that a sandbox is given and gives. Does not settle which sandbox there is (`choosing`), nor how one
confines (`bubblewrap`, `landlock`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a program may take, all of its processes together. Sizes are in bytes."""

    seconds: float = 120.0
    memory: int = GIB
    processes: int = 64
    directory_bytes: int = 512 * MIB
    directory_entries: int = 20_000
    output_bytes: int = 16 * MIB
    temporary_bytes: int = 64 * MIB


@dataclass(frozen=True, slots=True)
class Program:
    """A program to be run apart.

    `directory` is a directory of the host: what the program may write, seen as `/workbench` where the sandbox can show
    it there, and where the program starts. `socket`: a Unix socket of the host that it may speak with; its address
    inside is in `$STANCH_SOCKET`. `library`: a directory of the host that it may read; it is on `PYTHONPATH`, and its
    `bin` is on `PATH`.
    """

    argv: tuple[str, ...]
    directory: Path
    stdin: bytes = field(default=b"", repr=False)
    socket: Path | None = None
    library: Path | None = None
    limits: Limits = Limits()


class How(Enum):
    """What brought a program to its end."""

    BY_ITSELF = "by itself"
    TOO_LATE = "too late"
    NOT_WANTED = "not wanted"
    TOO_MUCH_MEMORY = "too much memory"
    TOO_MANY_PROCESSES = "too many processes"
    TOO_MUCH_ON_DISK = "too much on disk"
    TOO_MUCH_OUTPUT = "too much output"
    DISK_FULL = "disk full"
    LOST = "lost"
    NEVER_STARTED = "never started"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended.

    `code` is its exit code, 128 and the signal's number where one ended it, and of no meaning where it never started.
    `said` is one sentence for a model and a person: what ended it, at which limit, and what to do.
    """

    how: How
    code: int
    said: str


class Sandbox(Protocol):
    """Runs programs so that they reach nothing but what they were given."""

    @property
    def name(self) -> str:
        """The program or library that confines: `bubblewrap` or `sandlock`."""

    def run(self, program: Program, out: Callable[[bytes], None], cancelled: threading.Event) -> Ended:
        """How the program ended. `out` is given both of its streams, as they come, from the calling thread.

        INVARIANT: when this returns, or raises what `out` raised, nothing that the program started is running.
        """


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No sandbox holds on this machine. `why` has a sentence for each that was tried."""

    why: tuple[str, ...]
