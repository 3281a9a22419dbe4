"""Starting a program in bubblewrap, within the warden.

Settles the steps between fork and exec, and that limits stand before the program's first step. Does not settle what is
inside (`bubblewrap`), nor when it ends (`warden`). Imports the standard library only.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from stanch.runtime.sandbox import limiting
from stanch.runtime.sandbox.confined import CannotStart, die_with

_STARTING = 15.0
_JOIN_SESSION_KEYRING = 1
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_ENTRIES_FOR_EACH = 4096  # bytes of a place for temporary files, for each file that may stand in it
_PLACES = ("tmp", "dev/shm")


class Confined:
    """A program in bubblewrap."""

    overhead = 2  # bwrap, and the first process inside, which is bwrap's too

    def __init__(self, child: int, places: Mapping[str, int]) -> None:
        self._child = child
        self._places = places
        self._code: int | None = None

    def code(self) -> int | None:
        """Its exit code, once it has ended: 128 and the signal's number where one ended it."""
        while self._code is None:
            try:
                found, status = os.waitpid(self._child, os.WNOHANG)
            except ChildProcessError:
                return 128 + signal.SIGKILL
            if not found:
                return None
            code = os.waitstatus_to_exitcode(status)
            self._code = code if code >= 0 else 128 - code
        return self._code

    def end(self) -> None:
        """Ends bwrap, and the kernel then all that is in its namespace of processes."""
        if self._code is None:
            with suppress(OSError):
                os.kill(self._child, signal.SIGKILL)

    def room(self) -> str | None:
        """`temporary entries` where there are too many temporary files. The kernel sees to their bytes."""
        for place in self._places.values():
            about = os.fstatvfs(place)
            if about.f_files - about.f_ffree > about.f_blocks * about.f_frsize // _ENTRIES_FOR_EACH + 1024:
                return "temporary entries"
        return None

    def close(self) -> None:
        """Lets go of the places for temporary files, and the kernel then of what is in them."""
        for place in self._places.values():
            os.close(place)


def start(given: Mapping[str, Any], input_: int) -> Confined:
    """The program, running. Raises `CannotStart`, or `OSError` where this machine gives no process or descriptor."""
    inform, informed = os.pipe()
    blocked, release = os.pipe()
    files = {name: _file(base64.b64decode(content)) for name, content in given["files"].items()}
    words = [str(files[word[1:-1]]) if word.startswith("{/") else word for word in given["words"]]
    words += ["--info-fd", str(informed), "--block-fd", str(blocked)]
    passed = [informed, blocked, *files.values()]
    if given["filter"]:
        passed.append(_file(base64.b64decode(given["filter"])))
        words += ["--seccomp", str(passed[-1])]
    passed.append(_file(b"".join(os.fsencode(word) + b"\0" for word in words)))
    command = [b"bwrap", b"--args", b"%d" % passed[-1], b"--", *(os.fsencode(word) for word in given["argv"])]
    here = os.getpid()
    child = os.fork()
    if not child:
        _become(given, command, passed, input_, here)
    for descriptor in (informed, blocked, *files.values(), *passed[2:]):
        with suppress(OSError):
            os.close(descriptor)
    try:
        first = _first(inform)
        places = _places(first, child)
        limiting.brake(first, int(given["limits"]["processes"]))
        os.write(release, b"x")
    finally:
        os.close(inform)
        os.close(release)
    return Confined(child, places)


def _file(content: bytes) -> int:
    descriptor = os.memfd_create("stanch", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _become(given: Mapping[str, Any], command: list[bytes], passed: list[int], input_: int, parent: int) -> NoReturn:
    try:
        limiting.forget_signals()
        os.setsid()
        die_with(parent)
        _leave_keyring()
        os.dup2(input_, 0)
        os.dup2(1, 2)
        for descriptor in passed:
            os.set_inheritable(descriptor, True)
        limiting.apply(given["limits"])
        os.execve(given["bwrap"], command, {})  # noqa: S606 - it is no shell
    finally:
        os._exit(127)


def _leave_keyring() -> None:
    """Gives this process a session keyring of its own: whoever inherits one may read the keys in it."""
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None).syscall(number, _JOIN_SESSION_KEYRING, None)


def _first(inform: int) -> int:
    """The process id, outside, of the first process inside."""
    said, until = b"", time.monotonic() + _STARTING
    while b"}" not in said:
        if not select.select([inform, 0], [], [], max(0.0, until - time.monotonic()))[0]:
            raise CannotStart("the sandbox took too long to start")
        if select.select([0], [], [], 0)[0]:
            raise CannotStart("nobody waits for it any more")
        piece = os.read(inform, 4096)
        if not piece:
            raise CannotStart("bubblewrap could not set up the sandbox")
        said += piece
    return int(json.loads(said)["child-pid"])


def _places(first: int, child: int) -> dict[str, int]:
    """The places for temporary files, once the first process inside has come to where it waits to be released.

    WHY a root that is read-only tells: to make it so is the last thing that is done to the mounts (`bubblewrap`).
    """
    until, here = time.monotonic() + _STARTING, os.stat("/").st_dev
    while True:
        try:
            root = f"/proc/{first}/root"
            if os.stat(root).st_dev != here and os.statvfs(root).f_flag & os.ST_RDONLY:
                break
        except FileNotFoundError:
            raise CannotStart("bubblewrap could not set up the sandbox") from None
        except OSError:
            pass
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            raise CannotStart("bubblewrap could not set up the sandbox")
        if time.monotonic() > until:
            raise CannotStart("the sandbox cannot be watched")
        select.select([], [], [], 0.001)
    how = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    return {name: os.open(f"/proc/{first}/root/{name}", how) for name in _PLACES}
