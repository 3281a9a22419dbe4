"""Starting a program with sandlock, within the warden.

Settles what this process gives up for good before it starts the program, and how the program's end is learned. Does not
settle what may be read and written (`landlock`), nor when it ends (`warden`). Imports the standard library, and
sandlock once it is needed.
"""

from __future__ import annotations

import base64
import ctypes
import os
import signal
import struct
import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from stanch.runtime.sandbox import limiting, looking
from stanch.runtime.sandbox.confined import CannotStart
from stanch.runtime.sandbox.removing import remove_tree

_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_CAPBSET_DROP, _SET_SECUREBITS, _AMBIENT, _AMBIENT_CLEAR = 24, 28, 47, 4
_NO_ROOT_LOCKED = 0x03 | 0x0C | 0x20 | 0xC0  # nothing makes a user's number bring capabilities back
_CAPABILITIES = 64
_VERSION_3 = 0x20080522
_JOIN_SESSION_KEYRING = 1
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_SPARE = 16
_LIBC = ctypes.CDLL(None, use_errno=True)


class Confined:
    """A program in sandlock."""

    overhead = 0

    def __init__(self, process: Any, temporary: str, most: int) -> None:
        self._process, self._temporary, self._most = process, temporary, most
        self._place = os.open(temporary, os.O_RDONLY | os.O_DIRECTORY)
        self._code: int | None = None
        # WHY a thread: sandlock's way to wait can be given a time only together with an end by force.
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        self._waiting.start()

    def _wait(self) -> None:
        try:
            result = self._process.wait()
        except Exception:  # whatever it is, the program is not known to have ended well
            self._code = 128 + signal.SIGKILL
            return
        self._code = 128 + result.signal if result.signal > 0 else result.exit_code
        signal.raise_signal(signal.SIGCHLD)  # wakes whoever looks

    def code(self) -> int | None:
        """Its exit code, once it has ended: 128 and the signal's number where one ended it."""
        return self._code

    def end(self) -> None:
        """Ends all that is below this process, again and again until what was started in between is gone, too."""
        for _ in range(1000):
            found = looking.below(os.getpid())
            for number in found:
                with suppress(OSError):
                    os.kill(number, signal.SIGKILL)
            self._waiting.join(0.005)
            if not self._waiting.is_alive():
                return

    def room(self) -> str | None:
        """`temporary` where the temporary files take too much, `temporary entries` where they are too many."""
        held = looking.held(self._place, self._most, self._most // 4096 + 1024)
        if held.size > self._most:
            return "temporary"
        return None if held.entries <= self._most // 4096 + 1024 and held.whole else "temporary entries"

    def close(self) -> None:
        """Removes its temporary files."""
        os.close(self._place)
        with suppress(OSError):
            remove_tree(Path(self._temporary))


def start(given: Mapping[str, Any], input_: int) -> Confined:
    """The program, running. Raises `CannotStart`."""
    try:
        import sandlock  # type: ignore[import-untyped]
    except ImportError:
        raise CannotStart("sandlock cannot be imported") from None
    limits = given["limits"]
    limiting.apply(limits)
    _give_up(base64.b64decode(given["filter"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sandbox = sandlock.Sandbox(
            fs_readable=given["readable"],
            fs_writable=given["writable"],
            fs_denied=given["denied"],
            clean_env=True,
            env=given["variables"],
            cwd=given["directory"],
            max_processes=int(limits["processes"]) + _SPARE,
        )
        try:
            process = _popen(sandbox, given["argv"], input_)
        except (RuntimeError, sandlock.SandlockError, OSError) as error:
            raise CannotStart(f"sandlock could not set up the sandbox ({type(error).__name__})") from None
    return Confined(process, given["temporary"], int(limits["temporary_bytes"]))


def _popen(sandbox: Any, argv: list[str], input_: int) -> Any:
    """Starts it with its input and output in the places of this process's own, which are put back after that."""
    kept = [os.dup(0), os.dup(2)]
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    try:
        for number in ignored:  # WHY: what this process does not hear, the program would not hear either
            signal.signal(number, signal.SIG_DFL)
        os.dup2(input_, 0)
        os.dup2(1, 2)
        return sandbox.popen(list(argv))
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        for place, descriptor in zip((0, 2), kept, strict=True):
            os.dup2(descriptor, place, inheritable=False)
            os.close(descriptor)


def _give_up(filter_: bytes) -> None:
    """Takes capabilities, keyring and the calls of the filter from this process and from whatever it starts."""
    machine = os.uname().machine
    if machine in _KEYCTL:
        _LIBC.syscall(_KEYCTL[machine], _JOIN_SESSION_KEYRING, None)
    _LIBC.prctl(_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)  # refused where there is nothing to be brought back
    for capability in range(_CAPABILITIES):
        _LIBC.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    _LIBC.prctl(_AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    header = struct.pack("<Ii", _VERSION_3, 0)
    if _LIBC.capset(header, bytes(24)):
        raise CannotStart("its capabilities could not be given up")
    if _LIBC.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise CannotStart("its right to new privileges could not be given up")
    kept = ctypes.create_string_buffer(filter_, len(filter_))
    described = struct.pack("<HxxxxxxQ", len(filter_) // 8, ctypes.addressof(kept))
    if _LIBC.prctl(_SET_SECCOMP, _FILTER, described, 0, 0):
        raise CannotStart("its system calls could not be filtered")
