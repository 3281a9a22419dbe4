"""A session's run context: what its owner says about group, prompt, grants and working directory.

Settles the fields and their defaults. Does not settle how its paths are read (`gate.context`) nor where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunContext:
    """The stored object, as its owner wrote it. Every default is the empty one: nothing granted."""

    security_group: str | None = None
    system_prompt: tuple[str, ...] = ()
    allow_fs_writes: tuple[str, ...] = ()
    allow_fs_reads: tuple[str, ...] = ()
    working_directory: str | None = None
