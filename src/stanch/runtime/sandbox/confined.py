"""What a warden knows of the program that it has started, whichever sandbox confines it.

Settles how the two ways to start one look to the warden. Does not settle either (`warden_bubblewrap`,
`warden_landlock`). Imports the standard library only.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Protocol

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None, use_errno=True)


class Confined(Protocol):
    """A program that a sandbox has started."""

    overhead: int
    """Processes below the warden that are the sandbox's own."""

    def code(self) -> int | None:
        """Its exit code, once it has ended: 128 and the signal's number where one ended it."""

    def end(self) -> None:
        """Ends it at once, as far as the sandbox can."""

    def room(self) -> str | None:
        """What it has too much of in the places for temporary files, if it has."""

    def close(self) -> None:
        """Takes away what was made for it, once nothing of it is running."""


class CannotStart(Exception):
    """The sandbox did not come to be. The message is a sentence without content."""


def adopt_orphans() -> None:
    """Makes this process the parent of whatever is orphaned below it."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Has the kernel end this process when the one that started it ends."""
    _prctl(_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
