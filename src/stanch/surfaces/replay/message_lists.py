"""The calls in lists of messages: Anthropic's, OpenAI's chat completions and responses, Stanch's, and requests.

Settles how a message or an item gives calls, whether it stands in a list, in a request's body or on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stanch.surfaces.replay.calls import Written, in_message, is_item, of_item, table, text
from stanch.surfaces.replay.records import ReplayCall, Seen

KEYS = ("messages", "input")
_SAYS = ("content", "tool_calls", "function_call", "parts")
_ITEMS = frozenset({"message", "reasoning", "item_reference", "compaction"})
_ENVIRONMENT = re.compile(r"<environment_context>.*?<cwd>([^<]+)</cwd>", re.DOTALL)


class MessageReader:
    """Reads messages in order; remembers the working directory that the harness told the model."""

    agent = ""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.cwd: str | None = None
        self.model = ""

    def calls(self, record: Mapping[str, Any], where: str) -> Iterator[ReplayCall]:
        """The calls of a message, an item, or every message of a request's body, that were not there before."""
        for key in KEYS:
            inner = record.get(key)
            if isinstance(inner, list):
                self.model = text(record.get("model"))
                for message in inner:
                    yield from self._calls(table(message), where)
                return
        yield from self._calls(record, where)

    def _calls(self, message: Mapping[str, Any], where: str) -> Iterator[ReplayCall]:
        if message.get("role") == "user":
            self._told(message.get("content"))
        written = [of_item(message)] if is_item(message) else in_message(message)
        for one in written:
            call = self._call(one, where)
            if not self.seen.again(call):
                yield call

    def _call(self, written: Written, where: str) -> ReplayCall:
        return ReplayCall(
            written.id,
            written.tool,
            written.arguments,
            where,
            self.cwd,
            self.cwd,
            written.fault,
            self.agent,
            model=self.model,
        )

    def _told(self, content: Any) -> None:
        """Notes the directory where a user message is the harness's word on the environment."""
        blocks = content if isinstance(content, list) else [{"text": content}]
        for block in blocks:
            said = text(table(block).get("text"))
            if said.startswith("<environment_context>") and (found := _ENVIRONMENT.match(said)):
                self.cwd = found[1]


def recognise(record: Any) -> bool:
    """True for a message, an item of the responses format, a request's body, or a list of these."""
    if isinstance(record, list):
        return any(recognise(one) for one in record[:50] if isinstance(one, dict))
    if not isinstance(record, dict):
        return False
    if isinstance(record.get("role"), str) and any(key in record for key in _SAYS):
        return True
    if any(isinstance(record.get(key), list) for key in KEYS):
        return True
    kind = text(record.get("type"))
    return kind in _ITEMS or kind.endswith(("_call", "_call_output"))
