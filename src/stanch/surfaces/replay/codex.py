"""The calls in a session file of Codex, one JSON record to a line.

Settles which records hold calls, and where each call works. A call counts once, though Codex writes of it twice: as the
model asked for it, and as an event when it was done. A call that a script made (the tool `exec`) is told of by its
event alone, and is read from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stanch.paths import uri
from stanch.surfaces.replay.calls import Written, command_line, is_item, of_item, patch, table, text
from stanch.surfaces.replay.records import ReplayCall, Seen

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_PERSON = frozenset({"user_shell", "userShell"})


class CodexReader:
    """Reads the records of one file in order; remembers the session's directory, model and running script."""

    agent = "codex"

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.cwd: str | None = None
        self.started: str | None = None
        self.session = ""
        self.model = ""
        self.subagent: str | None = None
        self.script = ""

    def calls(self, record: Mapping[str, Any], where: str) -> Iterator[ReplayCall]:
        """The calls of one record that were not there before."""
        payload = table(record.get("payload"))
        kind = record.get("type")
        if kind in ("session_meta", "turn_context"):
            self._context(payload)
        elif kind == "response_item" and is_item(payload):
            written = of_item(payload)
            if payload.get("type") == "custom_tool_call":
                self.script = written.tool
            call = self._call(written, where, record)
            if not self.seen.again(call):
                yield call
        elif kind == "event_msg" and payload.get("type") == "item_completed":
            yield from self._event(table(payload.get("item")), where, record)

    def _context(self, payload: Mapping[str, Any]) -> None:
        self.cwd = _path(payload.get("cwd")) or self.cwd
        self.started = self.started or self.cwd
        self.model = text(payload.get("model")) or self.model
        self.session = self.session or text(payload.get("id"))
        helper = table(payload.get("source")).get("subagent")
        if helper is not None:
            named = text(helper) or text(table(table(helper).get("thread_spawn")).get("agent_nickname"))
            self.subagent = f"subagent {named}".strip()

    def _event(self, item: Mapping[str, Any], where: str, record: Mapping[str, Any]) -> Iterator[ReplayCall]:
        written = _done(item)
        if written is None or self.seen.mirrors(written.id):
            return
        call = self._call(written, where, record, inside=self.script)
        if not self.seen.again(call):
            yield call

    def _call(self, written: Written, where: str, record: Mapping[str, Any], inside: str = "") -> ReplayCall:
        return ReplayCall(
            written.id,
            written.tool,
            written.arguments,
            where,
            self.cwd,
            self.started,
            written.fault,
            self.agent,
            self.session,
            self.subagent,
            inside,
            self.model,
            text(record.get("timestamp")),
        )


def recognise(record: Any) -> bool:
    """True for a record that only a session of Codex has."""
    return isinstance(record, dict) and text(record.get("type")) in _TYPES and isinstance(record.get("payload"), dict)


def _done(item: Mapping[str, Any]) -> Written | None:
    """The call that an event says is done; None for an event about no call, or about a command that a person ran."""
    kind, identity = item.get("type"), text(item.get("id"))
    if kind == "CommandExecution" and text(item.get("source")) not in _PERSON:
        command = command_line(item.get("command"))
        return Written(identity, "exec_command", {"cmd": command, "workdir": _path(item.get("cwd"))})
    if kind == "FileChange":
        return Written(identity, "apply_patch", {"input": patch(table(item.get("changes")))})
    if kind == "ImageView":
        return Written(identity, "view_image", {"path": _path(item.get("path"))})
    if kind == "WebSearch":
        return Written(identity, "web_search", {"query": text(item.get("query"))})
    if kind == "McpToolCall":
        tool = f"mcp__{text(item.get('server'))}__{text(item.get('tool'))}"
        return Written(identity, tool, table(item.get("arguments")))
    if kind == "DynamicToolCall":
        space = text(item.get("namespace"))
        tool = f"{space}__{text(item.get('tool'))}" if space else text(item.get("tool"))
        return Written(identity, tool, table(item.get("arguments")))
    return None


def _path(value: Any) -> str:
    """The path of a path or a `file:` URI; empty where there is none."""
    given = text(value)
    if not uri.is_file_uri(given):
        return given
    try:
        return uri.path_of(given)
    except uri.BadUri:
        return ""
