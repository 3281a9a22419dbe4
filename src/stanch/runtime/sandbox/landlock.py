"""How sandlock is told to confine a program, where bubblewrap does not hold.

Settles what may be read and written, and what stands in the place of what bubblewrap has. Does not settle when the
program ends (`warden`). sandlock has no namespaces: Landlock and a filter of system calls hold the program, in the same
file system and among the same processes as everything else. What is other than in bubblewrap:

- The directory stands where it is on the host, and so does that for temporary files. There is no `/workbench`. Whoever
  knows a path elsewhere can ask whether it is there, and for its size; what is in a file or a directory stays closed.
- There is no `/proc` and no `/dev/shm`: `<(...)` in bash, and locks and pools of `multiprocessing`, do not work.
- Sockets are Unix sockets only, so that a program cannot speak with itself over TCP either.
- The owner, mode, times and further attributes of a file cannot be changed, not even of one that the program made,
  since Landlock has no say in that: `cp` works, `cp -p`, `shutil.copy` and `touch` do not.
- The room for temporary files is watched, and not that of a file system of its own.
ABSENT: sandlock's `chroot`. In it, sandlock carries out calls such as `truncate`, `chmod` and `link` for the program,
and does so outside of what the program may write, too.
"""

from __future__ import annotations

import base64
import importlib.util
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from stanch.runtime.sandbox import filtering, running
from stanch.runtime.sandbox.addresses import reachable, short_directory
from stanch.runtime.sandbox.bubblewrap import HIDDEN, PROGRAMS, STORES, TOP, interpreter_outside
from stanch.runtime.sandbox.program import Ended, Program, Sandbox
from stanch.runtime.sandbox.removing import remove_tree

NAME = "sandlock"
_READ = ("/usr", "/etc/ld.so.cache", "/etc/alternatives", "/dev/urandom", "/dev/random", "/dev/zero", *STORES)
_WRITE = ("/dev/null", "/dev/full")


class Sandlock:
    """The sandbox that sandlock makes."""

    name = NAME

    def run(self, program: Program, out: Callable[[bytes], None], cancelled: threading.Event) -> Ended:
        """How the program ended. `out` is given both of its streams, as they come, from the calling thread."""
        temporary = tempfile.mkdtemp(prefix="stanch-", dir=short_directory())
        try:
            return running.run(program, described(program, temporary), out, cancelled, site=True)
        finally:
            with suppress(OSError):
                remove_tree(Path(temporary))


def here() -> Sandbox | str:
    """The sandbox that sandlock makes, or one sentence on why there is none."""
    if importlib.util.find_spec("sandlock") is None:
        return "sandlock is not installed: install it, for example with `pip install stanch[agent]`."
    if filtering.beside_landlock() is None:
        return f"sandlock cannot be used here: the system calls of {os.uname().machine} are not known."
    return Sandlock()


def described(program: Program, temporary: str) -> dict[str, Any]:
    """How the warden is to confine the program. `temporary` is a directory for its temporary files."""
    directory = os.path.realpath(program.directory)
    read = [*_READ, *(f"/{name}" for name in TOP)]
    write = [*_WRITE, directory, temporary]
    places = list(PROGRAMS)
    variables = {"HOME": directory, "LANG": "C.UTF-8", "TMPDIR": temporary}
    if (interpreter := interpreter_outside()) is not None:
        read.append(interpreter)
        places.insert(0, f"{interpreter}/bin")
    if program.library is not None:
        library = os.path.realpath(program.library)
        read.append(library)
        places.insert(0, f"{library}/bin")
        variables["PYTHONPATH"] = library
    if program.socket is not None:
        socket = os.path.realpath(program.socket)
        write.append(socket)
        variables["STANCH_SOCKET"] = reachable(socket, temporary)
    return {
        "sandbox": NAME,
        "readable": [path for path in dict.fromkeys(read) if os.path.exists(path)],
        "writable": [path for path in write if os.path.exists(path)],
        "denied": [path for path in HIDDEN if os.path.isdir(path)],
        "temporary": temporary,
        "variables": {"PATH": ":".join(places), **variables},
        "filter": base64.b64encode(filtering.beside_landlock() or b"").decode(),
    }
