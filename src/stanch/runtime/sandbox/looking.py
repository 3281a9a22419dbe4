"""What a program takes at a moment: processes, memory, room in its directory.

Settles how each is counted, from outside of the sandbox. Does not settle what is too much (`warden`). Imports the
standard library only, since it runs in the warden's process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

DEEPEST = 200
"""Directories within one another that are looked into. WHY: each is an open descriptor while it is counted."""


class Held(NamedTuple):
    """What a directory holds, as far as was looked. `whole` is false where something could not be looked into."""

    size: int
    entries: int
    whole: bool


def below(process: int) -> list[int]:
    """The processes that this one started, and those that they started."""
    found, waiting = [], [process]
    try:
        while waiting:
            started = children(waiting.pop())
            found += started
            waiting += started
    except NotImplementedError:
        return _below_by_parents(process)
    return found


def children(process: int) -> list[int]:
    """The processes that this one started. Raises `NotImplementedError` on a kernel that does not say."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{process}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                found += [int(child) for child in file.read().split()]
        except FileNotFoundError:
            if os.path.exists(f"/proc/{process}/task/{thread}/stat"):
                raise NotImplementedError from None  # a kernel without that file
        except OSError:
            continue
    return found


def _below_by_parents(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parents.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    found, waiting = [], [process]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def memory(processes: Iterable[int], most: int) -> int:
    """Bytes of memory that these processes have made their own.

    What they share is counted for each of them at first, which is quick and too much; only where that is over `most`
    it is counted exactly.
    """
    numbers = list(processes)
    quick = sum(_status(number) for number in numbers)
    return quick if quick <= most else sum(_exactly(number) for number in numbers)


def _status(process: int) -> int:
    return _sum(f"/proc/{process}/status", (b"RssAnon:", b"RssShmem:", b"VmSwap:"))


def _exactly(process: int) -> int:
    return _sum(f"/proc/{process}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")) or _status(process)


def _sum(path: str, names: tuple[bytes, ...]) -> int:
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(names))


def held(directory: int, most_size: int, most_entries: int) -> Held:
    """What the directory of this descriptor holds, counted until it is more than either."""
    size = entries = 0
    whole = True
    seen: set[tuple[int, int]] = set()
    waiting: list[tuple[int, list[str]]] = [(os.dup(directory), [])]
    try:
        with os.scandir(directory) as listing:
            waiting[0][1].extend(entry.name for entry in listing)
        while waiting:
            inside, names = waiting[-1]
            if not names:
                os.close(waiting.pop()[0])
                continue
            name = names.pop()
            entries += 1
            try:
                about = os.stat(name, dir_fd=inside, follow_symlinks=False)
            except OSError:
                continue
            if about.st_nlink == 1 or stat.S_ISDIR(about.st_mode) or (about.st_dev, about.st_ino) not in seen:
                size += max(about.st_size, about.st_blocks * 512)
            seen.add((about.st_dev, about.st_ino))
            if size > most_size or entries > most_entries:
                break
            if stat.S_ISDIR(about.st_mode):
                opened = _opened(name, inside) if len(waiting) < DEEPEST else None
                if opened is None:
                    whole = False
                else:
                    waiting.append(opened)
    finally:
        for inside, _ in waiting:
            os.close(inside)
    return Held(size, entries, whole)


def _opened(name: str, inside: int) -> tuple[int, list[str]] | None:
    """The directory and the names in it. One that its owner may not read is made readable to them."""
    how = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        opened = os.open(name, how, dir_fd=inside)
    except FileNotFoundError:
        return None if os.path.lexists(f"/proc/self/fd/{inside}/{name}") else (os.dup(inside), [])
    except PermissionError:
        try:
            place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=inside)
        except OSError:
            return None
        try:
            os.chmod(f"/proc/self/fd/{place}", 0o700)
            opened = os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return None
        finally:
            os.close(place)
    except NotADirectoryError:
        return os.dup(inside), []
    except OSError:
        return None
    try:
        with os.scandir(opened) as listing:
            return opened, [entry.name for entry in listing]
    except OSError:
        os.close(opened)
        return None


def unlinked(processes: Iterable[int], device: int) -> int:
    """Bytes of files on this device that these processes have open and that stand in no directory any more."""
    files: dict[int, int] = {}
    for process in processes:
        with suppress(OSError):
            for descriptor in os.listdir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    about = os.stat(f"/proc/{process}/fd/{descriptor}")
                    if stat.S_ISREG(about.st_mode) and not about.st_nlink and about.st_dev == device:
                        files[about.st_ino] = about.st_blocks * 512
    return sum(files.values())
