"""How the end of a program reads.

Settles the sentence for each end: what ended it, at which limit, and what to do. Does not settle which end it was.
"""

from __future__ import annotations

import signal

from stanch.runtime.sandbox.program import GIB, KIB, MIB, Ended, How, Limits


def ended(how: How, code: int, limits: Limits, why: str = "") -> Ended:
    """How a program ended, with its sentence. `why` is what the warden adds."""
    return Ended(how, code, _sentence(how, code, limits, why))


def _sentence(how: How, code: int, limits: Limits, why: str) -> str:
    match how:
        case How.BY_ITSELF:
            return _by_itself(code)
        case How.TOO_LATE if why == "cpu":
            return "It was ended, since it took more of the processor's time than it may: make it do less at once."
        case How.TOO_LATE:
            return (
                f"It was ended after {limits.seconds:g} seconds, the longest that it may run: make it do less at once."
            )
        case How.NOT_WANTED:
            return "It was ended, since nobody waits for it any more."
        case How.TOO_MUCH_MEMORY:
            most = f"used more than {size(limits.memory)} of memory together"
            return f"It was ended, since its processes {most}: go through the data piece by piece."
        case How.TOO_MANY_PROCESSES:
            most = f"more than {limits.processes} processes at once"
            return f"It was ended, since it had {most}: start fewer of them, and wait for each."
        case How.TOO_MUCH_ON_DISK:
            return f"It went over a limit, since {_on_disk(limits, why)}: delete what is not needed, and keep less."
        case How.TOO_MUCH_OUTPUT:
            most = f"more than {size(limits.output_bytes)} of output"
            return f"It was ended, since it wrote {most}: write to a file, and print only what matters."
        case How.DISK_FULL:
            return "The disk of the machine is full: delete files in its directory, or have a person make room."
        case How.LOST:
            return "It has ended together with the process that watched over it, and nobody knows how: run it again."
        case How.NEVER_STARTED:
            return f"It was never started: {why or 'the sandbox did not say why'}."


def _by_itself(code: int) -> str:
    if 128 < code <= 128 + signal.SIGRTMAX:
        try:
            name = signal.Signals(code - 128).name
        except ValueError:
            name = f"signal {code - 128}"
        return f"It ended with exit code {code}, which is that of a program ended by {name}."
    return f"It ended with exit code {code}."


def _on_disk(limits: Limits, why: str) -> str:
    match why:
        case "entries":
            return f"it made more than {limits.directory_entries:,} files and directories"
        case "depth":
            return "its directories lie too deep within one another, or cannot be read"
        case "temporary":
            return f"it wrote more than {size(limits.temporary_bytes)} of temporary files"
        case "temporary entries":
            return "it made too many temporary files"
        case _:
            return f"its files took more than {size(limits.directory_bytes)}"


def size(number: int) -> str:
    """The number of bytes, as it is said."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if number >= unit:
            return f"{number / unit:.4g} {name}"
    return f"{number} bytes"
