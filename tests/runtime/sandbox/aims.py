"""Things of this machine that a program in a sandbox has to be kept from, and whether it reached them."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import stanch

MARK = "what nobody in there may read"
_LIBC = ctypes.CDLL(None)


def own_address() -> str:
    """An address that this machine has in its network, or its loopback where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        try:
            made.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(made.getsockname()[0])


class Aims:
    """Listeners, files, keys and a process of the host."""

    def __init__(self, ends: ExitStack, races: int) -> None:
        self.outside = Path(tempfile.mkdtemp(prefix="stanch-aims-"))
        ends.callback(shutil.rmtree, self.outside)
        self.marked = self.outside / "marked"
        self.marked.write_text(MARK, "utf-8")
        self.marked.chmod(0o600)
        self.before = self.marked.stat()
        self.name = f"stanch-aim-{secrets.token_hex(8)}"
        self._ends = ends
        self._heard: list[socket.socket] = []
        tcp = self._ports(socket.SOCK_STREAM, "::")
        udp = self._ports(socket.SOCK_DGRAM, "::")
        database = Path(tempfile.gettempdir()) / f".s.PGSQL.{secrets.randbelow(50000) + 10000}"
        ends.callback(database.unlink)
        for address in (f"\0{self.name}", str(self.outside / "socket"), str(database)):
            self._listen(socket.socket(socket.AF_UNIX), address)
        self._listen(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), str(self.outside / "datagrams"))
        shared = Path("/dev/shm") / self.name
        shared.write_text(MARK, "utf-8")
        ends.callback(shared.unlink)
        words = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", self.name]
        self.server = subprocess.Popen(words, stdin=subprocess.PIPE, env={self.name: MARK})
        ends.callback(self.server.wait)
        ends.callback(self.server.kill)
        assert self.server.stdin is not None
        ends.callback(self.server.stdin.close)
        self.given: dict[str, Any] = {
            "marked": str(self.marked),
            "unix": str(self.outside / "socket"),
            "database": str(database),
            "datagrams": str(self.outside / "datagrams"),
            "abstract": self.name,
            "variable": self.name,
            "tcp": tcp,
            "udp": udp,
            "own": own_address(),
            "server": self.server.pid,
            "races": races,
            "home": os.path.expanduser("~"),
            "project": stanch.__file__,
            "packages": str(Path(ctypes.__file__).parent) if sys.prefix == sys.base_prefix else sys.prefix,
            "shared": self._memory(),
            "key": self._key(),
        }
        self._queue()

    def _ports(self, kind: int, address: str) -> int:
        made = socket.socket(socket.AF_INET6, kind)
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self._listen(made, (address, 0))
        port: int = made.getsockname()[1]
        return port

    def _listen(self, made: socket.socket, address: object) -> None:
        self._ends.callback(made.close)
        made.setblocking(False)
        made.bind(address)  # type: ignore[arg-type]
        if made.type == socket.SOCK_STREAM:
            made.listen(64)
        self._heard.append(made)

    def _memory(self) -> int:
        number = 1 + secrets.randbelow(0x7FFFFFF0)
        made = _LIBC.shmget(number, 4096, 0o1600)
        assert made >= 0
        self._ends.callback(_LIBC.shmctl, made, 0, None)
        return number

    def _key(self) -> int | None:
        number = {"x86_64": 248, "aarch64": 217}.get(os.uname().machine)
        if number is None:
            return None
        made = _LIBC.syscall(number, b"user", self.name.encode(), MARK.encode(), len(MARK), -3)
        if made <= 0:
            return None
        keyctl = 250 if os.uname().machine == "x86_64" else 219
        self._ends.callback(_LIBC.syscall, keyctl, 9, made, -3)
        return int(made)

    def _queue(self) -> None:
        made = _LIBC.mq_open(f"/{self.name}".encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
        if made >= 0:
            self._ends.callback(_LIBC.mq_unlink, f"/{self.name}".encode())
            self._ends.callback(os.close, made)

    def heard(self) -> list[str]:
        """Where something arrived."""
        found = []
        for made in self._heard:
            try:
                if made.type == socket.SOCK_STREAM:
                    made.accept()[0].close()
                else:
                    made.recv(64)
            except BlockingIOError:
                continue
            found.append(repr(made))
        return found

    def changed(self) -> list[str]:
        """What is other than it was."""
        found = []
        about = self.marked.stat() if self.marked.exists() else None
        if about is None or self.marked.read_text("utf-8") != MARK:
            return ["the content of the file"]
        for name in ("st_mode", "st_nlink", "st_uid", "st_mtime_ns", "st_ctime_ns", "st_size"):
            if getattr(about, name) != getattr(self.before, name):
                found.append(name)
        if sorted(os.listdir(self.outside)) != ["datagrams", "marked", "socket"]:
            found.append("the directory")
        if self.server.poll() is not None:
            found.append("the server")
        return found
