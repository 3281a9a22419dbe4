"""What a model answered, read out of a copy of the bytes that went to its caller.

Settles which tool calls it asks for, and which of what it said only its provider can read. Does not settle what is made
of either (`app.foreseeing`, `app.proxy_talks`). A copy that cannot be read says nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from stanch.tiers.dialects import anthropic, chat, responses
from stanch.tiers.dialects.telling import Shape
from stanch.values.fault import BadInput
from stanch.values.message import Call, Message, Opaque, Part, Reasoning, Text

MOST_EVENTS = 20_000
Json = dict[str, Any]
_SEALED = ("encrypted_content", "content")
_SUMMARIES = ("compaction", "compaction_summary", "context_compaction")


class AnswerCopy(NamedTuple):
    """The tool calls of an answer, marks of what in it is opaque, and its words."""

    calls: Sequence[Call] = ()
    sealed: Sequence[str] = ()
    said: str = ""


def read_copy(raw: bytes, shape: Shape) -> AnswerCopy:
    """What the answer in these bytes says: a stream of events, or one JSON object."""
    try:
        text = raw.decode("utf-8")
        if text.lstrip()[:1] == "{":
            messages = _messages(shape, _whole(shape, json.loads(text)))
        else:
            messages = _messages(shape, _streamed(shape, list(_events(text))))
    except (ValueError, RecursionError, BadInput, TypeError, KeyError, AttributeError, IndexError):
        return AnswerCopy()
    parts = [part for message in messages for part in message.parts]
    sealed = [mark for part in parts if (mark := sealed_mark(part)) is not None]
    said = "".join(part.text for part in parts if isinstance(part, Text))
    return AnswerCopy([part for part in parts if isinstance(part, Call)], sealed, said)


def sealed_mark(part: Part) -> str | None:
    """A digest of what only the provider of this part can read or verify; None for any other part."""
    if isinstance(part, Reasoning):
        return None if part.signature is None else _digest(part.signature)
    if isinstance(part, Opaque) and part.kind in _SUMMARIES:
        found = next((part.data[key] for key in _SEALED if isinstance(part.data.get(key), str)), None)
        return None if found is None else _digest(found)
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _events(text: str) -> Iterator[Json]:
    count = 0
    for line in text.splitlines():
        if line.startswith("data:") and line[5:].lstrip()[:1] == "{":
            count += 1
            if count > MOST_EVENTS:
                return
            yield json.loads(line[5:])


def _messages(shape: Shape, said: list[Json]) -> list[Message]:
    if shape is Shape.RESPONSES:
        found: list[Message] = []
        for item in said:
            try:
                found += responses.read_messages([item])
            except BadInput:
                continue
        return found
    return anthropic.read_messages(said) if shape is Shape.ANTHROPIC else chat.read_messages(said)


def _whole(shape: Shape, body: Json) -> list[Json]:
    match shape:
        case Shape.RESPONSES:
            return [item for item in body.get("output", ()) if isinstance(item, dict)]
        case Shape.ANTHROPIC:
            return [{"role": "assistant", "content": body.get("content") or []}]
        case _:
            return [choice["message"] for choice in body.get("choices", ())]


def _streamed(shape: Shape, events: list[Json]) -> list[Json]:
    match shape:
        case Shape.RESPONSES:
            return [one["item"] for one in events if one.get("type") == "response.output_item.done"]
        case Shape.ANTHROPIC:
            return [{"role": "assistant", "content": _blocks(events)}]
        case _:
            return _choices(events)


def _blocks(events: list[Json]) -> list[Json]:
    blocks: dict[int, Json] = {}
    written: dict[int, list[str]] = {}
    for event in events:
        if event.get("type") == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        if event.get("type") != "content_block_delta":
            continue
        block, delta = blocks[event["index"]], event["delta"]
        match delta.get("type"):
            case "input_json_delta":
                written.setdefault(event["index"], []).append(delta["partial_json"])
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "compaction_delta":
                block["content"] = (block.get("content") or "") + (delta.get("content") or "")
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
            case _:
                continue
    for index, pieces in written.items():
        text = "".join(pieces)
        blocks[index]["input"] = json.loads(text) if text.strip() else {}
    return list(blocks.values())


def _choices(events: list[Json]) -> list[Json]:
    calls: dict[tuple[int, int], Json] = {}
    said: list[str] = []
    for event in events:
        for choice in event.get("choices") or ():
            said.append((choice.get("delta") or {}).get("content") or "")
            for piece in (choice.get("delta") or {}).get("tool_calls") or ():
                key = choice.get("index", 0), piece.get("index", 0)
                call = calls.setdefault(key, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] = call["id"] or piece.get("id") or ""
                function = piece.get("function") or {}
                call["function"]["name"] += function.get("name") or ""
                call["function"]["arguments"] += function.get("arguments") or ""
    return [{"role": "assistant", "content": "".join(said) or None, "tool_calls": list(calls.values())}]
