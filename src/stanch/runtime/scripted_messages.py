"""How a scripted reply is spelled in Anthropic's messages.

Settles the bytes of that one dialect. Does not settle what is replied (`runtime.scripted`).
"""

from __future__ import annotations

import json
from typing import Any

from stanch.runtime.scripted_asked import Asked
from stanch.runtime.scripted_reply import Reply, Thought, ToolUse, Words, signature_of

_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip


def whole(reply: Reply, asked: Asked, ident: str) -> dict[str, Any]:
    """The answer that does not stream."""
    content = [_block(piece, f"{ident}_{at}") for at, piece in enumerate(reply.pieces)]
    ended = {"content": content, "stop_reason": _stop(reply), "usage": _usage(reply, reply.usage.written)}
    return _head(reply, asked, ident) | ended


def events(reply: Reply, asked: Asked, ident: str) -> list[bytes]:
    """The answer as events."""
    found = [_event("message_start", {"message": _head(reply, asked, ident)})]
    for at, piece in enumerate(reply.pieces):
        opening, deltas = _opened(piece, reply, f"{ident}_{at}")
        found.append(_event("content_block_start", {"index": at, "content_block": opening}))
        if not at:
            found.append(_event("ping", {}))
        found += [_event("content_block_delta", {"index": at, "delta": delta}) for delta in deltas]
        found.append(_event("content_block_stop", {"index": at}))
    delta = {"stop_reason": _stop(reply), "stop_sequence": None}
    found.append(_event("message_delta", {"delta": delta, "usage": _usage(reply, reply.usage.written)}))
    return [*found, _event("message_stop", {})]


def error(status: int, message: str, ident: str) -> dict[str, Any]:
    """The body of an error."""
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{ident}"}


def error_event(message: str, ident: str) -> bytes:
    """An error in the middle of a stream."""
    return _event("error", error(529, message, ident))


def _head(reply: Reply, asked: Asked, ident: str) -> dict[str, Any]:
    head: dict[str, Any] = {"id": f"msg_{ident}", "type": "message", "role": "assistant", "model": asked.model}
    return head | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": _usage(reply, 1)}


def _block(piece: Words | Thought | ToolUse, ident: str) -> dict[str, Any]:
    match piece:
        case Words(text):
            return {"type": "text", "text": text}
        case Thought(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature or signature_of(text)}
        case ToolUse(tool, arguments):
            # WHY: this dialect has no place for arguments that are no object; its own models then stream broken JSON.
            given = dict(arguments) if not isinstance(arguments, str) else {}
            return {"type": "tool_use", "id": piece.id or f"toolu_{ident}", "name": tool, "input": given}


def _opened(piece: Words | Thought | ToolUse, reply: Reply, ident: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it is announced, and the pieces that fill it."""
    block = _block(piece, ident)
    match piece:
        case Words(text):
            return block | {"text": ""}, [{"type": "text_delta", "text": grain} for grain in reply.grains(text)]
        case Thought(text):
            deltas = [{"type": "thinking_delta", "thinking": grain} for grain in reply.grains(text)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return block | {"thinking": "", "signature": ""}, deltas
        case ToolUse():
            grains = ["", *reply.grains(piece.written())]
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": grain} for grain in grains]


def _stop(reply: Reply) -> str:
    return reply.stop or ("tool_use" if reply.uses() else "end_turn")


def _usage(reply: Reply, written: int) -> dict[str, Any]:
    usage = reply.usage
    counts = {"input_tokens": usage.read - usage.cached, "output_tokens": written}
    return counts | {"cache_creation_input_tokens": 0, "cache_read_input_tokens": usage.cached}


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name} | data)}\n\n".encode()
