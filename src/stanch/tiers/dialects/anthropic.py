"""Anthropic messages: the `messages` of a request, and its `system`.

Settles how each message is read and written back without loss. The results of tools that the provider runs itself are
read as results, so that each keeps its call; what they may say instead of their content is in `server_tools`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stanch.tiers.dialects import server_tools
from stanch.tiers.dialects.checking import Json, bad, copied, held, optional_words, rows, table, words
from stanch.tiers.dialects.contents import FULL, LEFT_OUT, content_mark, read_content, write_content
from stanch.tiers.dialects.hollow import TAKEN, filled, hollow
from stanch.values.fault import BadInput
from stanch.values.message import Call, File, Fragment, Message, Opaque, Part, Reasoning, Result, Role, Text

SYSTEM = "system"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULTS = ("tool_result", "mcp_tool_result")


def read_messages(messages: object, system: object = None, where: str = "messages") -> list[Message]:
    """The messages, the system's own words first. Raises `BadInput` that names the field and what was expected there.

    `system` is what a request says beside its messages: a string, a list of blocks, or nothing.
    """
    given = rows(copied(messages, where), where)
    own = [] if system is None else [_read_system(copied(system, SYSTEM))]
    return own + [_read(table(one, f"{where}[{at}]"), f"{where}[{at}]") for at, one in enumerate(given)]


def write_messages(messages: Sequence[Message]) -> tuple[list[Json], Any]:
    """The messages as JSON, and what `system` is beside them; None where there is none."""
    own = [one for one in messages if _is_system(one)]
    if len(own) > 1:
        raise BadInput("a request of this shape has one system prompt")
    system = write_content(own[0].parts, own[0].extra[SYSTEM], write_block) if own else None
    return [_write(one) for one in messages if not _is_system(one)], system


def _is_system(message: Message) -> bool:
    return SYSTEM in message.extra and "role" not in message.extra


def _read_system(system: Any) -> Message:
    return Message(Role.SYSTEM, read_content(system, SYSTEM, read_block), extra={SYSTEM: content_mark(system)})


def _read(message: Json, where: str) -> Message:
    name = words(held(message, "role", where), f"{where}.role")
    if name not in _ROLES:
        raise bad(f"{where}.role", f"one of {', '.join(_ROLES)}", name)
    if "content" not in message and name == "system":
        return Message(Role.SYSTEM, (), extra=message)  # WHY: one that only changes a setting says nothing
    content = held(message, "content", where)
    if content is None:
        raise bad(f"{where}.content", "a string or a list of blocks", content)
    parts = read_content(content, f"{where}.content", read_block)
    return Message(_ROLES[name], parts, extra={**message, "content": content_mark(content)})


def read_block(block: Json, where: str) -> Part:
    """The part that a block is. Raises `BadInput` for a block of a known kind that lacks what it must have."""
    kind = words(held(block, "type", where), f"{where}.type")
    if kind == "text":
        return Text(words(held(block, "text", where), f"{where}.text"), extra=hollow(block, ("text",)))
    if kind in _CALLS:
        tool = words(held(block, "name", where), f"{where}.name")
        given = table(held(block, "input", where), f"{where}.input")
        server = block.get("server_name")
        named = f"mcp__{server}__{tool}" if isinstance(server, str) else tool
        return Call(
            words(held(block, "id", where), f"{where}.id"), named, given, extra=hollow(block, ("id",), ("input",))
        )
    if kind in _RESULTS:
        return _read_result(block, where)
    if kind in server_tools.RESULTS:
        identity = words(held(block, "tool_use_id", where), f"{where}.tool_use_id")
        inner = Opaque(kind, {"content": held(block, "content", where)})
        return Result(identity, (inner,), extra=hollow(block, ("tool_use_id",), ("content",)))
    if kind == "thinking":
        thought = words(held(block, "thinking", where), f"{where}.thinking")
        signature = optional_words(block.get("signature"), f"{where}.signature")
        return Reasoning(thought, signature, extra=hollow(block, ("thinking",), ("signature",)))
    if kind == "redacted_thinking":
        return Reasoning("", words(held(block, "data", where), f"{where}.data"), extra=hollow(block, ("data",)))
    if kind in ("image", "document"):
        return _read_file(block, kind, where)
    return Opaque(kind, block)


def _read_result(block: Json, where: str) -> Result:
    identity = words(held(block, "tool_use_id", where), f"{where}.tool_use_id")
    content = block.get("content")
    extra = hollow(block, ("tool_use_id",))
    if "content" in block:
        extra["content"] = content_mark(content)
    found = read_content(content, f"{where}.content", read_block)
    inner = tuple(_inside(part) for part in found)
    return Result(identity, inner, failed=block.get("is_error") is True, extra=extra)


def _inside(part: Part) -> Text | File | Opaque:
    """A part as a result may hold it: of the kinds that no result should hold, the block as it came."""
    if isinstance(part, (Text, File, Opaque)):
        return part
    block = write_block(part)
    return Opaque(str(block["type"]), block)


def _read_file(block: Json, kind: str, where: str) -> Part:
    """An image or a document; one that holds its text in itself is a block to look through."""
    source = table(held(block, "source", where), f"{where}.source")
    title = block.get("title")
    name = title if isinstance(title, str) else None
    media_type = str(source.get("media_type") or ("application/pdf" if kind == "document" else "image/*"))
    match source.get("type"):
        case "base64":
            data = words(held(source, "data", f"{where}.source"), f"{where}.source.data")
            return File(media_type, data, None, name, extra=hollow(block, ("source", "data")))
        case "url":
            url = words(held(source, "url", f"{where}.source"), f"{where}.source.url")
            return File(media_type, None, url, name, extra=hollow(block, ("source", "url")))
        case "file":
            return File(media_type, name=name, extra=block)
        case _:
            return Opaque(kind, block)


def _write(message: Message) -> Json:
    extra: Json = copied(message.extra, "extra")
    if _ROLES.get(str(extra.get("role"))) is not message.role:
        role = "user" if message.role is Role.TOOL else message.role.value
        extra = {"role": role, **{key: value for key, value in extra.items() if key != "role"}}
    if not message.parts and "content" not in extra and message.role is Role.SYSTEM:
        return extra
    mark = extra.get("content", TAKEN)
    after = [block for part in message.parts for block in _beside(part)]
    content = write_content(message.parts, mark, write_block)
    if after and isinstance(content, list):
        content += after
    if content == [] and mark == FULL:
        content = [{"type": "text", "text": LEFT_OUT}]
    return {**extra, "content": content}


def _beside(part: Part) -> Iterator[Json]:
    """What stands in the place of a result that can say nothing but that it failed: the words, in blocks of text."""
    if isinstance(part, Result) and part.extra.get("type") in server_tools.RESULTS:
        yield from (write_block(one) for one in part.content if isinstance(one, Text))


def write_block(part: Part) -> Json:
    """The block of a part; one that was read from no block gets a fresh one."""
    match part:
        case Text() | Fragment():
            extra = part.extra if "type" in part.extra else {"type": "text", "text": TAKEN, **part.extra}
            return filled(extra, {("text",): part.text})
        case Opaque():
            made: Json = copied(part.data, "data")
            return made
        case Call():
            return _write_call(part)
        case Result():
            return _write_result(part)
        case Reasoning() if part.extra.get("type") == "redacted_thinking":
            return filled(part.extra, {("data",): part.signature})
        case Reasoning():
            extra = part.extra or {"type": "thinking", "thinking": TAKEN, "signature": TAKEN}
            return filled(extra, {("thinking",): part.text, ("signature",): part.signature})
        case File():
            return _write_file(part)


def _write_call(call: Call) -> Json:
    extra = call.extra or {"type": "tool_use", "id": TAKEN, "name": call.tool, "input": TAKEN}
    given = call.arguments
    # WHY: this dialect takes nothing but an object; only what another dialect wrote can be a text.
    return filled(
        extra, {("id",): call.id, ("input",): {"input": given} if isinstance(given, str) else copied(given, "input")}
    )


def _write_result(result: Result) -> Json:
    extra = dict(result.extra) or {"type": "tool_result", "tool_use_id": TAKEN, "content": TAKEN}
    if extra.get("type") in server_tools.RESULTS:
        content: Any = server_tools.failure(str(extra["type"]))
        if len(result.content) == 1 and isinstance(result.content[0], Opaque):
            content = copied(result.content[0].data, "data")["content"]
        return {**filled(extra, {("tool_use_id",): result.call_id}), "content": content}
    if (extra.get("is_error") is True) is not result.failed:
        extra["is_error"] = result.failed
    if result.content or "content" in extra:
        extra["content"] = write_content(result.content, extra.get("content", TAKEN), write_block)
    return filled(extra, {("tool_use_id",): result.call_id})


def _write_file(file: File) -> Json:
    kind = "image" if file.media_type.startswith("image/") else "document"
    if file.extra:
        values = {("source", "data"): file.data, ("source", "url"): file.url}
        return filled(file.extra, {way: value for way, value in values.items() if value is not None})
    source: Json = {"type": "url", "url": file.url}
    if file.data is not None:
        source = {"type": "base64", "media_type": file.media_type, "data": file.data}
    return {"type": kind, "source": source}
