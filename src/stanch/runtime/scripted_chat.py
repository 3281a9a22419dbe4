"""How a scripted reply is spelled in OpenAI's chat completions.

Settles the bytes of that one dialect. Does not settle what is replied (`runtime.scripted`).
"""

from __future__ import annotations

import json
from typing import Any

from stanch.runtime.scripted_asked import Asked
from stanch.runtime.scripted_reply import Reply, Thought, ToolUse, Words

CREATED = 1_700_000_000


def whole(reply: Reply, asked: Asked, ident: str) -> dict[str, Any]:
    """The answer that does not stream."""
    words = "".join(piece.text for piece in reply.pieces if isinstance(piece, Words))
    thoughts = "".join(piece.text for piece in reply.pieces if isinstance(piece, Thought))
    message: dict[str, Any] = {"role": "assistant", "content": words or None, "refusal": None, "annotations": []}
    if thoughts:
        message["reasoning_content"] = thoughts  # as the servers spell it that have it at all in this dialect
    if reply.uses():
        message["tool_calls"] = [_call(piece, ident, at) for at, piece in _uses(reply)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _stop(reply)}
    return _head(asked, ident, "chat.completion") | {"choices": [choice], "usage": _usage(reply)}


def events(reply: Reply, asked: Asked, ident: str) -> list[bytes]:
    """The answer as events; the number of tokens only where it was asked for."""
    counted = bool((asked.body.get("stream_options") or {}).get("include_usage"))
    head = _head(asked, ident, "chat.completion.chunk") | ({"usage": None} if counted else {})

    def chunk(delta: dict[str, Any], stop: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
        return _event(head | {"choices": [choice]})

    found = [chunk({"role": "assistant", "content": "", "refusal": None})]
    places = {at: place for place, (at, _) in enumerate(_uses(reply))}
    for at, piece in enumerate(reply.pieces):
        match piece:
            case Words(text):
                found += [chunk({"content": grain}) for grain in reply.grains(text)]
            case Thought(text):
                found += [chunk({"reasoning_content": grain}) for grain in reply.grains(text)]
            case ToolUse():
                call = _call(piece, ident, at)
                opening = call | {"function": {"name": piece.tool, "arguments": ""}}
                found.append(chunk({"tool_calls": [{"index": places[at]} | opening]}))
                for grain in reply.grains(piece.written()):
                    found.append(chunk({"tool_calls": [{"index": places[at], "function": {"arguments": grain}}]}))
    found.append(chunk({}, _stop(reply)))
    if counted:
        found.append(_event(head | {"choices": [], "usage": _usage(reply)}))
    return [*found, b"data: [DONE]\n\n"]


def error(status: int, message: str, ident: str) -> dict[str, Any]:  # noqa: ARG001 - one shape for all dialects
    """The body of an error."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def error_event(message: str, ident: str) -> bytes:
    """An error in the middle of a stream."""
    return _event(error(500, message, ident))


def _head(asked: Asked, ident: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{ident}", "object": kind, "created": CREATED, "model": asked.model, "service_tier": None}


def _uses(reply: Reply) -> list[tuple[int, ToolUse]]:
    return [(at, piece) for at, piece in enumerate(reply.pieces) if isinstance(piece, ToolUse)]


def _call(piece: ToolUse, ident: str, at: int) -> dict[str, Any]:
    function = {"name": piece.tool, "arguments": piece.written()}
    return {"id": piece.id or f"call_{ident}_{at}", "type": "function", "function": function}


def _stop(reply: Reply) -> str:
    return reply.stop or ("tool_calls" if reply.uses() else "stop")


def _usage(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    counts: dict[str, Any] = {"prompt_tokens": usage.read, "completion_tokens": usage.written}
    counts["total_tokens"] = usage.read + usage.written
    counts["prompt_tokens_details"] = {"cached_tokens": usage.cached, "audio_tokens": 0}
    counts["completion_tokens_details"] = {"reasoning_tokens": 0, "audio_tokens": 0}
    return counts


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()
