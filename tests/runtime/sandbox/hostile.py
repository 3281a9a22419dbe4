"""A program that tries to get out, and says of each try what came of it. It is run inside.

INVARIANT: where nothing holds it, it does no harm beyond what it was given to aim at, or takes it back.
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from collections.abc import Callable
from typing import Any

AIMS: dict[str, Any] = {}
TRIES: dict[str, Callable[[], object]] = {}
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"


class Held(Exception):
    """It came to nothing."""


def attempt(function: Callable[[], object]) -> Callable[[], object]:
    TRIES[function.__name__] = function
    return function


def call(name: str, *words: Any) -> int:
    result: int = getattr(LIBC, name)(*words)
    if result < 0:
        raise Held(os.strerror(ctypes.get_errno()))
    return result


def connect(family: int, address: Any, kind: int = socket.SOCK_STREAM) -> None:
    with socket.socket(family, kind) as made:
        made.settimeout(2)
        made.connect(address)
        if kind == socket.SOCK_DGRAM:
            made.send(b"hostile")
            raise Held("sent; whoever listens tells")


def read(path: str) -> str:
    with open(path, "rb") as file:
        return repr(file.read(64))


def shell(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, timeout=20, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise Held(done.stderr.decode(errors="replace")[-200:])
    return done.stdout.decode(errors="replace")
