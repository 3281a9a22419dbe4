"""What a scripted turn looks like on the wire in each of the three model dialects."""

import json
from collections.abc import Callable, Iterable
from typing import Any, assert_never

from tests.sessions.turns import Block, Call, FreeformCall, Json, Text, Thought, Turn

OUTPUT_TOKENS = 24


def said(body: Json) -> list[Any]:
    """Give the conversation that a request carries."""
    held: list[Any] | str = body.get("messages") or body.get("input") or []
    return [held] if isinstance(held, str) else held


def offers_tools(body: Json) -> bool:
    """Tell a turn of the agent from a question on the side, such as one for a title."""
    return bool(body.get("tools")) or any(
        isinstance(item, dict) and item.get("type") == "additional_tools" for item in said(body)
    )


def _stream(events: Iterable[tuple[str, Json]]) -> str:
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)


def _anthropic_block(block: Block, ident: str) -> tuple[Json, list[Json]]:
    """An opening block and the deltas that fill it."""
    match block:
        case Thought(text):
            return {"type": "thinking", "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": text},
                {"type": "signature_delta", "signature": "c2NyaXB0ZWQ="},
            ]
        case Text(text):
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]
        case Call(tool, arguments):
            whole = json.dumps(dict(arguments))
            halves = [whole[: len(whole) // 2], whole[len(whole) // 2 :]]
            return {"type": "tool_use", "id": f"toolu_{ident}", "name": tool, "input": {}}, [
                {"type": "input_json_delta", "partial_json": half} for half in halves
            ]
        case FreeformCall():
            raise TypeError("this dialect has no freeform tools")


def anthropic(turn: Turn, stamp: str, model: str, asked: int, stream: bool) -> str:
    """Answer in the messages dialect; only streaming clients get tool calls."""
    stop = "tool_use" if any(isinstance(block, Call) for block in turn) else "end_turn"
    usage = {"input_tokens": asked, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message: Json = {"id": f"msg_{stamp}", "type": "message", "role": "assistant", "model": model, "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    if not stream:
        content = [{"type": "text", "text": block.text} for block in turn if isinstance(block, Text)]
        return json.dumps(message | {"content": content, "stop_reason": "end_turn"})
    events: list[tuple[str, Json]] = [("message_start", {"message": message})]
    for index, block in enumerate(turn):
        start, deltas = _anthropic_block(block, f"{stamp}{index:02d}")
        events.append(("content_block_start", {"index": index, "content_block": start}))
        events += [("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
        events.append(("content_block_stop", {"index": index}))
    ending = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage | {"output_tokens": OUTPUT_TOKENS}}
    events += [("message_delta", ending), ("message_stop", {})]
    return _stream((name, {"type": name} | data) for name, data in events)


def _responses_item(block: Block, ident: str) -> Json:
    match block:
        case Thought(text):
            summary = [{"type": "summary_text", "text": text}]
            return {"type": "reasoning", "id": f"rs_{ident}", "summary": summary, "encrypted_content": "c2NyaXB0ZWQ="}
        case Text(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item: Json = {"type": "message", "id": f"msg_{ident}", "role": "assistant", "content": content}
        case Call(tool, arguments):
            item = {"type": "function_call", "id": f"fc_{ident}", "call_id": f"call_{ident}", "name": tool}
            item["arguments"] = json.dumps(dict(arguments))
        case FreeformCall(tool, text):
            item = {"type": "custom_tool_call", "id": f"ctc_{ident}", "call_id": f"call_{ident}", "name": tool}
            item["input"] = text
        case _:
            assert_never(block)
    return item | {"status": "completed"}


def responses(turn: Turn, stamp: str, model: str, asked: int, stream: bool) -> str:
    """Answer in the responses dialect."""
    items = [_responses_item(block, f"{stamp}{index:02d}") for index, block in enumerate(turn)]
    usage: Json = {"input_tokens": asked, "output_tokens": OUTPUT_TOKENS, "total_tokens": asked + OUTPUT_TOKENS}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole: Json = {"id": f"resp_{stamp}", "object": "response", "created_at": 1, "model": model, "usage": usage}
    if not stream:
        return json.dumps(whole | {"status": "completed", "output": items})
    events: list[tuple[str, Json]] = [
        ("response.created", {"response": whole | {"status": "in_progress", "output": []}})
    ]
    for index, item in enumerate(items):
        events.append(("response.output_item.added", {"output_index": index, "item": item}))
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    events.append(("response.completed", {"response": whole | {"status": "completed", "output": items}}))
    return _stream((name, {"type": name, "sequence_number": n} | data) for n, (name, data) in enumerate(events))


def chat(turn: Turn, stamp: str, model: str, asked: int, stream: bool) -> str:
    """Answer in the chat completions dialect."""
    text = "\n".join(block.text for block in turn if isinstance(block, Text))
    calls = [
        {"id": f"call_{stamp}{index:02d}", "type": "function"}
        | {"function": {"name": block.tool, "arguments": json.dumps(dict(block.arguments))}}
        for index, block in enumerate(turn)
        if isinstance(block, Call)
    ]
    message: Json = {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})
    finish = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": asked, "completion_tokens": OUTPUT_TOKENS, "total_tokens": asked + OUTPUT_TOKENS}
    whole: Json = {"id": f"chatcmpl-{stamp}", "created": 1, "model": model}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return json.dumps(whole | {"object": "chat.completion", "choices": [choice], "usage": usage})
    if calls:
        message["tool_calls"] = [{"index": index} | call for index, call in enumerate(calls)]
    whole["object"] = "chat.completion.chunk"
    chunks = [
        whole | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        whole | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        whole | {"choices": [], "usage": usage},
    ]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


DIALECTS: dict[str, Callable[[Turn, str, str, int, bool], str]] = {
    "/v1/messages": anthropic,
    "/v1/responses": responses,
    "/v1/chat/completions": chat,
}
