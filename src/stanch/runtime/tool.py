"""What a built-in tool is, what it is given to do, and what it gives back.

Settles the shape that all built-in tools have. Does not settle whether a call may run (`app.calls`), nor what any tool
does (`runtime.builtin`).
INVARIANT: a tool opens nothing but what `Job.stamps` and `Job.reader` name: these were judged, and no argument was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from stanch.values.call import Stamp
from stanch.values.message import File, Tags


class Reader(Protocol):
    """Answers for each file or directory that a search comes to, by its path."""

    def __call__(self, path: str, /) -> Stamp | None:
        """The stamp to open it by; None where it is withheld from this search."""


def nobody_looked(directory: str, /) -> tuple[tuple[str, ...], bool]:  # noqa: ARG001 - the shape of `Job.closed_below`
    """Says of no path below the directory that a tier closes it, and that nobody looked for one."""
    return (), False


@dataclass(frozen=True, slots=True)
class Job:
    """A call that may run, once.

    `stamps` are what was judged, by the name of the argument that named it. `directory` is where the session works, a
    canonical path. `reader` answers for whatever lies below the root of a search. `cancelled` is set where nobody waits
    for the end any more: a tool that takes long looks at it and stops. `environment` is what programs are started with.
    `session_id` is whose call it is, `call_id` which one. `approved` are the asks that whoever approved it was shown.

    `writes` are the canonical paths that it was judged to write.

    Three are for a command. `reads` are the canonical paths that it was found to read, None where it was not
    fully resolved; `also_reads` are those that it was found to read even so. `closed_below` gives the paths below a
    directory that any tier closes, and whether all of it was looked at.
    """

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    stamps: Mapping[str, Stamp]
    directory: str
    reader: Reader
    cancelled: threading.Event
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    reads: tuple[str, ...] | None = None
    also_reads: tuple[str, ...] = ()
    closed_below: Callable[[str], tuple[tuple[str, ...], bool]] = nobody_looked
    session_id: str = ""
    approved: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool gives back: a text for the model, and where each piece of it came from.

    `failed`: it could not do what it was asked; the text says why. `withheld` counts the files that were left out.
    `files` go to the model beside the text, as they are.
    """

    text: str = field(repr=False)
    tags: Tags = ()
    failed: bool = False
    withheld: int = 0
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in tool: its name, what a model is told of it, the JSON schema of its arguments, and what runs it.

    `run` is called in a thread of its own and may take its time.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Job], Output]
