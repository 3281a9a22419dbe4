"""The messages of a request to a model as they are sent: what is withheld written anew, all else as it came.

Settles which elements of the request's list are others now. Does not settle what is withheld (`tiers.history`).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from stanch.app.proxy_talks import BESIDE, LISTED, Talk
from stanch.app.request_text import Piece, RequestText, json_text
from stanch.secrets.projection import Projector
from stanch.tiers.dialects import anthropic, chat, responses
from stanch.tiers.dialects.contents import LEFT_OUT
from stanch.tiers.dialects.telling import Shape
from stanch.values.message import Message, Role, Text


def changed(talk: Talk, given: Sequence[Message], sent: Sequence[Message]) -> tuple[dict[str, Any], list[Piece]]:
    """The values that are others now, by key, and the elements that are; `given` became `sent`, message by message.

    Both begin with what the system says beside the messages.
    """
    own = len(talk.own)
    values: dict[str, Any] = {}
    if own and sent[0] is not given[0]:
        values[BESIDE[talk.shape]] = _beside(talk.shape, sent[0])
    given, sent = given[own:], sent[own:]
    if not talk.request.has_list:
        if any(new is not old for new, old in zip(sent, given, strict=True)):
            values[LISTED[talk.shape]] = responses.write_messages(sent)[0]
        return values, []
    pieces: list[Piece] = []
    written: dict[int, tuple[Any, list[bytes]]] = {}
    end = 0
    for at in [place for place, same in enumerate(map(is_, sent, given)) if not same]:
        if at < end:
            continue
        end = _end(talk.shape, sent, at)
        run = tuple(sent[at:end])
        known = talk.written.get(id(run[0]))
        if known is None or len(known[0]) != len(run) or any(a is not b for a, b in zip(known[0], run, strict=True)):
            known = run, [json_text(item).encode() for item in _elements(talk.shape, run)]
        # WHY with the messages: an id is one object's for as long as that is kept.
        written[id(run[0])] = known
        pieces.append(Piece(at, end, known[1]))
    talk.written = written
    return values, pieces


def _end(shape: Shape, sent: Sequence[Message], at: int) -> int:
    """Up to where messages are written together.

    WHY: where reasoning was left out, what its provider binds to it is written otherwise, up to the next result.
    """
    end = at + 1
    if shape is Shape.RESPONSES and _is_left_out(sent[at]):
        while end < len(sent) and sent[end].role is not Role.TOOL:
            end += 1
    return end


def _is_left_out(message: Message) -> bool:
    return "role" not in message.extra and message.parts in ((), (Text(LEFT_OUT),))


def _elements(shape: Shape, messages: Sequence[Message]) -> list[Any]:
    match shape:
        case Shape.RESPONSES:
            items, _ = responses.write_messages(messages)
            return items if isinstance(items, list) else [{"role": "user", "content": items}]
        case Shape.ANTHROPIC:
            return list(anthropic.write_messages(messages)[0])
        case _:
            return list(chat.write_messages(messages))


def _beside(shape: Shape, message: Message) -> Any:
    if shape is Shape.ANTHROPIC:
        return anthropic.write_messages([message])[1]
    return responses.write_messages([message])[1]


def beside_messages(request: RequestText, projector: Projector) -> dict[str, Any]:
    """What stands beside the conversation and holds a value of the vault, such as a tool's description, without it."""
    found = {key: projector.structure(value) for key, value in request.body.items()}
    return {key: value for key, value in found.items() if value is not request.body[key]}
