"""Resolving a path component by component, as the kernel does, also where its last parts do not exist yet.

Settles the slow, complete way: every component is looked up through the descriptor of its parent, links are read and
followed one by one. `paths.canonical` asks the kernel for the whole path first and comes here for what it leaves open.
"""

from __future__ import annotations

import errno
import os

from stanch.paths.kernel import O_PATH

MAX_LINKS = 40
MAX_PATH_BYTES = 4096
_DIRECTORY = O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unreadable(Exception):
    """The path cannot be resolved; the argument says why in a few words."""


def resolve(path: bytes) -> bytes:
    """The canonical path of an absolute path; raises `Unreadable`.

    A component that does not exist is kept as written, and a `..` behind it takes it away again. A link is followed
    through its target also where that target does not exist. Links inside a process's own folder under `/proc` mean
    something else to each process and are refused.
    """
    walker = _Walker()
    try:
        return walker.run(path)
    except OSError as error:
        raise Unreadable(os.strerror(error.errno or 0).lower()) from None
    finally:
        walker.close()


class _Walker:
    """One walk: the names so far, and for each an open descriptor, or None from the first missing name on."""

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.fds: list[int | None] = [os.open("/", _DIRECTORY)]
        self.links = 0

    def close(self) -> None:
        for fd in self.fds:
            if fd is not None:
                os.close(fd)
        self.fds.clear()

    def run(self, path: bytes) -> bytes:
        todo = path.split(b"/")
        todo.reverse()
        while todo:
            name = todo.pop()
            if name in (b"", b"."):
                continue
            if name == b"..":
                self.up()
                continue
            target = self.link(name)
            if target is not None:
                self.follow(target, todo)
                continue
            self.enter(name, last=not any(todo))
        return b"/" + b"/".join(self.names)

    def up(self) -> None:
        if self.names:
            self.names.pop()
            fd = self.fds.pop()
            if fd is not None:
                os.close(fd)

    def link(self, name: bytes) -> bytes | None:
        """What the link `name` points at; None where it is no link or is missing."""
        here = self.fds[-1]
        if here is None:
            return None
        try:
            return os.readlink(name, dir_fd=here)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def follow(self, target: bytes, todo: list[bytes]) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            raise Unreadable("too many links")
        if len(self.names) > 1 and self.names[0] == b"proc":
            raise Unreadable("a link that means something else to each process")
        if target.startswith(b"/"):
            while self.names:
                self.up()
        todo.extend(reversed(target.split(b"/")))

    def enter(self, name: bytes, *, last: bool) -> None:
        here = self.fds[-1]
        fd = None
        if here is not None:
            try:
                flags = O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC if last else _DIRECTORY
                fd = os.open(name, flags, dir_fd=here)
            except FileNotFoundError:
                fd = None
        elif len(name) > os.pathconf("/", "PC_NAME_MAX"):
            raise Unreadable(os.strerror(errno.ENAMETOOLONG).lower())
        self.names.append(name)
        self.fds.append(fd)
