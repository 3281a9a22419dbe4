"""Programs in a sandbox, as tests run them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stanch.runtime.sandbox import bubblewrap, landlock
from stanch.runtime.sandbox.program import MIB, Ended, Limits, Program, Sandbox

LIMITS = Limits(seconds=30.0, memory=512 * MIB, directory_bytes=32 * MIB, output_bytes=MIB, temporary_bytes=8 * MIB)
NAMES = (bubblewrap.NAME, landlock.NAME)


@dataclass(frozen=True)
class Ran:
    """What a program wrote, and how it ended."""

    output: str
    ended: Ended

    @property
    def fine(self) -> str:
        """What it wrote; fails unless it ended well."""
        assert (self.ended.how.name, self.ended.code) == ("BY_ITSELF", 0), (self.ended, self.output)
        return self.output


def sandbox_named(name: str) -> Sandbox | str:
    """The sandbox of that name, or why there is none, without the proof that it holds."""
    if name == landlock.NAME:
        return landlock.here()
    where = bubblewrap.found()
    return "bubblewrap is not installed" if where is None else bubblewrap.Bubblewrap(where)


def ran(
    sandbox: Sandbox,
    directory: Path,
    *argv: str,
    stdin: bytes = b"",
    socket: Path | None = None,
    library: Path | None = None,
    cancelled: threading.Event | None = None,
    out: Callable[[bytes], None] | None = None,
    **limits: Any,
) -> Ran:
    """What comes of the program, with other limits than usual where they are named."""
    said: list[bytes] = []
    program = Program(argv, directory, stdin, socket, library, replace(LIMITS, **limits))
    ended = sandbox.run(program, out or said.append, cancelled or threading.Event())
    return Ran(b"".join(said).decode(errors="replace"), ended)


def python(sandbox: Sandbox, directory: Path, code: str, **more: object) -> Ran:
    """What comes of a program in Python."""
    return ran(sandbox, directory, "python3", "-c", code, **more)  # type: ignore[arg-type]


def bash(sandbox: Sandbox, directory: Path, code: str, **more: object) -> Ran:
    """What comes of a program in bash."""
    return ran(sandbox, directory, "bash", "-c", code, **more)  # type: ignore[arg-type]


def below() -> set[int]:
    """The processes that this one has started and that have not been buried."""
    found: set[int] = set()
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/children") as file:
            found |= {int(number) for number in file.read().split()}
    return found


def descriptors() -> set[str]:
    """The descriptors of this process, with what they lead to."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
        except OSError:
            continue
    return found


def running(mark: str) -> list[int]:
    """The processes of this machine that have the mark among their words."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes()
                state = Path(f"/proc/{name}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in words and state not in "ZX" and int(name) != os.getpid():
                found.append(int(name))
    return found


PYTHON = sys.executable
