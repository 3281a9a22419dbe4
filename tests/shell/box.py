"""A throw-away directory in which random commands run, and what may not have happened in it afterwards.

Settles what stands there, how a command is run and what is looked for. Does not settle which commands there are.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

from tests.shell.draws import split

SECONDS = 5.0
MOST_OUTPUT = 1 << 20
PROGRAMS = split("""
    ok1 ok2 cat ls cp mv ln touch mkdir rm find xargs printf echo tee head grep sort sh bash builtin mapfile
    cd pushd popd true false : shift
""")
# What the gate cannot know: a variable from outside holds what is forbidden.
OUTSIDE = {"A": "bad1", "B": "secrets/token", "C": "secrets", "D": "$(bad1)"}
_BASH = shutil.which("bash") or "/bin/bash"
_IN_ACCESS = 1
_IN_NONBLOCK = os.O_NONBLOCK


class Box:
    """One tree: `box`, where commands run, and beside it what no command may touch."""

    def __init__(self, root: Path) -> None:
        self.root, self.box = root, root / "box"
        self.unit = "".join(SystemRandom().choice("GHJKMNPQRSTVWXYZ") for _ in range(8))
        self.token = self.unit * 4 + "\n"
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watch = self._libc.inotify_init1(_IN_NONBLOCK) if sys.platform == "linux" else -1
        self._out = os.memfd_create("out") if sys.platform == "linux" else os.open(root / "out", os.O_RDWR | os.O_CREAT)
        _programs(root)
        (root / "conf").mkdir()
        (root / "conf" / "stanch.toml").write_text(policy())
        self._build()
        self.before = self._seen()
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_OUTPUT, MOST_OUTPUT))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def _build(self) -> None:
        for folder in (self.box, self.root / "beside"):
            if folder.exists():
                shutil.rmtree(folder)
        files = {
            "beside/keep": "keep\n",
            "box/secrets/token": self.token,
            "box/secrets/deep/more": self.token,
            "box/docs/a": "one\ntwo\n",
            "box/docs/b": "three\n",
            "box/docs/x": "bad1\nsecrets/token\n",
            "box/docs/run": "ok1\n",
            "box/src/c": "four\n",
            "box/src/sub/d": "five\n",
        }
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            os.utime(path, (1, 1))
        os.symlink("../secrets/token", self.box / "src" / "way")
        os.symlink("../src", self.box / "docs" / "over")
        (self.root / "log").write_text("")
        if self._watch >= 0:
            self._libc.inotify_add_watch(self._watch, os.fsencode(self.box / "secrets" / "token"), _IN_ACCESS)

    def _seen(self) -> dict[str, tuple[object, ...]]:
        found: dict[str, tuple[object, ...]] = {}
        todo = [str(self.root)]
        while todo:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    name = os.path.relpath(entry.path, self.root)
                    what: object = None
                    if entry.is_symlink():
                        what = os.readlink(entry.path)
                    elif entry.is_dir():
                        todo.append(entry.path)
                    elif entry.is_file():
                        with open(entry.path, "rb") as file:
                            what = file.read()
                    closed = name.startswith(("box/secrets/", "beside/")) and not entry.is_dir(follow_symlinks=False)
                    found[name] = (status.st_mode, what, status.st_mtime_ns if closed else 0)
        return found

    def run(self, text: str) -> list[str]:
        """Runs the command and puts everything back; says which forbidden things have happened."""
        self._was_read()
        output, late = self._bash(text)
        wrong = ["the secret was read"] if self._was_read() else []
        after = self._seen()
        if self.unit.encode() in output:
            wrong.append("the secret is in the output")
        if after["log"][1]:
            wrong.append(f"bad1 ran: {after['log'][1]!r}")
        for name in sorted(after.keys() | self.before.keys()):
            new, old = after.get(name), self.before.get(name)
            inside = name.startswith("box/") and not (name + "/").startswith("box/secrets/")
            if new != old and not inside and name != "log":
                wrong.append(f"{name} was {'made' if old is None else 'removed' if new is None else 'changed'}")
            elif inside and new is not None and self.unit.encode() in name.encode() + _bytes(new[1]):
                wrong.append(f"the secret is in {name}")
        if after != self.before or wrong:
            self._build()
            self.before = self._seen()
        self.late = late
        return wrong

    def _was_read(self) -> bool:
        if self._watch < 0:
            return False
        found = False
        with suppress(BlockingIOError):
            while events := os.read(self._watch, 4096):
                while events:
                    _, mask, _, length = struct.unpack_from("iIII", events)
                    found = found or bool(mask & _IN_ACCESS)
                    events = events[16 + length :]
        return found

    def _bash(self, text: str) -> tuple[bytes, bool]:
        """What it printed, and whether it had to be ended. A pipe that all of its processes hold tells the end."""
        os.ftruncate(self._out, 0)
        os.lseek(self._out, 0, os.SEEK_SET)
        ends, held = os.pipe()
        high = fcntl.fcntl(held, fcntl.F_DUPFD, 200)
        os.close(held)
        try:
            process = subprocess.Popen(
                [_BASH, "--norc", "--noprofile", "-c", text],
                cwd=self.box,
                env={"PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(self.box), "FUNCNEST": "20", **OUTSIDE},
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._out,
                pass_fds=(high,),
                start_new_session=True,
            )
        finally:
            os.close(high)
        late = not select.select([ends], [], [], SECONDS)[0]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(SECONDS)
        select.select([ends], [], [], SECONDS)
        os.close(ends)
        os.lseek(self._out, 0, os.SEEK_SET)
        with open(self._out, "rb", closefd=False) as file:
            return file.read(), late


def _bytes(what: object) -> bytes:
    return what if isinstance(what, bytes) else str(what).encode()


def _programs(root: Path) -> None:
    (root / "bin").mkdir(parents=True)
    texts = {
        "ok1": "echo bad1 secrets/token",  # what an allowed program prints may be anything
        "ok2": 'exec cat "$@"',  # and what it is given, it may read
        "bad1": f'echo "$*" >>{root}/log',
    }
    for name, text in texts.items():
        path = root / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


def policy() -> str:
    """The policy under which the commands are judged: some programs, and nothing below `secrets` or outside."""
    rules = [f'tool = "{tool}"\npath = "secrets"\naction = "deny"' for tool in ("@read", "@write")]
    rules += ['tool = "@write"\npath = "."\naction = "allow"', 'tool = "@write"\npath = "/**"\naction = "deny"']
    rules += [f'tool = "execute_cmd"\ncommand = "{name} *"\naction = "allow"' for name in PROGRAMS]
    head = 'version = 1\nworkspace = "../box"\n[[groups]]\nid = "default"\n'
    return head + "".join(f"[[groups.rules]]\n{rule}\n" for rule in rules)


# --- the fence -----------------------------------------------------------------------------------------------------

_WRITES = sum(1 << bit for bit in (1, *range(4, 15)))
"""Landlock's rights to write, remove, make, move and cut short."""


def fence(root: Path) -> bool:
    """Keeps this process and all below it from writing anything outside `root`, for good; False where it cannot."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(444, None, ctypes.c_size_t(0), 1) < 3:  # the version of Landlock that knows all of these rights
        return False
    rules = libc.syscall(444, struct.pack("Q", _WRITES), ctypes.c_size_t(8), 0)
    if rules < 0:
        return False
    try:
        for path, rights in ((str(root), _WRITES), (os.devnull, 1 << 1)):
            place = os.open(path, os.O_PATH)
            done = libc.syscall(445, rules, 1, struct.pack("=Qi", rights, place), 0)
            os.close(place)
            if done:
                return False
        return bool(libc.prctl(38, 1, 0, 0, 0) == 0 and libc.syscall(446, rules, 0) == 0)
    finally:
        os.close(rules)
