"""What a recorded session says that an agent did: calls, and whatever could not be read.

Settles the records that every reader of session files gives. Does not settle how a file is read (`claude_code`,
`codex`, `message_lists`) nor what the gate says of a call (`asking`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The kinds of session files, as a person would name them."""

    CLAUDE_CODE = "Claude Code session"
    CODEX = "Codex session"
    MESSAGES = "message list"


@dataclass(frozen=True, slots=True)
class ReplayCall:
    """One call, as recorded. `arguments` is None where they cannot be read; `fault` then says why, in names only.

    `cwd` is where the session stood, None where the record does not say; a directory among the arguments is not read
    into it. `started` is the first that the session named. `where` is file and line. `agent` is the program that made
    the call, `subagent` what that program calls the helper it made it through, None for its own calls.
    `inside` is the tool whose script made the call, "" for a call the model made itself.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] | None
    where: str
    cwd: str | None = None
    started: str | None = None
    fault: str = ""
    agent: str = ""
    session: str = ""
    subagent: str | None = None
    inside: str = ""
    model: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something in a file that was passed over, with its place, so that nothing is left out in silence."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}"


Found = ReplayCall | Warned


@dataclass(slots=True)
class Seen:
    """The calls of one session read so far, so that each counts once though a file repeats it."""

    ids: set[str] = field(default_factory=set)
    repeated: int = 0
    _calls: set[bytes] = field(default_factory=set)

    def again(self, call: ReplayCall) -> bool:
        """True where the very same call, by id, tool and arguments, was there before. One without an id never was.

        WHY: the id alone does not do; some model servers start over at `call_0` in every answer.
        """
        if not call.id:
            return False
        text = json.dumps([call.id, call.tool, call.arguments], sort_keys=True, default=str)
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self.ids.add(call.id)
        if digest in self._calls:
            self.repeated += 1
            return True
        self._calls.add(digest)
        return False

    def mirrors(self, identity: str) -> bool:
        """True where an event's id is that of a call that was read before: the event only tells of it once more."""
        return identity in self.ids
