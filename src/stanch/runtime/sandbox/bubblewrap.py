"""How bubblewrap is told to confine a program.

Settles what is inside: namespaces, mounts, variables. Does not settle when it ends (`warden`). Everything that is there
is named here; what is not named is not there.
INVARIANT: bwrap itself is started without variables, since a program may read those of the first process inside; and
with its options in a file, since it may read the words it was started with.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stanch.runtime.sandbox import filtering, running
from stanch.runtime.sandbox.program import MIB, Ended, Program

NAME = "bubblewrap"
DIRECTORY = "/workbench"
_TEMPORARY, _MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - those inside
_SOCKET, _LIBRARY = "/run/stanch/socket", "/opt/stanch"
_NUMBER = "1000"
PROGRAMS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
STORES = ("/nix/store", "/gnu/store")
# WHY: what stands here is what somebody put there, not what a distribution did.
HIDDEN = ("/usr/local/etc", "/usr/local/src", "/usr/local/var", "/usr/src")
_DEVICES = ("null", "zero", "full", "random", "urandom")
# WHY: root reads these without any capability, and they tell of the whole machine.
_CLOSED = (
    *("kcore", "keys", "kmsg", "kpagecount", "kpageflags", "kpagecgroup", "slabinfo", "sysrq-trigger"),
    *("timer_list", "vmallocinfo", "latency_stats", "sched_debug"),
)
_SHARED = 16 * MIB
_FILES: Mapping[str, bytes] = {
    "/etc/passwd": b"workbench:x:1000:1000:workbench:/workbench:/bin/bash\n",
    "/etc/group": b"workbench:x:1000:\n",
    "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
    "/etc/host.conf": b"multi on\n",
}


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the program is started: the words before it, and the files that its options name by descriptor."""

    words: tuple[str, ...]
    files: Mapping[str, bytes]


def found() -> str | None:
    """Where bwrap is, if it is here."""
    where = shutil.which("bwrap")
    return None if where is None else os.path.realpath(where)


def arrangement(program: Program) -> Arrangement:
    """The options for this program. A word such as `{/etc/passwd}` stands for the descriptor of that one of `files`."""
    words = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    words += ["--uid", _NUMBER, "--gid", _NUMBER, "--hostname", "workbench"]
    words += _system()
    words += ["--dir", "/etc", "--dir", "/run/stanch"]
    for path in ("/etc/ld.so.cache", "/etc/alternatives"):
        words += ["--ro-bind-try", path, path]
    for path in _FILES:
        words += ["--perms", "0444", "--file", f"{{{path}}}", path]
    words += ["--proc", "/proc"]
    for name in _CLOSED:
        if os.path.exists(f"/proc/{name}"):
            words += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    words += ["--size", str(MIB), "--perms", "0755", "--tmpfs", "/dev"]
    for name in _DEVICES:
        words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for target, name in (("/proc/self/fd", "fd"), ("fd/0", "stdin"), ("fd/1", "stdout"), ("fd/2", "stderr")):
        words += ["--symlink", target, f"/dev/{name}"]
    words += ["--size", str(min(_SHARED, program.limits.temporary_bytes)), "--perms", "1777", "--tmpfs", _MEMORY]
    words += ["--size", str(program.limits.temporary_bytes), "--perms", "1777", "--tmpfs", _TEMPORARY]
    words += ["--dir", "/var", "--symlink", "../tmp", "/var/tmp"]  # noqa: S108 - those inside
    words += ["--bind", os.path.realpath(program.directory), DIRECTORY]
    if program.library is not None:
        words += ["--ro-bind", os.path.realpath(program.library), _LIBRARY]
    if program.socket is not None:
        words += ["--bind", os.path.realpath(program.socket), _SOCKET]
    for name, value in variables(program).items():
        words += ["--setenv", name, value]
    # INVARIANT: these come after everything that makes a place to mount on. What is left writable has a size.
    # WHY /proc: to root, settings of the kernel are files of its own, and it needs no capability to write them.
    words += ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", DIRECTORY]
    return Arrangement(tuple(words), _FILES)


def _system() -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for name in TOP:
        if os.path.islink(f"/{name}"):
            words += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
        elif os.path.isdir(f"/{name}"):
            words += ["--ro-bind", f"/{name}", f"/{name}"]
    for path in STORES:
        words += ["--ro-bind-try", path, path]
    interpreter = interpreter_outside()
    if interpreter is not None:
        words += ["--ro-bind", interpreter, interpreter]
    for path in HIDDEN:
        if os.path.isdir(path) and not os.path.islink(path):
            words += ["--size", "4096", "--tmpfs", path, "--remount-ro", path]
    return words


def interpreter_outside() -> str | None:
    """The directory of this process's Python where that is not below `/usr`, and is one that holds little else."""
    prefix = os.path.abspath(sys.base_prefix)
    home = os.path.realpath(Path.home()) if os.environ.get("HOME") else "/"
    if prefix == "/" or prefix.startswith(("/usr/", *(f"{store}/" for store in STORES))) or prefix == "/usr":
        return None
    # WHY: a prefix that holds the home directory, or this very environment, would open all of that.
    above = (home, os.path.realpath(sys.prefix)) if sys.prefix != sys.base_prefix else (home,)
    if any(path == prefix or path.startswith(f"{prefix}/") for path in above):
        return None
    return prefix if os.path.isdir(os.path.join(prefix, "bin")) else None


def variables(program: Program) -> dict[str, str]:
    """All variables that the program sees."""
    interpreter = interpreter_outside()
    places = [f"{_LIBRARY}/bin"] if program.library is not None else []
    places += [f"{interpreter}/bin"] if interpreter is not None else []
    given = {"PATH": ":".join((*places, *PROGRAMS)), "HOME": DIRECTORY, "LANG": "C.UTF-8", "TMPDIR": _TEMPORARY}
    if program.library is not None:
        given["PYTHONPATH"] = _LIBRARY
    if program.socket is not None:
        given["STANCH_SOCKET"] = _SOCKET
    return given


@cache
def can_forbid_namespaces(bwrap: str) -> bool:
    """True for a bubblewrap that knows `--disable-userns` (0.8 and later); the filter refuses them anyway."""
    try:
        said = subprocess.run([bwrap, "--help"], capture_output=True, timeout=10, check=False, env={})  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"--disable-userns" in said.stdout + said.stderr


class Bubblewrap:
    """The sandbox that bubblewrap makes."""

    name = NAME

    def __init__(self, bwrap: str) -> None:
        self._bwrap = bwrap

    def run(self, program: Program, out: Callable[[bytes], None], cancelled: threading.Event) -> Ended:
        """How the program ended. `out` is given both of its streams, as they come, from the calling thread."""
        return running.run(program, described(self._bwrap, program), out, cancelled)


def described(bwrap: str, program: Program) -> dict[str, Any]:
    """How the warden is to confine the program."""
    arranged = arrangement(program)
    more = ("--disable-userns",) if can_forbid_namespaces(bwrap) else ()
    return {
        "sandbox": NAME,
        "bwrap": bwrap,
        "words": [*arranged.words, *more],
        "files": {path: base64.b64encode(content).decode() for path, content in arranged.files.items()},
        "filter": base64.b64encode(filtering.program() or b"").decode(),
    }
