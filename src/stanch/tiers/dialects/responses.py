"""OpenAI responses: the `input` of a request, and its `instructions`.

Settles which item becomes which message: each item is one, so that items keep their order and their number. Does not
settle how the items for tool calls and their outputs are read (`response_calls`), nor reasoning (`response_reasoning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stanch.tiers.dialects import response_calls, response_reasoning
from stanch.tiers.dialects.checking import Json, bad, copied, held, rows, table, words
from stanch.tiers.dialects.contents import FULL, LEFT_OUT, content_mark, joined, read_content, write_content
from stanch.tiers.dialects.hollow import TAKEN
from stanch.tiers.dialects.response_blocks import read_block, write_block
from stanch.values.fault import BadInput
from stanch.values.message import Call, Message, Opaque, Part, Reasoning, Result, Role, Text

INPUT, INSTRUCTIONS = "input", "instructions"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}
# The items that keep the id by which a provider looks for the reasoning before them, and can do without it.
_BOUND = frozenset({"function_call", "custom_tool_call"})


def read_messages(items: object, instructions: object = None) -> list[Message]:
    """One message for each item, the instructions first. Raises `BadInput` that names the field.

    `items` is what a request has as `input`, a string or a list; `instructions` is a string, or nothing.
    """
    own: list[Message] = []
    if instructions is not None:
        text = words(instructions, INSTRUCTIONS)
        own.append(Message(Role.SYSTEM, (Text(text),), extra={INSTRUCTIONS: TAKEN}))
    if isinstance(items, str):
        return [*own, Message(Role.USER, (Text(items),), extra={INPUT: TAKEN})]
    if not isinstance(items, list):
        raise bad(INPUT, "a string or a list of items", items)
    given = rows(copied(items, INPUT), INPUT)
    return own + [_read(table(one, f"{INPUT}[{at}]"), f"{INPUT}[{at}]") for at, one in enumerate(given)]


def write_messages(messages: Sequence[Message]) -> tuple[str | list[Json], str | None]:
    """What `input` and `instructions` are; an item of reasoning that was left out is no more."""
    own = [one for one in messages if _is(one, INSTRUCTIONS)]
    rest = [one for one in messages if not _is(one, INSTRUCTIONS)]
    instructions = joined([part for one in own for part in one.parts], write_block) if own else None
    if len(rest) == 1 and _is(rest[0], INPUT):
        plain = write_content(rest[0].parts, TAKEN, write_block)
        if isinstance(plain, str):
            return plain, instructions
    items: list[Json] = []
    alone = False
    for one in rest:
        if _is_left_out(one):
            alone = True
            continue
        for item in _write(one):
            kind = item.get("type")
            alone = alone and (kind in _BOUND or kind == "message")
            # WHY: a provider that stored this call knows which reasoning led to it, and refuses the one by its id
            # without the other.
            items.append(
                {key: value for key, value in item.items() if key != "id"} if alone and kind in _BOUND else item
            )
    return items, instructions


def _is(message: Message, key: str) -> bool:
    return key in message.extra and "role" not in message.extra


def _is_left_out(message: Message) -> bool:
    """True for an item of which no part is left, or nothing but the words for that."""
    return "role" not in message.extra and message.parts in ((), (Text(LEFT_OUT),))


def _read(item: Json, where: str) -> Message:
    kind = item.get("type")
    if kind is not None:
        words(kind, f"{where}.type")
    if kind == "message" or (kind is None and "role" in item):
        return _read_message(item, where)
    if kind in response_calls.CALLS:
        return Message(Role.ASSISTANT, (response_calls.read_call(item, where),))
    if kind in response_calls.RESULTS:
        return Message(Role.TOOL, (response_calls.read_result(item, where),))
    if kind == "reasoning":
        return Message(Role.ASSISTANT, (response_reasoning.read(item, where),))
    if kind is None and "id" not in item:
        raise BadInput(f"{where} must be an item with a type, or a message with a role")
    return Message(_role_of(item, kind or ""), (Opaque(kind or "item_reference", item),))


def _role_of(item: Json, kind: str) -> Role:
    """Who speaks in an item of an unknown kind, by what it says of it, else by its name."""
    if item.get("role") in _ROLES:
        return _ROLES[item["role"]]
    if kind.endswith("_output"):
        return Role.TOOL
    return Role.USER if kind.endswith("_response") else Role.ASSISTANT


def _read_message(item: Json, where: str) -> Message:
    name = words(held(item, "role", where), f"{where}.role")
    if name not in _ROLES:
        raise bad(f"{where}.role", f"one of {', '.join(_ROLES)}", name)
    content = held(item, "content", where)
    if content is None:
        raise bad(f"{where}.content", "a string or a list of blocks", content)
    return Message(
        _ROLES[name],
        read_content(content, f"{where}.content", read_block),
        extra={**item, "content": content_mark(content)},
    )


def _write(message: Message) -> list[Json]:
    if "role" in message.extra:
        return [_write_message(message)]
    items: list[Json] = []
    said: list[Part] = []
    for part in message.parts:
        match part:
            case Call():
                items.append(response_calls.write_call(part))
            case Result():
                items += response_calls.write_result(part)
            case Reasoning():
                items.append(response_reasoning.write(part))
            case Opaque():
                items.append(copied(part.data, "data"))
            case _:
                said.append(part)
    if said:
        items.append(_write_message(Message(message.role, tuple(said))))
    return items


def _write_message(message: Message) -> Json:
    extra: Json = copied(message.extra, "extra")
    if _ROLES.get(str(extra.get("role"))) is not message.role:
        # WHY a developer's: nobody speaks for a tool in this dialect, and what stands there is no person's word.
        role = "developer" if message.role is Role.TOOL else message.role.value
        extra = {"role": role, **{key: value for key, value in extra.items() if key not in ("role", INPUT)}}
    mark = extra.get("content", TAKEN)
    voice = message.role
    if voice is Role.ASSISTANT and "id" not in extra and mark == FULL:
        # WHY: only a message that came from the provider has blocks of its output; in another, one text is a string.
        if len(message.parts) == 1 and isinstance(message.parts[0], Text) and not message.parts[0].extra:
            mark = TAKEN
        elif any(str(part.extra.get("type", "input_")).startswith("input_") for part in message.parts if part.extra):
            voice = Role.USER
    content: Any = write_content(message.parts, mark, lambda part: write_block(part, voice))
    if content == [] and mark == FULL:
        content = [write_block(Text(""), voice)]
    return {**extra, "content": content}
