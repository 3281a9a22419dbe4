"""What the judge is asked: a read or a write that nobody has called for, named by whoever wants to know.

Settles the probe's arguments, its id and its tool. Does not settle what its path means (`app.judging`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stanch.values.call import ToolCall
from stanch.values.fault import BadFields
from stanch.values.verdict import Face

READ_TOOL, WRITE_TOOL = "Read", "Write"
TOOLS: Mapping[Face, tuple[str, str]] = {
    Face.READ: (READ_TOOL, "read_file"),
    Face.WRITE: (WRITE_TOOL, "write_file"),
}
"""For each face the tool that is probed, and the built-in one whose rules speak of it, too."""
_CONSUMER = re.compile(r"[a-z](?:[a-z-]*[a-z])?")
LONGEST_CONSUMER = 64


@dataclass(frozen=True, slots=True)
class Probe:
    """One question. `consumer` says who wants to know, such as `attachment`: it is part of the probe's id.

    `file_path` may be relative to `cwd`, else to where the session works. `offset` and `limit` are lines of a read.
    Raises `BadFields` for a consumer's name that is none, and for an empty path.
    """

    face: Face
    consumer: str
    file_path: str
    cwd: str | None = None
    offset: int | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        if _CONSUMER.fullmatch(self.consumer) is None or len(self.consumer) > LONGEST_CONSUMER:
            raise BadFields(("face", "the consumer's word has lower case letters, and hyphens between them"))
        if not self.file_path:
            raise BadFields(("file_path", "'file_path' must name a file"))

    @property
    def id(self) -> str:
        """The call id that every layer sees: always the same for one consumer, and none that a model's call has."""
        kind = "visibility" if self.face is Face.READ else "write"
        return f"{self.consumer}-{kind}-probe"

    @property
    def call(self) -> ToolCall:
        """The call that is probed."""
        tool, _ = TOOLS[self.face]
        given: dict[str, Any] = {"file_path": self.file_path}
        if self.face is Face.READ:
            given |= {key: held for key, held in (("offset", self.offset), ("limit", self.limit)) if held is not None}
        return ToolCall(tool, given, self.id)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the live gate would tell a policy of a write besides; each is read anew for each judgment.

    `tool` is the roster's own description of the probed tool, `root` the root that the session works below,
    `writable` the directories that were advertised as writable, `exempt` the roots that are fenced off from no one.
    """

    tool: Mapping[str, Any] | None = field(default=None, repr=False)
    root: str | None = None
    writable: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()


NO_FACTS = Facts()
