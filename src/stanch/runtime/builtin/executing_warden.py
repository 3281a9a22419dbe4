"""The process between Stanch and a command: it starts the shell, and sees to it that nothing of it is left.

Settles how a command's processes come to their end: by themselves, when their time is up, when nobody wants them any
more, when Stanch dies. Does not settle what is run, nor what becomes of its output. It is run as a program of its own
(`executing_run`), imports the standard library only, and is one thread.

WHY a process: code between fork and exec is not safe where there are threads, and Stanch has many. A signal at the
death of a parent (PR_SET_PDEATHSIG) is tied to the thread that forked, and reaches the shell but nothing that the shell
started. This process is the parent of all that is orphaned below it (a subreaper), so what left its group or session
is found all the same; and it reads a pipe whose other end is Stanch's alone, which ends when Stanch does.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from typing import NoReturn

GRACE = 2.0
"""Seconds between asking a command to end and ending it."""
LEAVING = 0.5
"""Seconds that what a shell left behind has to end by itself, and then again when it is asked to."""
KILLING = 2.0
NEVER_STARTED, BY_ITSELF, TOO_LATE, NOT_WANTED = range(4)

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)


def main(told: int) -> None:
    """Runs the command that standard input describes, and tells the descriptor `told` of its start and end.

    Standard input: the seconds, the shell, the command, and the variables as `NAME=value`, a NUL after each, and one
    more at the end. What comes of it is one line before it starts, with its process id, and one when all is over: the
    reason (above), the exit code (less than 0: the signal), whether something was left to be ended, and whether some of
    it lives on. The line of a command that never started holds an error number in the place of the exit code.
    """
    os.set_inheritable(told, False)
    seconds, shell, command, *variables = _description()
    _prctl(_SET_CHILD_SUBREAPER, 1)
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    rung = _bell()
    failing, failed = os.pipe()
    here = os.getpid()
    child = os.fork()
    if not child:
        _become(shell, command, variables, parent=here, told=told, failed=failed)
    os.close(failed)
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 1)  # WHY: whoever reads the output waits for the last of those who could write it
    os.dup2(nothing, 2)
    problem = os.read(failing, 16)
    if problem:
        os.write(told, b"%d %d 0 0\n" % (NEVER_STARTED, int(problem)))
        return
    reason, code, until = _watch(child, rung, time.monotonic() + float(seconds))
    left, living = _clear(rung, until)
    os.write(told, b"%d %d %d %d\n" % (reason, code, left, living))


def _description() -> list[bytes]:
    given = b""
    while not given.endswith(b"\0\0"):
        more = os.read(0, 1 << 16)
        if not more:
            sys.exit(1)  # Stanch is gone before it has said what to do
        given += more
    return given[:-2].split(b"\0")


def _bell() -> int:
    """A descriptor that can be read once a child has ended."""
    rung, ring = os.pipe()
    for end in (rung, ring):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return rung


def _become(shell: bytes, command: bytes, variables: list[bytes], *, parent: int, told: int, failed: int) -> NoReturn:
    """Turns this process into the shell: in a session of its own, with nothing to read, and no signal held back."""
    try:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            if signal.getsignal(number) is not None:  # one that the C library keeps for itself
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()
        _prctl(_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(1, 2)
        # WHY here: the first thing that a command does may be to end its warden, which then could not tell it any more.
        os.write(told, b"%d\n" % os.getpid())
        environment = dict(variable.split(b"=", 1) for variable in variables)
        # WHY `--`: a command that begins with a hyphen would be options of the shell.
        os.execve(shell, [b"bash", b"-c", b"--", command], environment)  # noqa: S606 - it is the shell
    except OSError as error:
        os.write(failed, b"%d" % (error.errno or 1))
    finally:
        os._exit(127)


def _watch(child: int, rung: int, deadline: float) -> tuple[int, int, float | None]:
    """Why and how the shell ended, and until when the rest of it may take to end, None where nobody is in a hurry."""
    reason = BY_ITSELF
    until: float | None = None
    while (code := _reaped(child)) is None:
        now = time.monotonic()
        if until is not None and now >= until:
            _signal_group(child, signal.SIGKILL)
            until = now
        wait = max(0.05, (until or deadline) - now)
        ready = select.select([rung] if until else [0, rung], [], [], wait)[0]
        if rung in ready:
            _empty(rung)
        if until is None and (0 in ready or time.monotonic() >= deadline):
            reason = NOT_WANTED if 0 in ready else TOO_LATE
            until = time.monotonic() + GRACE
            _signal_group(child, signal.SIGTERM)
            _signal_group(child, signal.SIGCONT)
    return reason, code, until


def _reaped(child: int) -> int | None:
    """Buries whoever has ended; the exit code of the shell, where it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if not pid:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)


def _clear(rung: int, until: float | None) -> tuple[bool, bool]:
    """Ends what the shell has left behind: whether there was something to be ended, and whether some of it lives on."""
    now = time.monotonic()
    if until is None:
        # WHY not at once: bash does not wait for the last of `>(...)`, which ends when it has read all there is.
        if _alone(rung, now + LEAVING, ()):
            return False, False
        until = time.monotonic() + LEAVING
    if _alone(rung, until, (signal.SIGTERM, signal.SIGCONT)):
        return True, False
    return True, not _alone(rung, time.monotonic() + KILLING, (signal.SIGKILL,), again=True)


def _alone(rung: int, until: float, signals: tuple[signal.Signals, ...], *, again: bool = False) -> bool:
    """True once there is no process below this one; false where the time is up. Each is sent the signals, once or again
    and again.

    WHY children only: a child's id is its own until it is buried here, so the signal reaches nobody else. What a child
    has started becomes a child of this process when that ends.
    """
    told: set[int] = set()
    while True:
        _reaped(0)
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        for child in _children() if signals else ():
            if again or child not in told:
                told.add(child)
                for one in signals:
                    _signal(child, one)
        left = until - time.monotonic()
        if left <= 0:
            return False
        if select.select([rung], [], [], min(left, 0.05))[0]:
            _empty(rung)


def _children() -> list[int]:
    here = b"%d" % os.getpid()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[1:2] == [here] and fields[0] != b"Z":
                found.append(int(name))
    return found


def _signal(process: int, number: signal.Signals) -> None:
    try:
        os.kill(process, number)
    except OSError:
        return


def _signal_group(group: int, number: signal.Signals) -> None:
    """Signals all of a group whose first process has not been buried, so that the id is still its own."""
    try:
        os.killpg(group, number)
    except OSError:
        return


def _empty(rung: int) -> None:
    try:
        while os.read(rung, 512):
            pass
    except BlockingIOError:
        return


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    main(int(sys.argv[1]))
