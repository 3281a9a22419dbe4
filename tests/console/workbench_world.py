"""Workbenches for the console: of each state, with entries that code has named to do harm."""

from __future__ import annotations

import os
from pathlib import Path

from stanch.delivery.source import OPAQUE, Kind, Source, known
from stanch.provenance.states import WORKSPACE, Cause, Entry, Exact, Unknown
from stanch.secrets.text import Secret
from tests.console.content_world import MARKUP, NAME, VALUE, keep
from tests.http.served import BY, World

GONE_NAME, GONE = "OLD_TOKEN", "tok-0123456789-gone"
"""A secret that no vault knows: the workbench alone remembers it."""
TURNED = "invoice\u202egpj.exe"
BYTES = b"caf\xe9\nx"
CALL = "call_0123456789abcdef01234567"
HOSTILE = (MARKUP, TURNED, 'a" onmouseover="alert(1)', "line\nbreak\x1b[31m", "-rf", "a&b=c#d?e%2e", "%s{{7*7}}")


def session(world: World) -> str:
    """A session with a vault."""
    keep(world)
    return world.session()


def put(world: World, session_id: str, name: str | bytes, text: str | bytes = "hello\n") -> Path:
    """Makes an entry, as code does; where it lies."""
    with world.service.workbenches.held(session_id, by=BY) as bench:
        path = Path(os.fsdecode(bench.directory.files / os.fsdecode(name)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


def known_secrets(world: World, session_id: str) -> None:
    """Lets a file with secrets come in."""
    exact = Exact(
        frozenset(Entry(name, WORKSPACE, Secret(value)) for name, value in ((NAME, VALUE), (GONE_NAME, GONE)))
    )
    with world.service.workbenches.held(session_id, by=BY) as bench:
        assert bench.registry.admit(exact) is None
        assert bench.takes(Source(Kind.FILE, "e.env", known(exact), OPAQUE, f"{world.workspace}/e.env")) is None
        bench.directory.put("e.env", [f"key={VALUE}\nold={GONE}\n".encode()], len(f"key={VALUE}\nold={GONE}\n"))


def taint(world: World, session_id: str, name: str = "u.txt") -> None:
    """Lets a file come in of which nobody knows what it carries, and keeps an output."""
    unknown = Unknown(Cause.INCOMPLETE)
    source = Source(Kind.FILE, f"in/{MARKUP}", known(unknown), OPAQUE, f"{world.workspace}/in/u.txt")
    with world.service.workbenches.held(session_id, by=BY) as bench:
        assert bench.takes(source, tainted_entry=name) is None
        bench.directory.put(name, [b"what nobody knows\n"], 18)
    world.service.workbenches.outputs(session_id).keep(CALL, f"printed {MARKUP} {TURNED}\n")


def page(session_id: str, below: str = "") -> str:
    return f"/console/sessions/{session_id}/workbench{below}"
