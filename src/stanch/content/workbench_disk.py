"""The directory of one workbench: how files come into it, what lies in it, and how it goes.

Settles that nothing is written, read or removed through a link, and that a file is there whole or not at all. Does not
settle which files may come in (`delivery.gates`), nor what is known of them (`delivery.workbench`).
WHY so careful, where nothing of the session runs meanwhile: what ran before may have put links anywhere.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from stanch.content.workbench_tree import FOLDER, emptied, look, removed, taken_over
from stanch.delivery.workbench import Entries, Mark
from stanch.values.fault import Conflict, NotFound, StoreUnreadable

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_WAY = (errno.ELOOP, errno.ENOTDIR)
_COARSE = 5
"""The clock by which the kernel says when an entry changed; the standard library has no name for it."""
LOCK = "lock"
"""The file that whoever works in the directory holds locked; it lies beside what code sees."""
_AT_ONCE = 1 << 18
_TICK, _TICKS = 0.002, 50


class InTheWay(Conflict):
    """Something that code has made stands where a file is to lie."""


class Directory:
    """A directory in which code runs. Not for two who change it at a time.

    `files` is what code sees. Copies that are still coming lie in `incoming`, which it does not.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.files, self._incoming = root, root / "files", root / "incoming"
        self._former = root / "former"

    def make_root(self) -> None:
        """Makes the directory around it, for its owner alone. Raises `StoreUnreadable` where that cannot be."""
        try:
            for one in (self.root.parent, self.root):
                one.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _trouble(error) from None

    def make(self) -> None:
        """Makes what is missing of it, for its owner alone, and removes copies that never came to their end.

        Raises `StoreUnreadable` where the disk does not let it.
        """
        self.make_root()
        try:
            for one in (self.files, self._incoming):
                one.mkdir(mode=0o700, exist_ok=True)
            for left in os.listdir(self._incoming):
                os.unlink(self._incoming / left)
            self.files.chmod(0o700)
            if os.path.lexists(self._former):
                self._take_over()
        except OSError as error:
            raise _trouble(error) from None

    def entries(self) -> Entries:
        """All that lies in it, by its path. Raises `StoreUnreadable` where it cannot be looked through."""
        found: dict[str, Mark] = {}
        if not os.path.lexists(self.files):
            return found
        try:
            top = os.open(self.files, FOLDER)
            look(top, found)
        except OSError as error:
            raise _trouble(error) from None
        return found

    def settled(self) -> Entries:
        """The same, once whatever changes from now on has another time of its last change than all of them."""
        found = self.entries()
        newest = max((mark.changed for mark in found.values()), default=0)
        for _ in range(_TICKS):
            if time.clock_gettime_ns(_COARSE) > newest:
                break
            time.sleep(_TICK)
        return found

    def put(self, path: str, chunks: Iterable[bytes], size: int) -> None:
        """Puts a file of this size at the path, in the place of another file that may be there.

        Raises `InTheWay` where a link, a folder or a file stands where none may, `StoreUnreadable` where the disk takes
        no more, and whatever the chunks raise: then what was there is as it was.
        """
        *folders, name = path.split("/")
        draft = secrets.token_hex(16)
        try:
            with self._opened(self._incoming) as incoming:
                try:
                    self._written(incoming, draft, chunks, size)
                    with self._below(folders, make=True) as parent:
                        os.rename(draft, name, src_dir_fd=incoming, dst_dir_fd=parent)
                        self._has_this_name(parent, name)
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(draft, dir_fd=incoming)
        except IsADirectoryError:
            raise InTheWay("a folder stands in the workbench where the file is to lie") from None
        except OSError as error:
            raise _trouble(error) from None

    def remove(self, path: str, *, tree: bool = False) -> bool:
        """Removes the file or the link at the path; false where there is none. A folder is removed with `tree` alone.

        A link on the way there is removed itself, and nothing else. Raises `StoreUnreadable`.
        """
        *folders, name = path.split("/")
        try:
            with self._below(folders, make=False) as parent:
                found = os.lstat(name, dir_fd=parent)
                if not stat.S_ISDIR(found.st_mode):
                    os.unlink(name, dir_fd=parent)
                elif tree:
                    removed(parent, name)
                else:
                    return False
        except FileNotFoundError:
            return False
        except InTheWay:
            return self._without_links(folders)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return False
            raise _trouble(error) from None
        return True

    def open(self, path: str) -> BinaryIO:
        """The file at the path, for reading. Raises `NotFound` for whatever is no file."""
        *folders, name = path.split("/")
        try:
            with self._below(folders, make=False) as parent:
                handle = os.open(name, _LOOK, dir_fd=parent)
        except (OSError, InTheWay, ValueError):
            raise NotFound("workbench file", path) from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise NotFound("workbench file", path)
        return os.fdopen(handle, "rb")

    def plain(self, path: str) -> bool:
        """Takes from a folder what it says besides its name: times, rights, attributes. False where that cannot be."""
        *folders, name = path.split("/")
        try:
            with self._below(folders, make=False) as parent:
                handle = os.open(name, FOLDER, dir_fd=parent)
            try:
                for attribute in os.listxattr(handle):
                    os.removexattr(handle, attribute)
                os.fchmod(handle, 0o700)
                os.utime(handle, (0, 0))
            finally:
                os.close(handle)
        except (OSError, InTheWay):
            return False
        return True

    def renew(self) -> None:
        """Makes each of its folders anew, the topmost too: nothing is left of their size, times, rights or attributes.

        Raises `StoreUnreadable`; `make` goes on with one that did not come to its end.
        """
        try:
            if os.path.lexists(self._former):
                self._take_over()
            os.rename(self.files, self._former)
            self.files.mkdir(mode=0o700)
            self._take_over()
        except OSError as error:
            raise _trouble(error) from None

    def _take_over(self) -> None:
        with self._opened(self._former) as old, self._opened(self.files) as new:
            taken_over(old, new)
        self._former.rmdir()

    def quiet(self, path: str) -> bool:
        """Takes from an entry when it was read last, and nothing else. False where that cannot be."""
        *folders, name = path.split("/")
        try:
            with self._below(folders, make=False) as parent:
                found = os.lstat(name, dir_fd=parent)
                os.utime(name, ns=(0, found.st_mtime_ns), dir_fd=parent, follow_symlinks=False)
        except (OSError, InTheWay):
            return False
        return True

    def clear(self) -> None:
        """Removes all of it but its lock. Raises `StoreUnreadable` where something stays."""
        try:
            with self._opened(self.root) as root:
                emptied(root, but=LOCK)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _trouble(error) from None

    def vanish(self) -> None:
        """Removes the directory itself with its lock, once it is clear. It stays where somebody has come meanwhile."""
        with suppress(OSError):
            (self.root / LOCK).unlink()
        self.leave()

    def leave(self) -> None:
        """Removes the directory where nothing is in it, not even a lock."""
        with suppress(OSError):
            self.root.rmdir()

    @contextmanager
    def _opened(self, folder: Path) -> Iterator[int]:
        handle = os.open(folder, FOLDER)
        try:
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def _below(self, folders: Iterable[str], *, make: bool) -> Iterator[int]:
        """A descriptor of a folder of the workbench, component by component. Raises `InTheWay`, `FileNotFoundError`."""
        here = os.open(self.files, FOLDER)
        try:
            for folder in folders:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(folder, 0o700, dir_fd=here)
                try:
                    below = os.open(folder, FOLDER, dir_fd=here)
                except OSError as error:
                    if error.errno in _NO_WAY:
                        raise InTheWay("a file or a link stands in the workbench where a folder is needed") from None
                    raise
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)

    def _without_links(self, folders: list[str]) -> bool:
        for count in range(1, len(folders) + 1):
            *above, name = folders[:count]
            with suppress(OSError, InTheWay), self._below(above, make=False) as parent:
                if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
                    os.unlink(name, dir_fd=parent)
                    return True
        return False

    @staticmethod
    def _written(incoming: int, draft: str, chunks: Iterable[bytes], size: int) -> None:
        done = 0
        with os.fdopen(os.open(draft, _NEW, 0o600, dir_fd=incoming), "wb") as file:
            for chunk in chunks:
                done += len(chunk)
                if done > size:
                    break
                file.write(chunk)
        if done != size:
            raise StoreUnreadable("the file has not the size that it is known to have")

    @staticmethod
    def _has_this_name(parent: int, name: str) -> None:
        """WHY: a disk that takes two names for one would let one file stand in for another."""
        if name not in os.listdir(parent):
            os.unlink(name, dir_fd=parent)
            raise InTheWay("the disk of the workbench does not keep this name as it is written")


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file, which is closed behind them."""
    with file:
        while chunk := file.read(_AT_ONCE):
            yield chunk


def _trouble(error: OSError) -> StoreUnreadable:
    why = (error.strerror or "unknown").lower()
    return StoreUnreadable(f"the workbench cannot be used: {why}")
