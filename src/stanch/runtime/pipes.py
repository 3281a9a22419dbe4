"""Pipes to a process that watches over another one, each end closed once.

Settles how an end is held, and that all of some bytes is written. Does not settle what goes through.
"""

from __future__ import annotations

import os
from contextlib import ExitStack


class End:
    """One end of a pipe, closed once."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor; less than 0 once it is closed."""
        return self._descriptor

    def close(self) -> None:
        """Closes it. Safe to repeat."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def pipe(ends: ExitStack) -> tuple[End, End]:
    """The ends to read from and to write to, which are closed with the stack. Raises `OSError`."""
    read, write = (End(descriptor) for descriptor in os.pipe())
    ends.callback(read.close)
    ends.callback(write.close)
    return read, write


def write_all(end: End, data: bytes) -> None:
    """Writes all of it, however long that takes. Raises `OSError`, such as `BrokenPipeError`."""
    view = memoryview(data)
    while view:
        view = view[os.write(end.fileno(), view) :]
