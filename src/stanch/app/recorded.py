"""A call that was recorded, ready to be asked about again: in which sessions, and what it is known by.

Settles the record. Does not settle where recorded calls come from (`app.stored_calls`, `surfaces.replay`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stanch.app.beside import Party
from stanch.values.call import ToolCall


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded call. `parties` are the sessions that judge it, its own first; calls of one session share the list.

    `where` says where it is recorded: a file and a line, or the id of a call. `asked` is what it asks for, in a few
    words. `shares_context`: its session has the run context of the session that is asked about.
    """

    call: ToolCall
    parties: Sequence[Party]
    where: str
    asked: str = ""
    cwd: str | None = None
    shares_context: bool = False
