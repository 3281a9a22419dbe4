"""The limits that the kernel holds each process of a program to.

Settles which resource limits are set, in the process that becomes the program. Does not settle the limits over all of
its processes together (`warden`). Imports the standard library only.
"""

from __future__ import annotations

import math
import os
import resource
import signal
from collections.abc import Mapping
from contextlib import suppress

_OPEN_FILES = 512
_SPARE = 16
_BLOCK = 1 << 16


def limits_of_each(limits: Mapping[str, float]) -> dict[int, int]:
    """The resource limits of each process, by their numbers."""
    memory = int(limits["memory"])
    return {
        resource.RLIMIT_CORE: 0,
        # WHY times the processors: the threads of a process add up. What a clock shows is watched by the warden.
        resource.RLIMIT_CPU: math.ceil(limits["seconds"]) * (os.cpu_count() or 1) + 1,
        # WHY one block more: what fills its directory is ended for that, and not only refused one write.
        resource.RLIMIT_FSIZE: int(limits["directory_bytes"]) + _BLOCK,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        # WHY more than it may have: what it has is counted by the warden, which can say so. This stops one big request.
        resource.RLIMIT_DATA: memory + memory // 2,
        resource.RLIMIT_AS: 16 * memory,
        resource.RLIMIT_MEMLOCK: _BLOCK,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 1024,
    }


def brake(process: int, processes: int) -> None:
    """Has the kernel refuse a process below this one more processes than it may have, which slows a fork bomb.

    It is counted from the namespace that the process is in, and not at all for root; the warden counts for everybody.
    """
    with suppress(OSError, ValueError):
        resource.prlimit(process, resource.RLIMIT_NPROC, (processes + _SPARE, processes + _SPARE))


def apply(limits: Mapping[str, float]) -> None:
    """Sets the limits for this process, and for whatever it becomes or starts."""
    for number, most in limits_of_each(limits).items():
        hard = resource.getrlimit(number)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (value, value))
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb") as file:
        file.write(b"1000")  # where memory runs out, this goes first
    with suppress(OSError):
        os.nice(10)
    os.umask(0o022)


def forget_signals() -> None:
    """Gives every signal back the meaning that it has for a program that was just started."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is not None:  # one that the C library keeps for itself
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
