"""Whether a sandbox holds, found out by running a program in it that tries to get out.

Settles what the program is given to aim at, and what its outcome means. Does not settle what it tries (`probe`).
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from stanch.runtime.sandbox import probe
from stanch.runtime.sandbox.addresses import short_directory
from stanch.runtime.sandbox.program import MIB, How, Limits, Program, Sandbox
from stanch.runtime.sandbox.removing import remove_tree

_LIMITS = Limits(seconds=30.0, memory=512 * MIB, processes=16, output_bytes=MIB)
_MARK = b"marked"
_ADD_KEY = {"x86_64": 248, "aarch64": 217}
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_SESSION_KEYRING, _UNLINK = -3, 9


def why_not(sandbox: Sandbox) -> str | None:
    """One sentence on why this sandbox is not used; None where it held against every try."""
    with ExitStack() as ends:
        try:
            place = Path(tempfile.mkdtemp(prefix="stanch-probe-", dir=short_directory()))
            ends.callback(remove_tree, place)
            aims = _Aims(place, ends)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            return f"{sandbox.name} cannot be tried here: what it has to keep a program from cannot be made ({why})"
        return aims.tried(sandbox)


class _Aims:
    """Things of this machine that a sandbox has to keep a program from."""

    def __init__(self, place: Path, ends: ExitStack) -> None:
        self._inside, self._outside = place / "inside", place / "outside"
        self._inside.mkdir(0o700)
        self._outside.mkdir(0o700)
        self._marked = self._outside / "marked"
        self._marked.write_bytes(_MARK)
        self._marked.chmod(0o600)
        self._variable = f"stanch-probe-{secrets.token_hex(8)}"
        self._addresses: list[str] = []
        self._heard: list[socket.socket] = []
        self._tcp = self._listening(ends, socket.SOCK_STREAM)
        self._udp = self._listening(ends, socket.SOCK_DGRAM)
        for address in ("\0" + self._variable, str(self._outside / "socket")):
            self._listen(ends, socket.socket(socket.AF_UNIX), address)
        self._listen(ends, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), str(self._outside / "datagrams"))
        self._shared = _shared(ends)
        self._key = _key(self._variable, ends)
        _queue(ends, self._variable)
        words = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", self._variable]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, env={self._variable: "1"})  # noqa: S603
        ends.callback(self._process.wait)
        ends.callback(self._process.kill)
        if self._process.stdin is not None:
            ends.callback(self._process.stdin.close)

    def _listening(self, ends: ExitStack, kind: int) -> int:
        """The port that is heard, on every address that this machine has of its own."""
        port = 0
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with suppress(OSError):
                made = socket.socket(family, kind)
                self._listen(ends, made, (address, port))
                port = made.getsockname()[1]
                if address not in self._addresses:
                    self._addresses.append(address)
        return port

    def _listen(self, ends: ExitStack, made: socket.socket, address: object) -> None:
        ends.callback(made.close)
        made.setblocking(False)
        made.bind(address)  # type: ignore[arg-type]
        if made.type == socket.SOCK_STREAM:
            made.listen()
        self._heard.append(made)

    def tried(self, sandbox: Sandbox) -> str | None:
        """Why it is not used, once the program has tried."""
        outside = str(self._outside)
        aims: dict[str, object] = {"outside": outside, "marked": str(self._marked), "addresses": self._addresses}
        aims |= {"tcp": self._tcp, "udp": self._udp, "abstract": self._variable, "variable": self._variable}
        aims |= {"unix": f"{outside}/socket", "datagram": f"{outside}/datagrams", "shared": self._shared}
        aims |= {"process": self._process.pid, "key": self._key}
        said: list[bytes] = []
        words = ("python3", "-I", "-S", "-c", Path(probe.__file__).read_text("utf-8"))
        program = Program(words, self._inside, json.dumps(aims).encode(), limits=_LIMITS)
        ended = sandbox.run(program, said.append, threading.Event())
        if ended.how is not How.BY_ITSELF:
            return f"{sandbox.name} cannot be used here: {_lower(ended.said)}"
        try:
            got = json.loads(b"".join(said).splitlines()[-1])
            names = [str(name) for name in got["got"]] if got["complete"] else ["it ended too early"]
        except (ValueError, KeyError, IndexError, TypeError):
            return f"{sandbox.name} cannot be used here: a program in it could not be run to its end."
        if names := names + self._changed():
            return f"{sandbox.name} does not hold here: a program in it got out ({', '.join(names)})."
        return None

    def _changed(self) -> list[str]:
        found = []
        if any(_is_heard(made) for made in self._heard):
            found.append("it was heard on this machine")
        about = self._marked.stat() if self._marked.exists() else None
        if (
            about is None
            or sorted(os.listdir(self._outside)) != ["datagrams", "marked", "socket"]
            or about.st_mode & 0o177
        ):
            found.append("files of this machine were changed")
        elif self._marked.read_bytes() != _MARK or about.st_nlink != 1 or about.st_mtime < 2:
            found.append("a file of this machine was changed")
        if not (self._inside / "written").exists():
            found.append("what it writes does not arrive")
        return found


def _is_heard(made: socket.socket) -> bool:
    try:
        if made.type == socket.SOCK_STREAM:
            made.accept()[0].close()
        else:
            made.recv(16)
    except OSError:
        return False
    return True


def _key(name: str, ends: ExitStack) -> int | None:
    """A key in the session's keyring, where there is one: whoever inherits the keyring could read it."""
    number = _ADD_KEY.get(os.uname().machine)
    if number is None:
        return None
    made = ctypes.CDLL(None).syscall(number, b"user", name.encode(), _MARK, len(_MARK), _SESSION_KEYRING)
    if made <= 0:
        return None
    ends.callback(ctypes.CDLL(None).syscall, _KEYCTL[os.uname().machine], _UNLINK, made, _SESSION_KEYRING)
    return int(made)


def _shared(ends: ExitStack) -> int:
    """The number of a piece of memory that processes of this machine share."""
    library = ctypes.CDLL(None)
    number = 1 + secrets.randbelow(0x7FFFFFF0)
    made = library.shmget(number, 4096, 0o1600)
    if made >= 0:
        ends.callback(library.shmctl, made, 0, None)
    return number


def _queue(ends: ExitStack, name: str) -> None:
    """Makes a message queue of this machine, where it has any."""
    library = ctypes.CDLL(None)
    made = library.mq_open(f"/{name}".encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
    if made >= 0:
        ends.callback(library.mq_unlink, f"/{name}".encode())
        ends.callback(os.close, made)


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
