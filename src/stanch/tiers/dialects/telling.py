"""In which shape a conversation is written, told by what only one of the shapes has.

Settles nothing by guess: what could be two shapes and is the same in both is read as chat completions, and what has
marks of two shapes is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from stanch.tiers.dialects import response_calls, server_tools
from stanch.tiers.dialects.checking import bad
from stanch.values.fault import BadInput


class Shape(StrEnum):
    """A way to write a conversation."""

    CHAT = "openai chat completions"
    RESPONSES = "openai responses"
    ANTHROPIC = "anthropic messages"
    OURS = "stanch"


_ITEMS = {*response_calls.CALLS, *response_calls.RESULTS, "message", "reasoning", "item_reference", "compaction"}
_ITEM_ENDINGS = ("_call", "_call_output", "_output", "_trigger")
_BLOCKS = {
    Shape.CHAT: {"image_url", "input_audio", "file", "refusal"},
    Shape.RESPONSES: {"input_text", "output_text", "input_image", "input_file", "summary_text"},
    Shape.ANTHROPIC: {
        *("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "search_result"),
        *("server_tool_use", "mcp_tool_use", "mcp_tool_result", "container_upload", "compaction"),
        *server_tools.RESULTS,
    },
}
_SHAPE_OF_BLOCK = {kind: shape for shape, kinds in _BLOCKS.items() for kind in kinds}
_CHAT_KEYS = ("tool_calls", "function_call", "tool_call_id", "reasoning_content", "refusal")
# What stands at the top of a request of one shape, and hardly in another; and what of it holds content.
_TOP = {
    Shape.RESPONSES: ("instructions", "previous_response_id"),
    Shape.ANTHROPIC: ("system", "anthropic_version", "stop_sequences", "thinking"),
}
_CONTENT = {Shape.RESPONSES: "instructions", Shape.ANTHROPIC: "system"}


def shape_of(value: object) -> Shape:
    """The shape of a list of messages, or of a request with one. Raises `BadInput` where there are marks of two."""
    if isinstance(value, dict):
        return _of_request(value)
    if not isinstance(value, list):
        raise bad("the conversation", "a list of messages, or a request with one", value)
    return _of_list(value)


def _of_request(request: dict[str, Any]) -> Shape:
    key = "messages" if "messages" in request else "input"
    if key not in request:
        raise BadInput("the conversation must be a list of messages, or a request with 'messages' or 'input'")
    listed = request[key]
    inner = _first(listed, key) if isinstance(listed, list) else None
    hints = [shape for shape, keys in _TOP.items() if any(one in request for one in keys)]
    if key == "input":
        inner, hints = inner or (Shape.RESPONSES, key), [Shape.RESPONSES]
    shape = inner[0] if inner is not None else (hints or [Shape.CHAT])[0]
    for other, content in _CONTENT.items():
        if content in request and other is not shape:
            raise BadInput(f"the request has '{content}', but its messages are of the shape {shape.value}")
    return shape


def _of_list(messages: list[Any]) -> Shape:
    found = _first(messages, "messages")
    return found[0] if found is not None else Shape.CHAT


def _first(messages: list[Any], where: str) -> tuple[Shape, str] | None:
    """The shape that the list has a mark of, and where; None where all could be of several."""
    first: tuple[Shape, str] | None = None
    for at, message in enumerate(messages):
        for shape in _marks(message):
            place = f"{where}[{at}]"
            if first is None:
                first = (shape, place)
            elif shape is not first[0]:
                raise BadInput(f"{place} is of the shape {shape.value}, and {first[1]} of the shape {first[0].value}")
    return first


def _marks(message: Any) -> Iterator[Shape]:
    if not isinstance(message, dict):
        return
    if isinstance(message.get("parts"), list) and "content" not in message:
        yield Shape.OURS
        return
    kind = message.get("type")
    item = isinstance(kind, str) and (kind in _ITEMS or kind.endswith(_ITEM_ENDINGS))
    if item or ("role" not in message and (isinstance(kind, str) or "id" in message)):
        yield Shape.RESPONSES
    if message.get("role") in ("tool", "function") or any(key in message for key in _CHAT_KEYS):
        yield Shape.CHAT
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind in _SHAPE_OF_BLOCK:
            shape = _SHAPE_OF_BLOCK[kind]
            if shape is Shape.CHAT and kind == "refusal":
                continue  # WHY: two of the shapes have such a block
            yield shape
