"""Asking the kernel to resolve a path under stated rules (`openat2`), where it can.

Settles how one system call is made. Does not settle what its answer means (`paths.canonical`, `paths.opening`).
WHY: the standard library has no `openat2`; everything here is the call and its three flags.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from functools import cache

NO_MAGICLINKS = 0x02
NO_SYMLINKS = 0x04
AT_FDCWD = -100
O_PATH: int = getattr(os, "O_PATH", os.O_RDONLY)

_SYS_OPENAT2 = 437  # the same number on every Linux architecture
_HOW = struct.Struct("QQQ")
_SYSCALL = ctypes.CDLL(None, use_errno=True).syscall if sys.platform == "linux" else None


def how(flags: int, resolve: int, mode: int = 0) -> bytes:
    """The request block of one `openat2` call: open flags, resolve flags, mode bits of a new file."""
    return _HOW.pack(flags | os.O_CLOEXEC, mode, resolve)


def openat2(path: bytes, request: bytes, dir_fd: int = AT_FDCWD) -> int:
    """A new descriptor for the path, which the caller closes; -1 and `last_errno()` where the kernel refuses."""
    if _SYSCALL is None:
        ctypes.set_errno(errno.ENOSYS)
        return -1
    fd: int = _SYSCALL(_SYS_OPENAT2, dir_fd, path, request, _HOW.size)
    return fd


def last_errno() -> int:
    """The error number of the last call in this thread."""
    return ctypes.get_errno()


@cache
def available() -> bool:
    """True where this kernel, and whatever confines this process, allow `openat2`."""
    fd = openat2(b"/", how(O_PATH | os.O_DIRECTORY, NO_SYMLINKS))
    if fd < 0:
        return False
    os.close(fd)
    return True
