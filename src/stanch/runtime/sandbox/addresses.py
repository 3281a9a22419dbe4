"""Paths that a Unix socket can be reached by.

Settles where what a sandbox needs of them lies, however long the paths of this machine are. Does not settle who may
reach one.
"""

from __future__ import annotations

import os
import tempfile

LONGEST = 107
"""Bytes of a path that a socket can be bound to or reached by."""
_ROOM = 60


def short_directory() -> str:
    """A directory for temporary files whose names a socket's address has room for."""
    usual = tempfile.gettempdir()
    others = (one for one in ("/tmp", "/var/tmp", "/dev/shm") if os.access(one, os.W_OK | os.X_OK))  # noqa: S108
    return usual if len(os.fsencode(usual)) <= _ROOM else next(others, usual)


def reachable(path: str, folder: str) -> str:
    """The path of a socket, or where that is too long, that of a link to it, which is made in the folder."""
    if len(os.fsencode(path)) <= LONGEST:
        return path
    link = os.path.join(folder, ".stanch-socket")
    os.symlink(path, link)
    return link
