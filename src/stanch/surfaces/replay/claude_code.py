"""The calls in a session file of Claude Code, one JSON record to a line.

Settles which records hold calls and what they say about each: directory, subagent, model. Records are read in the order
of the file; the links between them are not followed, so a broken one hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stanch.surfaces.replay.calls import in_message, table, text
from stanch.surfaces.replay.records import ReplayCall, Seen

_TYPES = frozenset({"user", "assistant", "system", "progress"})


class ClaudeCodeReader:
    """Reads the records of one file in order; remembers what later records leave out."""

    agent = "claude-code"

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.cwd: str | None = None
        self.started: str | None = None

    def calls(self, record: Mapping[str, Any], where: str) -> Iterator[ReplayCall]:
        """The calls of one record that were not there before."""
        kind = record.get("type")
        self.cwd = text(record.get("cwd")) or self.cwd
        self.started = self.started or self.cwd
        if kind == "assistant":
            yield from self._said(record, record, where)
        elif kind == "progress":
            # A subagent's messages, told to its parent's session as they come.
            data = table(record.get("data"))
            told = table(data.get("message"))
            if told.get("type") == "assistant":
                yield from self._said({**record, **told, "agentId": data.get("agentId")}, record, where)

    def _said(self, record: Mapping[str, Any], outer: Mapping[str, Any], where: str) -> Iterator[ReplayCall]:
        message = table(record.get("message"))
        for written in in_message(message):
            call = ReplayCall(
                written.id,
                written.tool,
                written.arguments,
                where,
                self.cwd,
                self.started,
                written.fault,
                self.agent,
                text(record.get("sessionId")) or text(record.get("session_id")),
                _subagent(record, outer),
                model=text(message.get("model")),
                time=text(record.get("timestamp")),
            )
            if not self.seen.again(call):
                yield call


def recognise(record: Any) -> bool:
    """True for a record that only a session of Claude Code, or its stream of JSON records, has."""
    if not isinstance(record, dict):
        return False
    if isinstance(record.get("sessionId"), str) and isinstance(record.get("type"), str):
        return True
    if text(record.get("type")) in _TYPES and ("parentUuid" in record or "session_id" in record):
        return True
    return "leafUuid" in record or ("snapshot" in record and "messageId" in record)


def subagent_files(path: Path) -> list[Path]:
    """The files beside a session's file that hold what its subagents did, in the order of their names."""
    return sorted((path.with_suffix("") / "subagents").glob("agent-*.jsonl"))


def _subagent(record: Mapping[str, Any], outer: Mapping[str, Any]) -> str | None:
    """What to call the subagent that made a call; None for the session's own."""
    identity = text(record.get("agentId"))
    sidechain = record.get("isSidechain") is True or outer.get("parent_tool_use_id") or outer is not record
    if not identity and not sidechain:
        return None
    return " ".join(part for part in (text(record.get("attributionAgent")) or "subagent", identity) if part)
