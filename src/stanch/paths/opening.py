"""Opening exactly the file that was judged.

Settles that between judging and opening nothing can slip in: the canonical path is opened with no link followed in any
component, so that a directory or file that was swapped for a link meanwhile is refused, not followed. Does not settle
whether the path may be opened at all (the gate).
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from stanch.paths import kernel
from stanch.paths.kernel import O_PATH
from stanch.values.call import Stamp
from stanch.values.reason import Code

_CHANGED = (errno.ELOOP, errno.ENOTDIR, errno.EXDEV)
_FOLDER = O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_judged(stamp: Stamp, flags: int, mode: int = 0o666, *, parents: bool = False) -> int | Code:
    """A descriptor for the stamped path, which the caller closes, or why it is refused.

    `flags` are those of `os.open`; `parents` makes missing directories. Refused with the stamp's own code where it was
    refused, with `target_changed` where the tree is another than when it was judged, and with `path_unreadable` for
    what is neither a regular file nor a directory. Raises `OSError` for what any opening may meet: no such file, no
    permission. INVARIANT: a refused file is neither read, nor truncated, nor made.
    """
    if stamp.refusal is not None:
        return stamp.refusal
    truncate = flags & os.O_TRUNC
    careful = (flags & ~os.O_TRUNC) | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = _open(stamp.path.encode(), careful, mode, parents=parents)
    except OSError as error:
        if error.errno in _CHANGED:
            return Code.TARGET_CHANGED
        raise
    refusal = _refusal(fd, stamp, writes=bool(flags & (os.O_WRONLY | os.O_RDWR)))
    if refusal is not None:
        os.close(fd)
        return refusal
    try:
        os.set_blocking(fd, True)
        if truncate:
            os.ftruncate(fd, 0)
    except OSError:
        os.close(fd)
        raise
    return fd


def _refusal(fd: int, stamp: Stamp, *, writes: bool) -> Code | None:
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode):
        return Code.TARGET_CHANGED if writes and found.st_nlink > max(stamp.links, 1) else None
    return None if stat.S_ISDIR(found.st_mode) else Code.PATH_UNREADABLE


def _open(path: bytes, flags: int, mode: int, *, parents: bool) -> int:
    if not parents and kernel.available():
        fd = kernel.openat2(path, kernel.how(flags, kernel.NO_SYMLINKS, mode if flags & os.O_CREAT else 0))
        if fd >= 0:
            return fd
        code = kernel.last_errno()
        raise OSError(code, os.strerror(code))
    return _by_steps(path, flags, mode, parents=parents)


def _by_steps(path: bytes, flags: int, mode: int, *, parents: bool) -> int:
    """Opens component by component through the descriptor of the one above; no link is followed anywhere."""
    *folders, name = [part for part in path.split(b"/") if part] or [b"."]
    here = os.open("/", _FOLDER)
    try:
        for folder in folders:
            below = _enter(folder, here, make=parents)
            os.close(here)
            here = below
        return os.open(name, flags, mode, dir_fd=here)
    finally:
        os.close(here)


def _enter(folder: bytes, here: int, *, make: bool) -> int:
    try:
        return os.open(folder, _FOLDER, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # somebody was faster: whatever it is, it is opened without following a link
        os.mkdir(folder, dir_fd=here)
    return os.open(folder, _FOLDER, dir_fd=here)
