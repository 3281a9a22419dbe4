"""OpenAI chat completions: the `messages` of a request.

Settles how each message is read and written back without loss. What has no part of its own (a refusal beside the
content, audio, keys that nobody knows) stays in the `extra` of the message.
"""

from __future__ import annotations

from collections.abc import Sequence

from stanch.tiers.dialects.arguments import read_arguments, write_arguments
from stanch.tiers.dialects.checking import Json, bad, copied, held, optional_words, rows, table, words
from stanch.tiers.dialects.contents import FULL, content_mark, joined, read_content, write_content
from stanch.tiers.dialects.files import IMAGE, file_by_url, write_by_url
from stanch.tiers.dialects.hollow import TAKEN, filled, hollow
from stanch.values.fault import BadInput
from stanch.values.message import Call, File, Fragment, Message, Opaque, Part, Reasoning, Result, Role, Text

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
# Under which keys servers that speak this dialect tell what their model thought.
_THOUGHTS = ("reasoning_content", "reasoning")
_AMONG_CALLS = {"in": "tool_calls"}


def read_messages(messages: object, where: str = "messages") -> list[Message]:
    """The messages. Raises `BadInput` that names the field and what was expected there."""
    given = copied(messages, where)
    return [_read(table(one, f"{where}[{at}]"), f"{where}[{at}]") for at, one in enumerate(rows(given, where))]


def write_messages(messages: Sequence[Message]) -> list[Json]:
    """The messages as JSON: equal to what was read, but for the parts that are others now."""
    return [_write(one) for one in messages]


def _read(message: Json, where: str) -> Message:
    name = words(held(message, "role", where), f"{where}.role")
    role = ROLES.get(name)
    if role is None:
        raise bad(f"{where}.role", f"one of {', '.join(ROLES)}", name)
    content, extra = message.get("content"), dict(message)
    parts: list[Part] = []
    if role is Role.ASSISTANT:
        parts += _thoughts(message, extra)
    found = read_content(content, f"{where}.content", _read_block)
    if "content" in message:
        extra["content"] = content_mark(content)
    if role is Role.TOOL:
        key = "tool_call_id" if name == "tool" else "name"
        given = words(held(message, key, where), f"{where}.{key}")
        if name == "tool":
            extra[key] = TAKEN
        inner = tuple(one for one in found if isinstance(one, (Text, File, Opaque)))
        return Message(role, (Result(given if name == "tool" else "", inner, _tool(message)),), extra=extra)
    parts += found
    if role is Role.ASSISTANT:
        parts += _read_calls(message, extra, where)
    return Message(role, tuple(parts), extra=extra)


def _tool(message: Json) -> str:
    name = message.get("name")
    return name if isinstance(name, str) else ""


def _thoughts(message: Json, extra: Json) -> list[Part]:
    keys = [key for key in _THOUGHTS if isinstance(message.get(key), str)]
    extra.update(dict.fromkeys(keys, TAKEN))
    return [Reasoning(message[key], extra={key: TAKEN}) for key in keys]


def _read_calls(message: Json, extra: Json, where: str) -> list[Part]:
    calls: list[Part] = []
    if message.get("tool_calls") is not None:
        listed = rows(message["tool_calls"], f"{where}.tool_calls")
        for at, one in enumerate(listed):
            place = f"{where}.tool_calls[{at}]"
            calls.append(_read_call(table(one, place), place))
        extra["tool_calls"] = content_mark(listed)
    if message.get("function_call") is not None:
        place = f"{where}.function_call"
        calls.append(_function(table(message["function_call"], place), place, "", {}))
        extra["function_call"] = TAKEN
    return calls


def _read_call(call: Json, where: str) -> Part:
    kind = call.get("type")
    if kind == "custom":
        custom = table(held(call, "custom", where), f"{where}.custom")
        name = words(held(custom, "name", f"{where}.custom"), f"{where}.custom.name")
        given = words(held(custom, "input", f"{where}.custom"), f"{where}.custom.input")
        extra = hollow(call, ("id",), ("custom", "name"), ("custom", "input"))
        return Call(words(held(call, "id", where), f"{where}.id"), name, given, extra=extra)
    if "function" not in call:
        return Opaque(kind if isinstance(kind, str) else "", call, extra=_AMONG_CALLS)
    function = table(call["function"], f"{where}.function")
    return _function(function, f"{where}.function", words(held(call, "id", where), f"{where}.id"), call)


def _function(function: Json, where: str, identity: str, call: Json) -> Call:
    """A call of a function; `call` is what stands around it, nothing for one in the old form."""
    name = words(held(function, "name", where), f"{where}.name")
    raw = function.get("arguments")
    arguments, style = read_arguments(optional_words(raw, f"{where}.arguments") or "")
    inner = hollow(function, ("name",))
    if raw is not None:
        inner["arguments"] = style
    return Call(identity, name, arguments, extra={**hollow(call, ("id",)), "function": inner})


def _read_block(block: Json, where: str) -> Part:
    kind = words(held(block, "type", where), f"{where}.type")
    if kind in ("text", "refusal"):
        return Text(words(held(block, kind, where), f"{where}.{kind}"), extra=hollow(block, (kind,)))
    if kind == "image_url":
        image = table(held(block, "image_url", where), f"{where}.image_url")
        return file_by_url(block, ("image_url", "url"), image.get("url"), IMAGE)
    if kind == "file":
        file = table(held(block, "file", where), f"{where}.file")
        return file_by_url(block, ("file", "file_data"), file.get("file_data"), "application/pdf", file.get("filename"))
    if kind == "input_audio":
        audio = table(held(block, "input_audio", where), f"{where}.input_audio")
        data = optional_words(audio.get("data"), f"{where}.input_audio.data")
        return File(f"audio/{audio.get('format') or '*'}", data, extra=hollow(block, ("input_audio", "data")))
    return Opaque(kind, block)


def _write(message: Message) -> Json:
    extra: Json = copied(message.extra, "extra")
    if ROLES.get(str(extra.get("role"))) is not message.role:
        extra = {"role": message.role.value, **{key: value for key, value in extra.items() if key != "role"}}
    if message.role is Role.TOOL:
        return _write_result(message, extra)
    said = [part for part in message.parts if not isinstance(part, (Call, Reasoning)) and not _is_call(part)]
    content = write_content(said, extra.get("content"), write_block)
    if content is not None or "content" in extra:
        extra["content"] = content if content != [] or extra.get("content") == [] else TAKEN
    if message.role is Role.ASSISTANT:
        _write_thoughts(message, extra)
        _write_calls([part for part in message.parts if isinstance(part, Call) or _is_call(part)], extra)
    elif "content" not in extra:
        extra["content"] = TAKEN
    return extra


def _is_call(part: Part) -> bool:
    return isinstance(part, Opaque) and part.extra == _AMONG_CALLS


def _write_result(message: Message, extra: Json) -> Json:
    results = [part for part in message.parts if isinstance(part, Result)]
    inner: list[Part] = [part for result in results for part in result.content]
    inner += [part for part in message.parts if not isinstance(part, Result)]
    content = write_content(inner, extra.get("content", TAKEN), write_block)
    if extra["role"] == "function":
        return {**extra, "content": joined(inner, write_block) if isinstance(content, list) else content}
    if results and (results[0].call_id or "tool_call_id" in extra):
        extra["tool_call_id"] = results[0].call_id
    return {**extra, "content": content}


def _write_thoughts(message: Message, extra: Json) -> None:
    left = {key: part.text for part in message.parts if isinstance(part, Reasoning) for key in part.extra}
    for key in _THOUGHTS:
        if key in left:
            extra[key] = left[key]
        elif extra.get(key) == TAKEN:
            del extra[key]


def _write_calls(calls: Sequence[Part], extra: Json) -> None:
    listed = []
    for part in calls:
        if not isinstance(part, Call):
            listed.append(write_block(part))
        elif part.extra and "id" not in part.extra and "function_call" in extra:
            extra["function_call"] = _write_call(part)["function"]
        else:
            listed.append(_write_call(part))
    if listed or extra.get("tool_calls") == FULL:
        extra["tool_calls"] = listed


def _write_call(call: Call) -> Json:
    if "custom" in call.extra or (isinstance(call.arguments, str) and "function" not in call.extra):
        given = call.arguments if isinstance(call.arguments, str) else write_arguments(call.arguments, "")
        made = {("id",): call.id, ("custom", "name"): call.tool, ("custom", "input"): given}
        return filled(call.extra or {"id": TAKEN, "type": "custom", "custom": {}}, made)
    extra = call.extra or {"id": TAKEN, "type": "function", "function": {}}
    inner = extra.get("function") or {}
    style = inner.get("arguments") if inner else TAKEN
    raw = write_arguments(call.arguments, style) if call.arguments or style is not None else None
    identity = call.id if "id" in extra else None
    return filled(extra, {("id",): identity, ("function", "name"): call.tool, ("function", "arguments"): raw})


def write_block(part: Part) -> Json:
    """The block of a part of a message's content; one that was read from no block gets a fresh one."""
    match part:
        case Text() if part.extra.get("type") == "refusal":
            return filled(part.extra, {("refusal",): part.text})
        case Text():
            extra = part.extra if "type" in part.extra else {"type": "text", "text": TAKEN, **part.extra}
            return filled(extra, {("text",): part.text})
        case Opaque():
            made: Json = copied(part.data, "data")
            return made
        case File() if part.extra.get("type") == "input_audio":
            return filled(part.extra, {("input_audio", "data"): part.data})
        case File() if part.extra.get("type") == "file":
            return write_by_url(part, ("file", "file_data"))
        case File():
            fresh = part.extra or {"type": "image_url", "image_url": {}}
            return write_by_url(File(part.media_type, part.data, part.url, extra=fresh), ("image_url", "url"))
        case Fragment():
            return {"type": "text", "text": part.text}
        case Reasoning() | Call() | Result():
            raise BadInput(f"the content of a chat message cannot hold a {type(part).__name__.lower()}")
