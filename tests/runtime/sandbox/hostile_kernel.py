"""Tries to act on other processes, and on the machine. It is run inside."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable

from tests.runtime.sandbox.hostile import AIMS, LIBC, X86, Held, attempt, call, read, shell


@attempt
def signal_the_server() -> None:
    _of_the_server(lambda number: os.kill(number, 0))


@attempt
def trace_the_server() -> None:
    _of_the_server(lambda number: call("ptrace", 16, number, None, None))


@attempt
def read_memory_of_the_server() -> str:
    return read(f"/proc/{AIMS['server']}/mem")


@attempt
def limit_the_server() -> None:
    import resource

    _of_the_server(lambda number: resource.prlimit(number, resource.RLIMIT_CORE, (0, 0)))


@attempt
def slow_the_server() -> None:
    _of_the_server(lambda number: os.setpriority(os.PRIO_PROCESS, number, 19))


@attempt
def pin_the_server() -> None:
    _of_the_server(lambda number: os.sched_setaffinity(number, {0}))


@attempt
def descriptor_of_the_server() -> None:
    _of_the_server(lambda number: call("syscall", 438, os.pidfd_open(number), 0, 0))


def _of_the_server(act: Callable[[int], object]) -> None:
    """Acts on the server, unless that number is another process's here."""
    if os.path.isdir("/proc/1"):
        try:
            if AIMS["variable"] not in read(f"/proc/{AIMS['server']}/cmdline"):
                raise Held
        except FileNotFoundError:
            raise Held from None
    act(AIMS["server"])


@attempt
def mount() -> None:
    os.makedirs("mounted", exist_ok=True)
    where = os.path.abspath("mounted").encode()
    call("mount", b"none", where, b"tmpfs", 0, None)
    call("umount2", where, 2)


@attempt
def bind() -> None:
    os.makedirs("bound", exist_ok=True)
    where = os.path.abspath("bound").encode()
    call("mount", b"/", where, None, 4096, None)
    call("umount2", where, 2)


@attempt
def make_writable_again() -> None:
    call("mount", None, b"/usr", None, 32 | 4096, None)


@attempt
def unmount() -> None:
    """With the flag that takes nothing away at the first time, and says so."""
    if LIBC.umount2(b"/proc", 4) < 0 and ctypes.get_errno() != errno.EAGAIN:
        raise Held


@attempt
def other_root() -> None:
    os.chroot(".")


@attempt
def user_namespace() -> None:
    call("unshare", 0x10000000)


@attempt
def user_namespace_by_clone() -> None:
    call("syscall", 56 if X86 else 220, 0x10000000 | 17, None, None, None, None)
    os._exit(0)


@attempt
def user_namespace_by_program() -> str:
    return shell(["unshare", "-Ur", "true"])


@attempt
def namespace_of_the_first_process() -> None:
    with open("/proc/1/ns/net") as file:
        call("setns", file.fileno(), 0)


@attempt
def other_user() -> None:
    os.setresuid(12345, 12345, 12345)


@attempt
def become_root_by_su() -> str:
    return shell(["su", "-c", "true"])


@attempt
def become_root_by_sudo() -> str:
    if not os.path.exists("/usr/bin/sudo"):
        raise Held
    return shell(["sudo", "-n", "true"])


@attempt
def capabilities() -> str:
    """Asked of the kernel by itself, since there may be no /proc."""
    held = ctypes.create_string_buffer(24)
    call("capget", ctypes.create_string_buffer((0x20080522).to_bytes(4, "little") + bytes(4)), held)
    if not any(held.raw):
        raise Held
    return repr(held.raw)


@attempt
def new_privileges() -> None:
    if call("prctl", 39, 0, 0, 0, 0):
        raise Held


@attempt
def key_of_the_session() -> str:
    if AIMS["key"] is None:
        raise Held
    kept = ctypes.create_string_buffer(64)
    call("syscall", 250 if X86 else 219, 11, AIMS["key"], kept, 64)
    return repr(kept.value)


@attempt
def shared_memory_file() -> str:
    return read(f"/dev/shm/{AIMS['variable']}")


@attempt
def shared_memory() -> None:
    call("shmget", AIMS["shared"], 0, 0)


@attempt
def queue() -> None:
    call("mq_open", f"/{AIMS['variable']}".encode(), 0)


@attempt
def memory_of_the_machine() -> None:
    with open("/dev/mem", "rb") as file:
        mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ)


@attempt
def disk_of_the_machine() -> str:
    for name in os.listdir("/dev"):
        if name.startswith(("sd", "vd", "nvme", "loop", "dm-")):
            return read(f"/dev/{name}")
    raise Held


@attempt
def make_a_device() -> None:
    os.mknod("device", 0o600 | 0o020000, os.makedev(1, 1))


@attempt
def terminal() -> None:
    with open("/dev/tty", "w"):
        pass


@attempt
def type_into_a_terminal() -> None:
    import fcntl

    for number in (0, 1, 2):
        try:
            fcntl.ioctl(number, 0x5412, b"x")
        except OSError:
            continue
        return
    raise Held


@attempt
def messages_of_the_kernel() -> None:
    call("klogctl", 3, ctypes.create_string_buffer(64), 64)


@attempt
def settings_of_the_kernel() -> None:
    with open("/proc/sys/kernel/core_pattern", "w"):
        pass


@attempt
def groups_of_processes() -> None:
    with open("/sys/fs/cgroup/cgroup.procs", "w"):
        pass


@attempt
def old_calls() -> None:
    """Those of 32 bits, which a filter by number would not know."""
    if not X86:
        raise Held
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(bytes.fromhex("b814000000cd80c3"))  # getpid, in the old way
    where = ctypes.addressof(ctypes.c_char.from_buffer(page))
    child = os.fork()
    if not child:
        ctypes.CFUNCTYPE(ctypes.c_int)(where)()
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise Held
