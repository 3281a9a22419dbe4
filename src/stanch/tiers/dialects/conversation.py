"""A conversation as somebody gave it: its shape, its messages, and what stands around them.

Settles that what comes back is of the shape that was given: a list where it was a list, a request with all its other
keys where it was a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stanch.tiers.dialects import anthropic, chat, ours, responses
from stanch.tiers.dialects.checking import copied, table
from stanch.tiers.dialects.hollow import TAKEN
from stanch.tiers.dialects.telling import Shape, shape_of
from stanch.values.fault import BadInput
from stanch.values.message import Message


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was read. `around` is the request without its messages, whose places are empty; None for a bare list."""

    shape: Shape
    messages: tuple[Message, ...]
    around: Mapping[str, Any] | None = None


def read(value: object, shape: Shape | None = None) -> Conversation:
    """The conversation in a list of messages, or in a request's body.

    `shape` is for whoever knows it, by the route that a request came on; else it is told by itself. Raises `BadInput`
    that names the field and what was expected there.
    """
    told = shape or shape_of(value)
    if isinstance(value, list):
        return Conversation(told, tuple(_read(told, {_key(told): value})))
    body = table(value, "the request")
    if _key(told) not in body:
        raise BadInput(f"{_key(told)} is missing")
    own = {key: body[key] for key in _keys(told) if key in body}
    around = copied({key: TAKEN if key in own else inner for key, inner in body.items()}, "the request")
    return Conversation(told, tuple(_read(told, own)), around)


def write(conversation: Conversation, messages: Sequence[Message]) -> Any:
    """These messages in the shape of the conversation: JSON of the same kind as what was read."""
    written = _write(conversation.shape, messages)
    key = _key(conversation.shape)
    if conversation.around is None:
        return written[key]
    around = copied(conversation.around, "the request")
    for name, value in written.items():
        if value is not None or around.get(name) == TAKEN:
            around[name] = value
    return around


def _key(shape: Shape) -> str:
    return "input" if shape is Shape.RESPONSES else "messages"


def _keys(shape: Shape) -> tuple[str, ...]:
    beside = {Shape.RESPONSES: "instructions", Shape.ANTHROPIC: "system"}.get(shape)
    return (_key(shape),) if beside is None else (_key(shape), beside)


def _read(shape: Shape, own: Mapping[str, Any]) -> list[Message]:
    match shape:
        case Shape.CHAT:
            return chat.read_messages(own["messages"])
        case Shape.RESPONSES:
            return responses.read_messages(own["input"], own.get("instructions"))
        case Shape.ANTHROPIC:
            return anthropic.read_messages(own["messages"], own.get("system"))
        case Shape.OURS:
            return ours.read_messages(own["messages"])


def _write(shape: Shape, messages: Sequence[Message]) -> dict[str, Any]:
    match shape:
        case Shape.CHAT:
            return {"messages": chat.write_messages(messages)}
        case Shape.RESPONSES:
            items, instructions = responses.write_messages(messages)
            return {"input": items, "instructions": instructions}
        case Shape.ANTHROPIC:
            listed, system = anthropic.write_messages(messages)
            return {"messages": listed, "system": system}
        case Shape.OURS:
            return {"messages": ours.write_messages(list(messages))}
