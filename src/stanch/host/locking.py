"""One process at a time: a lock that the kernel keeps for as long as its holder lives.

Settles who may use a directory, and what the holder says of itself to whoever comes second. Does not settle what is in
the directory. A holder that is killed leaves no lock behind.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

LONGEST = 4096


class Held(Exception):
    """Another process holds the lock; `holder` is what it wrote about itself, and may be empty."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        super().__init__("another process holds the lock")


def holder_of(path: Path) -> str | None:
    """What the holder of a lock says of itself; None where nobody holds it. Raises `OSError` where it cannot be read.

    WHY not the file's text alone: a holder that was killed leaves it behind.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, LONGEST, 0).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    return None


class Lock:
    """A lock on a file, held from its making until `release`, the end of a `with` block, or the end of the process.

    WHY: the file stays behind. One that was removed could be made anew by a second process while the first still held
    the one without a name.
    """

    def __init__(self, path: Path) -> None:
        """Raises `Held` where another process has the lock, and `OSError` where the file cannot be used."""
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.tell("")
        except BlockingIOError:
            holder = os.pread(self._fd, LONGEST, 0).decode("utf-8", "replace")
            os.close(self._fd)
            raise Held(holder) from None
        except BaseException:
            os.close(self._fd)
            raise

    @property
    def stands(self) -> bool:
        """True while the file that is held is the one that others find under its name.

        For those who remove what they lock: whoever waited for such a file holds one that nobody else will ask for.
        """
        try:
            found, held = os.lstat(self._path), os.fstat(self._fd)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino)

    def tell(self, text: str) -> None:
        """Writes what whoever comes second is told."""
        raw = text.encode()
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, raw[:LONGEST], 0)

    def release(self) -> None:
        """Gives the lock back. Safe to repeat."""
        if self._fd >= 0:
            self.tell("")
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
