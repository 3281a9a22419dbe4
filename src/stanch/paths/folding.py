"""Whether names that differ only in letter case are one file: found out by probing, once per mount.

Settles which mounts fold case. Does not settle how patterns are compared (`paths.pattern`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable

# File systems that may fold case on Linux. Others are not probed: they cannot.
_MAY_FOLD = frozenset({"vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "cifs", "smb3", "hfs", "hfsplus", "apfs"})
_MAY_FOLD |= {"9p", "jfs", "virtiofs", "vboxsf", "prl_fs"}


def probe(directory: str) -> bool:
    """False where a name in the directory is not found in the other letter case; True where it is, or none can tell."""
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                other = entry.name.swapcase()
                if other != entry.name:
                    return _same(entry.path, os.path.join(directory, other))
    except OSError:
        return True
    return True


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False


def candidates() -> list[str]:
    """Mount points that may fold case."""
    if sys.platform != "linux":
        return ["/"]
    found = []
    with open("/proc/self/mountinfo", "rb") as table:
        for line in table:
            left, _, right = line.partition(b" - ")
            if right.split(b" ", 1)[0].decode("ascii", "replace") in _MAY_FOLD:
                mount = re.sub(rb"\\([0-7]{3})", _unescaped, left.split(b" ")[4])
                found.append(mount.decode("utf-8", "replace"))
    return found


def _unescaped(octal: re.Match[bytes]) -> bytes:
    return bytes([int(octal[1], 8)])


class FoldingMounts:
    """The mounts that fold case, each probed once."""

    def __init__(self, mounts: Iterable[str] | None = None, probing: Callable[[str], bool] = probe) -> None:
        self.roots = tuple(m.rstrip("/") for m in (candidates() if mounts is None else mounts) if probing(m))

    def folds(self, path: str) -> bool:
        """True where the canonical path lies on a mount that folds case."""
        return any(path == root or path.startswith(root + "/") for root in self.roots)
