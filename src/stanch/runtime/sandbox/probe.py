"""A program that tries to get out of the sandbox it runs in.

Settles what is tried. Does not settle what is made of the outcome (`proving`). It is run inside, by whatever Python is
there, imports the standard library only and is given its aims on standard input.
Each try ends in an exception where the sandbox holds. What succeeded is printed, by name.
INVARIANT: where nothing holds it, not even root's rights, it does no harm: it changes nothing but what it was given to
aim at, and takes back what else it has come by.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

_SECONDS = 1.0
_ATTACH, _READ_KEYRING = 16, 11
_FCHMODAT2, _SETXATTRAT, _FILE_SETATTR = 452, 463, 469
_KEYCTL = {"x86_64": 250, "aarch64": 219}


class Held(Exception):
    """The try came to nothing."""


def tries(aims: dict[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is tried, by what it would mean."""
    outside, marked = aims["outside"], aims["marked"]
    for address in aims["addresses"]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        yield "it reaches a TCP port of this machine", _connecting(family, (address, aims["tcp"]))
        yield "it sends UDP to this machine", _sending(family, (address, aims["udp"]))
    yield "it reaches an abstract Unix socket", _connecting(socket.AF_UNIX, "\0" + aims["abstract"])
    yield "it reaches a Unix socket of this machine", _connecting(socket.AF_UNIX, aims["unix"])
    for name in ("sendto", "sendmsg"):
        yield "it sends to a Unix socket of this machine", _sending_to(name, aims["datagram"])
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        yield "it opens a packet socket", lambda kind=kind: socket.socket(socket.AF_PACKET, kind)  # type: ignore[misc]
    yield "it opens a raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    yield "it opens a socket to the hypervisor", lambda: socket.socket(40, socket.SOCK_STREAM)
    for path in (marked, f"/proc/self/root{marked}", f"/proc/1/root{marked}", f"/proc/{aims['process']}/root{marked}"):
        yield "it reads a file of this machine", lambda path=path: _read(path)  # type: ignore[misc]
    yield "it reads a file of this machine through a link", lambda: _linked(marked)
    for process in ("1", str(aims["process"]), str(os.getppid())):
        yield "it reads the variables of another process", lambda process=process: _variables(process, aims["variable"])  # type: ignore[misc]
    yield "it writes a file of this machine", lambda: _opens(os.path.join(outside, "new"), "w")
    yield "it changes a file of this machine", lambda: _opens(marked, "r+")
    for change in (lambda: os.chmod(marked, 0o500), lambda: os.utime(marked, (1, 1)), lambda: os.chown(marked, 1, 1)):
        yield "it changes what is known of a file of this machine", change
    yield "it changes what is known of a file of this machine", lambda: os.setxattr(marked, "user.probe", b"1")
    for number in (_FCHMODAT2, _SETXATTRAT, _FILE_SETATTR):  # the C library may not know them
        yield "it changes what is known of a file of this machine", _newer(number, marked)
    yield "it watches a directory of this machine", lambda: _watch(outside)
    yield "it cuts a file of this machine", lambda: os.truncate(marked, 0)
    yield "it gives a file of this machine another name", lambda: os.link(marked, "linked")
    yield "it removes a file of this machine", lambda: os.unlink(marked)
    yield "it signals another process", lambda: _other(aims, lambda process: os.kill(process, 0))
    for act in (_limit, _slow, _pin):
        yield "it changes another process", lambda act=act: _other(aims, act)  # type: ignore[misc]
    yield "it looks into another process", lambda: _other(aims, _attach)
    yield "it reaches memory that processes of this machine share", lambda: _call("shmget", aims["shared"], 0, 0)
    yield "it reaches a queue of this machine", lambda: _call("mq_open", f"/{aims['variable']}".encode(), 0)
    yield "it reads the keys of this machine's session", lambda: _key(aims)
    yield "it changes settings of the kernel", lambda: _opens("/proc/sys/kernel/core_pattern", "r+")
    yield "it was left a descriptor", _descriptor
    yield "it mounts", _mounts
    yield "it leaves its root", lambda: os.chroot(".")
    yield "it makes a namespace", lambda: _call("unshare", 0x10000000)
    yield "it becomes another user", _becomes_another


def _connecting(family: int, address: Any) -> Callable[[], object]:
    def connect() -> None:
        with socket.socket(family) as made:
            made.settimeout(_SECONDS)
            made.connect(address)

    return connect


def _sending(family: int, address: Any) -> Callable[[], object]:
    def send() -> None:
        # WHY it is no success by itself: in a network of its own nobody hears it. Whoever listens tells.
        with socket.socket(family, socket.SOCK_DGRAM) as made:
            made.sendto(b"probe", address)
        _held()

    return send


def _held() -> None:
    raise Held


def _opens(path: str, how: str) -> None:
    with open(path, how):
        pass


def _read(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


def _linked(marked: str) -> None:
    os.symlink(marked, "planted")
    try:
        _read("planted")
    finally:
        os.unlink("planted")


def _variables(process: str, name: str) -> None:
    with open(f"/proc/{process}/environ", "rb") as file:
        if name.encode() not in file.read():
            _held()


def _is_it(aims: dict[str, Any]) -> bool:
    """False where another process has that number here, in a namespace of its own."""
    try:
        with open(f"/proc/{aims['process']}/cmdline", "rb") as file:
            return aims["variable"].encode() in file.read()
    except PermissionError:
        return True
    except OSError:
        return not os.path.isdir("/proc/self")


def _other(aims: dict[str, Any], change: Callable[[int], object]) -> None:
    if not _is_it(aims):
        _held()
    change(aims["process"])


def _attach(process: int) -> None:
    _call("ptrace", _ATTACH, process, None, None)


def _limit(process: int) -> None:
    resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))


def _slow(process: int) -> None:
    os.setpriority(os.PRIO_PROCESS, process, 19)


def _pin(process: int) -> None:
    os.sched_setaffinity(process, os.sched_getaffinity(0))


def _newer(number: int, marked: str) -> Callable[[], object]:
    value = ctypes.create_string_buffer(b"1")  # held by what is returned, since its address is passed
    words: dict[int, tuple[Any, ...]] = {
        _FCHMODAT2: (0o777, 0),
        _SETXATTRAT: (0, b"user.probe", struct.pack("<QII", ctypes.addressof(value), 1, 0), 16),
        _FILE_SETATTR: (bytes(24), 24, 0),
    }

    def call() -> None:
        _call("syscall", number, -100, marked.encode(), *words[number])
        assert value  # its address was passed

    return call


def _watch(outside: str) -> None:
    made = ctypes.CDLL(None).inotify_init()
    try:
        _call("inotify_add_watch", made, outside.encode(), 0xFFF)
    finally:
        os.close(made)


def _sending_to(name: str, address: str) -> Callable[[], object]:
    def send() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
            if name == "sendto":
                made.sendto(b"probe", address)
            else:
                made.sendmsg([b"probe"], [], 0, address)

    return send


def _key(aims: dict[str, Any]) -> None:
    number = _KEYCTL.get(os.uname().machine)
    if number is None or aims["key"] is None:
        _held()
    _call("syscall", number, _READ_KEYRING, aims["key"], ctypes.create_string_buffer(64), 64)


def _call(name: str, *words: Any) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*words) < 0:
        _held()


def _mounts() -> None:
    os.makedirs("mounted", exist_ok=True)
    where = os.path.abspath("mounted").encode()
    _call("mount", b"none", where, b"tmpfs", 0, None)
    _call("umount2", where, 2)


def _descriptor() -> None:
    for number in range(3, 512):
        with suppress(OSError):
            os.fstat(number)
            return
    _held()


def _becomes_another() -> None:
    os.setresuid(12345, 12345, 12345)


def main() -> None:
    """Tries everything and prints what succeeded."""
    aims = json.loads(sys.stdin.buffer.read())
    with open("written", "w") as file:
        file.write("probe")
    got = []
    for what, trying in tries(aims):
        try:
            trying()
        except (Held, OSError, ValueError, AttributeError):
            continue
        except BaseException as error:
            got.append(f"{what} ({type(error).__name__})")
        else:
            got.append(what)
    print(json.dumps({"got": sorted(set(got)), "complete": True}))


if __name__ == "__main__":
    main()
