"""A session's run context: what its owner says about group, prompt, grants and working directory.

Settles the fields and their defaults. Does not settle how its paths are read (`gate.context`) nor where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from stanch.values.fault import BadContext


@dataclass(frozen=True, slots=True)
class RunContext:
    """The stored object, as its owner wrote it. Every default is the empty one: nothing granted.

    Raises `BadContext` for a field of the wrong type: a string is no list of grants.
    """

    security_group: str | None = None
    system_prompt: tuple[str, ...] = ()
    allow_fs_writes: tuple[str, ...] = ()
    allow_fs_reads: tuple[str, ...] = ()
    working_directory: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default is None:
                if value is not None and type(value) is not str:
                    raise BadContext(f"'{field.name}' must be a string or null, got {type(value).__name__}")
            elif isinstance(value, (list, tuple)) and all(type(item) is str for item in value):
                object.__setattr__(self, field.name, tuple(value))
            else:
                raise BadContext(f"'{field.name}' must be a list of strings, got {type(value).__name__}")
