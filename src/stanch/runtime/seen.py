"""How a file was when a model was last told of it, and whether it is another by now.

Settles when a file counts as changed. Does not settle which files a model has read, nor whether it may hear of them
(`app.changed_files`). INVARIANT: what is read here is kept as a digest alone, and never shown.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import NamedTuple

from stanch.paths.opening import open_judged
from stanch.runtime.builtin.content import read_block
from stanch.values.call import Stamp
from stanch.values.reason import Code

MOST_DIGESTED = 4 * 1024 * 1024
# How much later than it says a file may have been written to: its time goes on in steps.
_STEP = 10_000_000


class Seen(NamedTuple):
    """A file as it was. `digest` is None where nothing but the rest is known. `since`: all that is known is that it was
    there at this moment, in nanoseconds of the epoch.
    """

    size: int = -1
    modified: int = -1
    file: tuple[int, int] = (0, 0)
    digest: bytes | None = None
    since: int | None = None
    gone: bool = False


GONE = Seen(gone=True)


def look(path: str, *, digest: bool = True) -> Seen | None:
    """The regular file at a canonical path as it is now, `GONE` where there is none; None where nobody can tell."""
    stamp = Stamp(path, path, path)
    try:
        found = open_judged(stamp, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return GONE
    except OSError:
        return None
    if isinstance(found, Code):
        # WHY: whatever has the name now, the file that had it has it no more.
        return GONE if found in (Code.TARGET_CHANGED, Code.PATH_UNREADABLE) else None
    try:
        status = os.fstat(found)
        if not stat.S_ISREG(status.st_mode):
            return GONE
        return _seen(status, _digest(found, status.st_size) if digest else None)
    except OSError:
        return None
    finally:
        os.close(found)


def as_of(path: str, began: int) -> Seen | None:
    """The file as a tool saw it that began at this moment; what may have been written while it read counts as changed.

    None for what is no regular file, and where nobody can tell.
    """
    found = look(path)
    if found is None or found.gone:
        return None
    return found if found.modified < began - _STEP else Seen(since=found.modified - 1)


def changed(path: str, before: Seen) -> Seen | None:
    """The file as it is now where it is another than before; None where it is not, or nobody can tell."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None if before.gone else GONE
    except (OSError, ValueError):
        return None
    if before.since is None and not before.gone and _seen(status, before.digest) == before:
        return None
    if before.since is not None and max(status.st_mtime_ns, status.st_ctime_ns) <= before.since:
        return None
    now = look(path)
    if now is None or now == before:
        return None
    same = now.digest is not None and now.digest == before.digest and now.size == before.size
    return None if same else now


def _seen(status: os.stat_result, digest: bytes | None) -> Seen:
    return Seen(status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino), digest)


def _digest(descriptor: int, size: int) -> bytes | None:
    if size > MOST_DIGESTED:
        return None
    made, left = hashlib.sha256(), MOST_DIGESTED
    while block := read_block(descriptor):
        left -= len(block)
        if left < 0:
            return None
        made.update(block)
    return made.digest()
