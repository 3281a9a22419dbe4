"""Removing what a program has left, however deep it lies.

Settles that a tree goes away whole. Does not settle when. Imports the standard library only.
WHY not `shutil.rmtree`: it goes down by calling itself, and a program makes directories deeper than Python may do that.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_HOW = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path) -> None:
    """Removes the directory with all that is in it, and follows no link; nothing where there is none.

    Nobody else may change it meanwhile. Raises `OSError` where something in it cannot be removed.
    """
    if not os.path.lexists(path):
        return
    here = os.open(path, _HOW)
    above: list[tuple[str, list[str]]] = []  # the name of each directory on the way, and what is left to do beside it
    try:
        inside = _emptied(here)
        while inside or above:
            if inside:
                name = inside.pop()
                below = _opened(name, here)
                os.close(here)
                here = below
                above.append((name, inside))
                inside = _emptied(here)
            else:
                name, inside = above.pop()
                parent = os.open("..", _HOW, dir_fd=here)
                os.close(here)
                here = parent
                os.rmdir(name, dir_fd=here)
    finally:
        os.close(here)
    os.rmdir(path)


def _emptied(directory: int) -> list[str]:
    """The directories in this one, once everything else in it is removed."""
    if os.fstat(directory).st_mode & 0o700 != 0o700:
        os.fchmod(directory, 0o700)
    with os.scandir(directory) as listing:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_directory in names:
        if not is_directory:
            os.unlink(name, dir_fd=directory)
    return [name for name, is_directory in names if is_directory]


def _opened(name: str, inside: int) -> int:
    try:
        return os.open(name, _HOW, dir_fd=inside)
    except PermissionError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=inside, follow_symlinks=False).st_mode):
            raise
        os.chmod(name, 0o700, dir_fd=inside)
        return os.open(name, _HOW, dir_fd=inside)
