"""What the judge is asked: a read or a write that nobody has called for, named by whoever wants to know.

Settles the probe's arguments, its id and its tool. Does not settle what its path means (`app.judging`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

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
_NEW = tuple.__new__  # WHY: half the cost of calling the named tuple, in a busy place


class _Probe(NamedTuple):
    face: Face
    consumer: str
    file_path: str
    cwd: str | None = None
    offset: int | None = None
    limit: int | None = None


class Probe(_Probe):
    """One question. `consumer` says who wants to know, such as `attachment`: it is part of the probe's id.

    `file_path` may be relative to `cwd`, else to where the session works. `offset` and `limit` are lines of a read.
    Raises `BadFields` for a consumer's name that is none, and for an empty path.
    """

    __slots__ = ()

    def __new__(  # noqa: PLR0917 - as the fields of the tuple are
        cls,
        face: Face,
        consumer: str,
        file_path: str,
        cwd: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> Probe:
        """The question, looked through."""
        _id_of(face, consumer)
        if not file_path:
            raise BadFields(("file_path", "'file_path' must name a file"))
        return _NEW(cls, (face, consumer, file_path, cwd, offset, limit))

    @property
    def id(self) -> str:
        """The call id that every layer sees: always the same for one consumer, and none that a model's call has."""
        return _id_of(self.face, self.consumer)

    @property
    def call(self) -> ToolCall:
        """The call that is probed."""
        face, consumer, file_path, _, offset, limit = self
        given: dict[str, Any] = {"file_path": file_path}
        if face is Face.READ:
            if offset is not None:
                given["offset"] = offset
            if limit is not None:
                given["limit"] = limit
        return _NEW(ToolCall, (TOOLS[face][0], given, _id_of(face, consumer)))


@lru_cache(maxsize=256)
def _id_of(face: Face, consumer: str) -> str:
    """The id of the consumer's probes. Raises `BadFields` for a word that is none."""
    if _CONSUMER.fullmatch(consumer) is None or len(consumer) > LONGEST_CONSUMER:
        wanted = "a word of lower case letters, with hyphens between them, such as attachment"
        raise BadFields(("face", f"'face' must be {wanted}"))
    kind = "visibility" if face is Face.READ else "write"
    return f"{consumer}-{kind}-probe"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the live gate would tell a policy besides; each is read anew for each judgment.

    `tool` is the roster's own description of the probed tool, for both faces; the others are for a write. `cwd` is
    where the session stands now, for a probe that names no directory; `root` is the root that it works below,
    `writable` the directories that were advertised as writable, `exempt` the roots that are fenced off from no one.
    """

    tool: Mapping[str, Any] | None = field(default=None, repr=False)
    cwd: str | None = None
    root: str | None = None
    writable: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()


NO_FACTS = Facts()
