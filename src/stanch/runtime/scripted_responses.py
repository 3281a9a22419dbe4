"""How a scripted reply is spelled in OpenAI's responses.

Settles the bytes of that one dialect. Does not settle what is replied (`runtime.scripted`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from stanch.runtime.scripted_asked import Asked
from stanch.runtime.scripted_chat import CREATED, error
from stanch.runtime.scripted_reply import Reply, Thought, ToolUse, Words, signature_of

__all__ = ["error", "error_event", "events", "whole"]
_Event = tuple[str, dict[str, Any]]
_ECHOED = ("instructions", "metadata", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p")


def whole(reply: Reply, asked: Asked, ident: str) -> dict[str, Any]:
    """The answer that does not stream."""
    counts = reply.usage
    usage: dict[str, Any] = {"input_tokens": counts.read, "output_tokens": counts.written}
    usage["total_tokens"] = counts.read + counts.written
    usage["input_tokens_details"] = {"cached_tokens": counts.cached, "cache_write_tokens": 0}
    usage["output_tokens_details"] = {"reasoning_tokens": 0}
    status = reply.stop or "completed"
    items = [_item(piece, asked, f"{ident}_{at}") for at, piece in enumerate(reply.pieces)]
    body = _head(asked, ident) | {"status": status, "output": items, "usage": usage}
    return body | ({"incomplete_details": {"reason": "max_output_tokens"}} if status == "incomplete" else {})


def events(reply: Reply, asked: Asked, ident: str) -> list[bytes]:
    """The answer as numbered events."""
    started = _head(asked, ident) | {"status": "in_progress"}
    found: list[_Event] = [("response.created", {"response": started}), ("response.in_progress", {"response": started})]
    for at, piece in enumerate(reply.pieces):
        item = _item(piece, asked, f"{ident}_{at}")
        found.append(("response.output_item.added", {"output_index": at, "item": _emptied(item)}))
        found += [
            (name, {"item_id": item["id"], "output_index": at} | data) for name, data in _filling(piece, reply, asked)
        ]
        found.append(("response.output_item.done", {"output_index": at, "item": item}))
    finished = whole(reply, asked, ident)
    found.append((f"response.{finished['status']}", {"response": finished}))
    return [_event(name, {"type": name, "sequence_number": at} | data) for at, (name, data) in enumerate(found)]


def error_event(message: str, ident: str) -> bytes:  # noqa: ARG001 - as the others have it
    """An error in the middle of a stream."""
    data = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 999}
    return _event("error", data | {"error": {"type": "server_error", "code": "server_error", "message": message}})


def _head(asked: Asked, ident: str) -> dict[str, Any]:
    echoed = {name: asked.body.get(name) for name in _ECHOED}
    echoed |= {"tools": echoed["tools"] or [], "tool_choice": echoed["tool_choice"] or "auto"}
    echoed["parallel_tool_calls"] = echoed["parallel_tool_calls"] is not False
    head: dict[str, Any] = {"id": f"resp_{ident}", "object": "response", "created_at": CREATED, "model": asked.model}
    head |= {"error": None, "incomplete_details": None, "output": [], "usage": None, "store": False}
    return head | {"previous_response_id": asked.body.get("previous_response_id")} | echoed


def _item(piece: Words | Thought | ToolUse, asked: Asked, ident: str) -> dict[str, Any]:
    match piece:
        case Words(text):
            content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
            return {"type": "message", "id": f"msg_{ident}", "status": "completed", "role": "assistant"} | {
                "content": content
            }
        case Thought(text, signature):
            summary = [{"type": "summary_text", "text": text}] if text else []
            item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{ident}", "summary": summary}
            if "reasoning.encrypted_content" in (asked.body.get("include") or ()):
                item["encrypted_content"] = signature or signature_of(text)
            return item
        case ToolUse(tool):
            own = (
                ("custom_tool_call", "ctc", "input") if tool in asked.freeform else ("function_call", "fc", "arguments")
            )
            call = {"type": own[0], "id": f"{own[1]}_{ident}", "call_id": piece.id or f"call_{ident}"}
            return call | {"status": "completed", "name": tool, own[2]: piece.written()}


def _emptied(item: dict[str, Any]) -> dict[str, Any]:
    """The item as it is announced, before anything is in it."""
    match item["type"]:
        case "message":
            return item | {"status": "in_progress", "content": []}
        case "reasoning":
            return item | {"summary": []}
        case _:
            return item | {"status": "in_progress", "input" if "input" in item else "arguments": ""}


def _filling(piece: Words | Thought | ToolUse, reply: Reply, asked: Asked) -> Iterator[_Event]:
    match piece:
        case Words(text):
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            place: dict[str, Any] = {"content_index": 0}
            yield "response.content_part.added", place | {"part": part}
            for grain in reply.grains(text):
                yield "response.output_text.delta", place | {"delta": grain, "logprobs": []}
            yield "response.output_text.done", place | {"text": text, "logprobs": []}
            yield "response.content_part.done", place | {"part": part | {"text": text}}
        case Thought(text):
            place = {"summary_index": 0}
            if text:
                yield "response.reasoning_summary_part.added", place | {"part": {"type": "summary_text", "text": ""}}
                for grain in reply.grains(text):
                    yield "response.reasoning_summary_text.delta", place | {"delta": grain}
                yield "response.reasoning_summary_text.done", place | {"text": text}
                yield "response.reasoning_summary_part.done", place | {"part": {"type": "summary_text", "text": text}}
        case ToolUse(tool) if tool in asked.freeform:
            for grain in reply.grains(piece.written()):
                yield "response.custom_tool_call_input.delta", {"delta": grain}
            yield "response.custom_tool_call_input.done", {"input": piece.written()}
        case ToolUse(tool):
            for grain in reply.grains(piece.written()):
                yield "response.function_call_arguments.delta", {"delta": grain}
            yield "response.function_call_arguments.done", {"name": tool, "arguments": piece.written()}


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
