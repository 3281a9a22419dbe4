"""The filters of system calls that programs run under.

Settles which calls the kernel refuses in bubblewrap, beyond what namespaces do, and beside sandlock, beyond what
Landlock and its own filter do. Does not settle what these confine.
WHY a list of what is refused: it takes away ways around the namespaces (sockets of families that have no namespace,
the session's keyring, namespaces of its own) and parts of the kernel that a program of this kind does not need.
Everything else is left to what confines.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable, Mapping

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _MACHINE, _FIRST = 0, 4, 16
_NEW_USER_NAMESPACE = 0x10000000
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink: what the network namespace holds, or the mounts do

# The same on every machine since Linux 5.1.
_ANYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
}
_CLONE3 = 435
_CALLS: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "ptrace": 101,
            "pivot_root": 155,
            "chroot": 161,
            "mount": 165,
            "umount2": 166,
            "swapon": 167,
            "kexec_load": 246,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "perf_event_open": 298,
            "open_by_handle_at": 304,
            "setns": 308,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "finit_module": 313,
            "init_module": 175,
            "bpf": 321,
            "userfaultfd": 323,
            "socket": 41,
            "socketpair": 53,
            "clone": 56,
            "unshare": 272,
            "ioctl": 16,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "ptrace": 117,
            "pivot_root": 41,
            "chroot": 51,
            "mount": 40,
            "umount2": 39,
            "swapon": 224,
            "kexec_load": 104,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "perf_event_open": 241,
            "open_by_handle_at": 265,
            "setns": 268,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "finit_module": 273,
            "init_module": 105,
            "bpf": 280,
            "userfaultfd": 282,
            "socket": 198,
            "socketpair": 199,
            "clone": 220,
            "unshare": 97,
            "ioctl": 29,
        },
    ),
}
_LOOKED_INTO = frozenset({"socket", "socketpair", "clone", "unshare", "ioctl"})
_INTO_A_TERMINAL = (0x5412, 0x541C)  # TIOCSTI types for whoever sits there, TIOCLINUX pastes
_OF_FILES = (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR

# What Landlock leaves open: what is known of a file can be changed, and its changes be watched, wherever it lies.
_BESIDE_LANDLOCK: dict[str, tuple[int, ...]] = {
    # chmod, chown, utime, setxattr, removexattr, each with its kin; inotify_add_watch; mq_open
    "x86_64": (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 240, 254, 260, 261, 268, 280),
    "aarch64": (5, 6, 7, 14, 15, 16, 27, 52, 53, 54, 55, 88, 180),
}
_BESIDE_LANDLOCK_ANYWHERE = (452, 463, 466, 469)  # fchmodat2, setxattrat, removexattrat, file_setattr
# Calls that change another process of the same user, by the place of its number among their arguments:
# prlimit64; sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr; setpriority, ioprio_set.
_OF_A_PROCESS: dict[str, tuple[tuple[int, int], ...]] = {
    "x86_64": ((302, 0), (142, 0), (144, 0), (203, 0), (314, 0), (141, 1), (251, 1)),
    "aarch64": ((261, 0), (118, 0), (119, 0), (122, 0), (274, 0), (140, 1), (30, 1)),
}


def program(machine: str | None = None) -> bytes | None:
    """The filter for bubblewrap on this machine, as the kernel reads it; None where its calls are not known here."""
    known = _CALLS.get(machine or platform.machine())
    if known is None:
        return None
    number_of_machine, calls = known
    refused = sorted({*_ANYWHERE.values(), *(number for name, number in calls.items() if name not in _LOOKED_INTO)})
    lines = [*_beginning(number_of_machine), *_refusing(refused, errno.EPERM)]
    # WHY not EPERM: the C library then falls back to `clone`, whose flags can be seen here.
    lines += _refusing((_CLONE3,), errno.ENOSYS)
    for name in ("clone", "unshare"):
        inside = [_line(_LOAD, _FIRST), _line(_ANY_BIT, _NEW_USER_NAMESPACE, 0, 1), *_end(errno.EPERM), *_end(0)]
        lines += [_line(_EQUAL, calls[name], 0, len(inside)), *inside]
    lines += _families(calls, _FAMILIES)
    lines += _requests(calls["ioctl"], _INTO_A_TERMINAL)
    return b"".join((*lines, *_end(0)))


def beside_landlock(machine: str | None = None) -> bytes | None:
    """The filter that stands beside sandlock's; None on a machine whose calls are not known here."""
    machine = machine or platform.machine()
    known = _CALLS.get(machine)
    if known is None:
        return None
    number_of_machine, calls = known
    lines = [*_beginning(number_of_machine)]
    lines += _refusing((*_BESIDE_LANDLOCK[machine], *_BESIDE_LANDLOCK_ANYWHERE), errno.EPERM)
    for number, place in _OF_A_PROCESS[machine]:
        inside = [_line(_LOAD, _FIRST + 8 * place), _line(_EQUAL, 0, 1, 0), *_end(errno.EPERM), *_end(0)]
        lines += [_line(_EQUAL, number, 0, len(inside)), *inside]
    lines += _families(calls, (1,))
    lines += _requests(calls["ioctl"], (*_INTO_A_TERMINAL, *_OF_FILES))
    return b"".join((*lines, *_end(0)))


def _beginning(number_of_machine: int) -> list[bytes]:
    return [
        *(_line(_LOAD, _MACHINE), _line(_EQUAL, number_of_machine, 1, 0), _line(_RETURN, _KILL), _line(_LOAD, _NUMBER)),
        # WHY: the calls of x32 are those of x86_64 with this bit, and would pass by their numbers.
        *(_line(_AT_LEAST, 0x40000000, 0, 1), _line(_RETURN, _KILL)),
    ]


def _families(calls: Mapping[str, int], allowed: tuple[int, ...]) -> list[bytes]:
    lines = []
    for name in ("socket", "socketpair"):
        passing = [_line(_EQUAL, family, len(allowed) - at, 0) for at, family in enumerate(allowed)]
        inside = [_line(_LOAD, _FIRST), *passing, *_end(errno.EAFNOSUPPORT), *_end(0)]
        lines += [_line(_EQUAL, calls[name], 0, len(inside)), *inside]
    return lines


def _requests(number: int, refused: tuple[int, ...]) -> list[bytes]:
    inside = [_line(_LOAD, _FIRST + 8)]
    for request in refused:
        inside += [_line(_EQUAL, request, 0, 1), *_end(errno.EPERM)]
    inside += _end(0)
    return [_line(_EQUAL, number, 0, len(inside)), *inside]


def _line(code: int, value: int, where: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, where, otherwise, value)


def _end(number: int) -> list[bytes]:
    return [_line(_RETURN, _REFUSE | number if number else _ALLOW)]


def _refusing(numbers: Iterable[int], number: int) -> list[bytes]:
    return [line for call in numbers for line in (_line(_EQUAL, call, 0, 1), *_end(number))]
