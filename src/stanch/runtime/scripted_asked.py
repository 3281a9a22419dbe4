"""What a scripted model was asked, whichever dialect it was asked in.

Settles what of a request a script may look at. Does not settle what it answers (`runtime.scripted`).
WHY no reuse of the dialects that chat history is read with: this stands in for a provider, and a mistake that both had
would be seen by no test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Dialect(StrEnum):
    """A wire format that models are spoken to in; the value is the path it is served at."""

    CHAT = "/v1/chat/completions"
    RESPONSES = "/v1/responses"
    MESSAGES = "/v1/messages"


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    raw: bytes = field(repr=False)

    def json(self) -> Any:
        """The body as JSON. Raises `ValueError` where it is none."""
        return json.loads(self.raw)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for an answer of a model. `number` counts them from 1."""

    number: int
    dialect: Dialect
    body: Mapping[str, Any] = field(repr=False)

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return str(self.body.get("model", ""))

    @property
    def streams(self) -> bool:
        """True where the answer is to come as a stream of events."""
        return self.body.get("stream") is True

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the model is offered."""
        found = []
        for tool in self.body.get("tools") or ():
            inner = tool.get("function")
            found.append(str((inner if isinstance(inner, dict) else tool).get("name", "")))
        return tuple(found)

    @property
    def freeform(self) -> frozenset[str]:
        """The names of those tools that take one text instead of arguments."""
        return frozenset(
            str(tool.get("name", "")) for tool in self.body.get("tools") or () if tool.get("type") == "custom"
        )

    @property
    def said(self) -> tuple[tuple[str, str], ...]:
        """The conversation as pairs of a role and a text; a tool's result has the role `tool`."""
        return tuple(_said(self.body))

    @property
    def results(self) -> tuple[str, ...]:
        """The texts of the tool results that the conversation ends with."""
        found: list[str] = []
        for role, text in reversed(self.said):
            if role != "tool":
                break
            found.insert(0, text)
        return tuple(found)


def _said(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("system", "instructions"):
        if body.get(name):
            yield "system", _text(body[name])
    held = body.get("messages") or body.get("input") or ()
    for item in [{"role": "user", "content": held}] if isinstance(held, str) else held:
        kind = item.get("type")
        if kind in ("function_call_output", "custom_tool_call_output"):
            yield "tool", _text(item.get("output"))
        elif kind is None or kind == "message":
            yield from _message(str(item.get("role", "")), item.get("content"))


def _message(role: str, content: Any) -> Iterator[tuple[str, str]]:
    blocks = content if isinstance(content, list) else []
    for block in blocks:
        if block.get("type") == "tool_result":
            yield "tool", _text(block.get("content"))
    own = [block for block in blocks if block.get("type") != "tool_result"]
    text = content if isinstance(content, str) else _text(own)
    if text:
        yield role, text


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict))
