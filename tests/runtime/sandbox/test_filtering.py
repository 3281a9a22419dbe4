"""Does the filter of system calls refuse what it should on every machine that it is made for?"""

from __future__ import annotations

import errno
import struct

import pytest

from stanch.runtime.sandbox import filtering

ALLOW, KILL = 0x7FFF0000, 0x80000000
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def decide(program: bytes, machine: int, number: int, *words: int) -> int:
    """What the kernel would do with the call."""
    given = struct.pack("<IIQ6Q", number, machine, 0, *(*words, 0, 0, 0, 0, 0, 0)[:6])
    held, at = 0, 0
    lines = [struct.unpack_from("<HBBI", program, place) for place in range(0, len(program), 8)]
    while True:
        code, where, otherwise, value = lines[at]
        at += 1
        if code == 0x20:
            held = struct.unpack_from("<I", given, value)[0]
        elif code == 0x06:
            return int(value)
        else:
            holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += where if holds else otherwise


def refused(number: int) -> int:
    return 0x00050000 | number


NUMBERS = {
    # getpid, openat, keyctl, mount, socket, clone, unshare, ioctl, chmod at, prlimit64, setpriority
    "x86_64": (39, 257, 250, 165, 41, 56, 272, 16, 268, 302, 141),
    "aarch64": (172, 56, 219, 40, 198, 220, 97, 29, 53, 261, 140),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_both_filters(machine: str) -> None:
    first, second = filtering.program(machine), filtering.beside_landlock(machine)
    assert first is not None
    assert second is not None
    getpid, openat, keyctl, mount, socket, clone, unshare, ioctl, chmod, prlimit, priority = NUMBERS[machine]
    kind = MACHINES[machine]
    for program in (first, second):
        assert decide(program, kind, getpid) == decide(program, kind, openat) == ALLOW
        assert decide(program, 0x40000003, getpid) == KILL
        assert decide(program, kind, 0x40000000 | getpid) == KILL
        assert decide(program, kind, ioctl, 0, 0x5412) == refused(errno.EPERM)
        assert decide(program, kind, ioctl, 0, 0x5401) == ALLOW
        assert decide(program, kind, socket, 1) == ALLOW
        for family in (17, 38, 40):
            assert decide(program, kind, socket, family) == refused(errno.EAFNOSUPPORT)
    for number in (keyctl, mount, 425, 428):
        assert decide(first, kind, number) == refused(errno.EPERM)
    assert decide(first, kind, 435) == refused(errno.ENOSYS)
    assert (
        decide(first, kind, clone, 0x10000000 | 17) == decide(first, kind, unshare, 0x10000000) == refused(errno.EPERM)
    )
    assert decide(first, kind, clone, 17) == decide(first, kind, socket, 2) == decide(first, kind, chmod) == ALLOW
    assert decide(second, kind, socket, 2) == refused(errno.EAFNOSUPPORT)
    assert decide(second, kind, chmod) == decide(second, kind, 452) == refused(errno.EPERM)
    assert decide(second, kind, prlimit, 0) == decide(second, kind, priority, 7, 0) == ALLOW
    assert decide(second, kind, prlimit, 7) == decide(second, kind, priority, 0, 7) == refused(errno.EPERM)


def test_a_machine_that_is_not_known_has_none() -> None:
    assert filtering.program("vax") is None
    assert filtering.beside_landlock("vax") is None
