"""A process that dies while it works in a workbench: `python -m tests.app.workbench_killed STORE ROOT WHEN`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from stanch.app.workbenches import Workbenches
from stanch.delivery.source import OPAQUE, Kind, Source, known
from stanch.provenance.seals import Seals
from stanch.provenance.states import WORKSPACE, Cause, Entry, Exact, Provenance, Unknown
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.values.records import Actor

BY = Actor("ada", "test")
SESSION = "abcdef0123456789"
ENTRY = Entry("PAY_KEY", WORKSPACE, Secret("pk-of-a-test-12345"))


def seals() -> Seals:
    """Seals with a key that both processes have."""
    ring = KeyRing([Key(bytes(range(32)))])
    return Seals(lambda: ring)


def source(name: str, provenance: Provenance) -> Source:
    """A stored file."""
    return Source(Kind.FILE, name, known(provenance), OPAQUE, f"/repo/{name}")


def die() -> None:
    """Ends this process, at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(store: str, root: str, when: str) -> None:
    """Works, and dies where it is told to."""
    opened = Store.open(store)
    benches = Workbenches(Path(root), opened, seals())
    with benches.held(SESSION, by=BY) as bench:
        exact = Exact(frozenset([ENTRY]))
        bench.registry.admit(exact)
        bench.takes(source("e.txt", exact))
        if when == "known":
            die()
        bench.directory.put("e.txt", [b"bytes"], 5)
        bench.takes(source("u.txt", Unknown(Cause.INCOMPLETE)), tainted_entry="u.txt")
        if when == "tainted":
            die()
        bench.directory.put("u.txt", iter([b"by", b"tes"]), 5)
        if when == "copied":
            die()
        with bench.run():
            (bench.directory.files / "made").write_text("of it")
            (bench.directory.files / "u.txt").unlink()
            if when == "running":
                die()
    opened.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
