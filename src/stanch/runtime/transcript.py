"""Stored messages as the agent library has them, and back.

Settles that nothing of a model's answer is lost on the way into the store and out of it again. Does not settle which of
it a model may see (`runtime.send`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from stanch.values.message import Call, File, Fragment, Message, Opaque, Part, Reasoning, Result, Role, Text

_ANY: TypeAdapter[ModelResponsePart] = TypeAdapter(ModelResponsePart)
_KEPT = ("id", "provider_name", "provider_details")


def message_of(response: ModelResponse, model: str) -> Message:
    """The message that a model's answer is stored as. `model` is the one that was asked, as `provider/model`."""
    extra: dict[str, Any] = {}
    for key in ("provider_name", "model_name", "finish_reason"):
        value = getattr(response, key)
        if value is not None:
            extra[key] = value
    usage = {"input_tokens": response.usage.input_tokens, "output_tokens": response.usage.output_tokens}
    if any(usage.values()):
        extra["usage"] = usage
    return Message(Role.ASSISTANT, tuple(map(_part_of, response.parts)), model=model, extra=extra)


def _part_of(part: ModelResponsePart) -> Part:
    if isinstance(part, TextPart) and not part.citations:
        return Text(part.content, extra=_kept(part))
    if isinstance(part, ThinkingPart):
        return Reasoning(part.content, part.signature, extra=_kept(part))
    if type(part) is ToolCallPart:
        return Call(part.tool_call_id, part.tool_name, _arguments(part), extra=_kept(part))
    if isinstance(part, FilePart):
        data = base64.b64encode(part.content.data).decode("ascii")
        return File(part.content.media_type, data, extra=_kept(part))
    return Opaque(part.part_kind, _ANY.dump_python(part, mode="json"))


def _arguments(part: ToolCallPart) -> Mapping[str, Any] | str:
    """The arguments as the model wrote them: an object, or the text where it wrote none."""
    try:
        return part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return part.args if isinstance(part.args, str) else ""


def _kept(part: TextPart | ThinkingPart | ToolCallPart | FilePart) -> Mapping[str, Any]:
    return {key: value for key in _KEPT if (value := getattr(part, key, None)) is not None}


def answer_of(part: ModelRequestPart) -> Result | None:
    """The result of a call that a part of a request says; None for any other part."""
    if isinstance(part, ToolReturnPart):
        words = part.content if isinstance(part.content, str) else part.model_response_str()
        return Result(part.tool_call_id, (Text(words),), part.tool_name, failed=part.outcome != "success")
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return Result(part.tool_call_id, (Text(part.model_response()),), part.tool_name, failed=True)
    return None


def model_messages(messages: Iterable[Message]) -> list[ModelMessage]:
    """The messages in the library's own shape, as its model clients take them."""
    made: list[ModelMessage] = []
    asked: list[ModelRequestPart] = []
    for message in messages:
        if message.role is Role.ASSISTANT:
            if asked:
                made.append(ModelRequest(parts=asked))
                asked = []
            made.append(_response(message))
        else:
            asked.extend(_request_parts(message))
    if asked:
        made.append(ModelRequest(parts=asked))
    return made


def _response(message: Message) -> ModelResponse:
    extra = message.extra
    return ModelResponse(
        parts=list(map(_response_part, message.parts)),
        model_name=extra.get("model_name"),
        provider_name=extra.get("provider_name"),
        finish_reason=extra.get("finish_reason"),
    )


def _response_part(part: Part) -> ModelResponsePart:
    match part:
        case Text():
            return TextPart(part.text, **part.extra)
        case Reasoning():
            return ThinkingPart(part.text, signature=part.signature, **part.extra)
        case Call():
            arguments = part.arguments if isinstance(part.arguments, str) else dict(part.arguments)
            return ToolCallPart(part.tool, arguments, part.id, **part.extra)
        case File(data=str(data)):
            return FilePart(BinaryContent(base64.b64decode(data), media_type=part.media_type), **part.extra)
        case Opaque():
            return _ANY.validate_python(dict(part.data))
    return TextPart(_words(part))


def _request_parts(message: Message) -> Iterator[ModelRequestPart]:
    if message.role is Role.SYSTEM:
        for part in message.parts:
            yield SystemPromptPart(_words(part))
        return
    said: list[UserContent] = []
    for part in message.parts:
        if isinstance(part, Result):
            yield _returned(part)
        else:
            said.append(_user_content(part))
    if said:
        only = said[0]
        yield UserPromptPart(only if len(said) == 1 and isinstance(only, str) else said)


def _returned(result: Result) -> ToolReturnPart:
    content: Sequence[Any] = [_user_content(part) for part in result.content]
    words = all(isinstance(one, str) for one in content)
    return ToolReturnPart(
        tool_name=result.tool,
        content="".join(content) if words else list(content),
        tool_call_id=result.call_id,
        outcome="failed" if result.failed else "success",
    )


def _user_content(part: Part) -> UserContent:
    if isinstance(part, File) and part.data is not None:
        return BinaryContent(base64.b64decode(part.data), media_type=part.media_type)
    if isinstance(part, File) and part.url is not None and part.media_type.startswith("image/"):
        return ImageUrl(part.url)
    return _words(part)


def _words(part: Part) -> str:
    match part:
        case Text() | Fragment() | Reasoning():
            return part.text
        case File():
            return f"[a file, {part.media_type}]"
    return f"[{type(part).__name__.lower()}]"
