"""A tree of folders that code has made: looking through it, and removing it, however deep it is.

Settles that no link is followed, and what is said of a folder that nobody can look into. Does not settle what that
means (`delivery.workbench`).
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress

from stanch.delivery.workbench import EntryKind, Mark

DEEPEST = 64
MOST_LOOKED_AT = 200_000
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened: never through a link."""
_CLOSED = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR)


def look(handle: int, found: dict[str, Mark], above: str = "", deep: int = 0) -> None:
    """Notes all that lies in the folder, and closes it. Raises `OSError` where that is too much.

    What goes while somebody looks, since code is at work, is not there; a folder that is another entry by the time
    it is opened is one that nobody has looked into.
    """
    try:
        for name in os.listdir(handle):
            if len(found) >= MOST_LOOKED_AT:
                raise OSError(errno.EFBIG, "too many entries")
            path = f"{above}{name}"
            try:
                mark = _mark(os.lstat(name, dir_fd=handle))
            except FileNotFoundError:
                continue
            found[path] = mark
            if mark.kind is not EntryKind.FOLDER:
                continue
            if deep >= DEEPEST:
                found[path] = Mark(EntryKind.DEEP, mark.device, mark.inode, mark.size, mark.changed)
                continue
            try:
                below = os.open(name, FOLDER, dir_fd=handle)
            except FileNotFoundError:
                del found[path]
                continue
            except OSError as error:
                if error.errno not in _CLOSED:
                    raise
                # WHY not made readable: that would change it, and whoever closed it can open it again.
                found[path] = Mark(EntryKind.DEEP, mark.device, mark.inode, mark.size, mark.changed)
                continue
            look(below, found, f"{path}/", deep + 1)
    finally:
        os.close(handle)


def _mark(found: os.stat_result) -> Mark:
    mode = found.st_mode
    kind = (
        EntryKind.FILE
        if stat.S_ISREG(mode)
        else EntryKind.FOLDER
        if stat.S_ISDIR(mode)
        else EntryKind.LINK
        if stat.S_ISLNK(mode)
        else EntryKind.OTHER
    )
    return Mark(kind, found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns)


def taken_over(old: int, new: int, deep: int = 0) -> None:
    """Moves all that lies in one folder into another one, and makes each folder below it anew, with times of zero.

    What of it was done before is not done again. WHY in order: some disks list names as they came.
    """
    for name in sorted(os.listdir(old)):
        # WHY not so deep: whatever lies there is tainted by any run that begins so, and goes as a whole.
        if deep >= DEEPEST or not stat.S_ISDIR(os.lstat(name, dir_fd=old).st_mode):
            os.rename(name, name, src_dir_fd=old, dst_dir_fd=new)
            continue
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=new)
        former = _enter(old, name)
        try:
            made = os.open(name, FOLDER, dir_fd=new)
            try:
                taken_over(former, made, deep + 1)
            finally:
                os.close(made)
        finally:
            os.close(former)
        os.rmdir(name, dir_fd=old)
    os.utime(new, (0, 0))


def removed(parent: int, name: str) -> None:
    """Removes a folder with all that lies in it, however deep.

    WHY folders are moved up before they are removed: none of their paths then has to be written out.
    """
    handle = _enter(parent, name)
    try:
        while names := os.listdir(handle):
            for one in names:
                if not stat.S_ISDIR(os.lstat(one, dir_fd=handle).st_mode):
                    os.unlink(one, dir_fd=handle)
                    continue
                below = _enter(handle, one)
                try:
                    for further in os.listdir(below):
                        if stat.S_ISDIR(os.lstat(further, dir_fd=below).st_mode):
                            os.close(_enter(below, further))
                            os.rename(further, f"up-{secrets.token_hex(12)}", src_dir_fd=below, dst_dir_fd=handle)
                        else:
                            os.unlink(further, dir_fd=below)
                finally:
                    os.close(below)
                os.rmdir(one, dir_fd=handle)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=parent)


def emptied(handle: int, *, but: str) -> None:
    """Removes all that lies in the folder except for the entry of that name. A link is removed, and never followed."""
    for name in os.listdir(handle):
        if name == but:
            continue
        if stat.S_ISDIR(os.lstat(name, dir_fd=handle).st_mode):
            removed(handle, name)
        else:
            os.unlink(name, dir_fd=handle)


def _enter(parent: int, name: str) -> int:
    # Code may take the rights to a folder from itself; nothing runs now that could put a link there.
    if os.lstat(name, dir_fd=parent).st_mode & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=parent)
    return os.open(name, FOLDER, dir_fd=parent)
