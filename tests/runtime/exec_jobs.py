"""Jobs of `execute_cmd`, as the gate would let them run."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stanch.runtime.builtin.executing import execute_cmd
from stanch.runtime.environment import environment_for
from stanch.runtime.tool import Job, Output

HERE: Mapping[str, str] = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"}


def job(directory: Path, command: object, timeout: object = None, **more: Any) -> Job:
    """A job that runs the command in the directory."""
    arguments = {"command": command} | ({} if timeout is None else {"timeout": timeout})
    given: dict[str, Any] = {"environment": environment_for(HERE), "cancelled": threading.Event(), "reads": ()}
    given |= {"directory": os.path.realpath(directory)}
    return Job(tool="execute_cmd", arguments=arguments, stamps={}, reader=lambda _: None, **(given | more))


def ran(directory: Path, command: str, timeout: float | None = None, **more: Any) -> Output:
    """What comes of the command."""
    return execute_cmd(job(directory, command, timeout, **more))


def lives(process: int) -> bool:
    """True for a process that runs; one that has ended and was not buried yet does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
