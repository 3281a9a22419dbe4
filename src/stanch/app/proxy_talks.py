"""Conversations as the model proxy last saw them, so that of the next request only what is new has to be looked at.

Settles that a tag which was worked out once stays with its message for as long as the conversation goes on, whatever
becomes of the file; and that what is not the same as before is looked at anew. Does not settle which tags a message has
(`tiers.tags`), nor what of it is sent (`app.proxying`).
INVARIANT: nothing here is shared between two principals.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stanch.app.answer_copies import sealed_mark
from stanch.app.projected_messages import Projected
from stanch.app.proxy_own_words import summaries
from stanch.app.request_text import RequestText, read
from stanch.tiers.dialects import anthropic, chat, responses
from stanch.tiers.dialects.telling import Shape
from stanch.tiers.kept import Kept
from stanch.tiers.tag_calls import Reader
from stanch.tiers.tags import Tagging
from stanch.values.fault import BadInput
from stanch.values.message import Message

MOST_TALKS = 64
MOST_CHARACTERS = 64_000_000
LISTED = {Shape.CHAT: "messages", Shape.RESPONSES: "input", Shape.ANTHROPIC: "messages"}
BESIDE = {Shape.RESPONSES: "instructions", Shape.ANTHROPIC: "system"}


@dataclass(slots=True)
class Talk:
    """One conversation. `own` is what the system says beside the messages, `plain` the messages without tags.

    `basis` is all that its tags depend on besides, `directories` where its agent may be by now. `start` is the work on
    tags as it stood after `done` messages. `sealed` are the marks of what is opaque, by the place of its message among
    `tagged`, and `summed` the places of summaries there.
    """

    session_id: str
    shape: Shape
    request: RequestText
    basis: Hashable
    own: list[Message]
    plain: list[Message]
    tagged: list[Message]
    start: Tagging
    done: int
    places: tuple[str, ...]
    sealed: dict[int, tuple[str, ...]]
    summed: tuple[int, ...] = ()
    head: bytes = b""
    first: str = ""
    directories: tuple[str, ...] = ()
    reference: str | None = None
    kept: dict[str, Kept] = field(default_factory=dict)
    projected: dict[str, Projected] = field(default_factory=dict)
    written: dict[int, tuple[Any, list[bytes]]] = field(default_factory=dict)
    lent: dict[tuple[int, str], tuple[Message, Message]] = field(default_factory=dict)


class Talks:
    """The conversations of late. Safe to use from any thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[Hashable, Talk]] = OrderedDict()
        self._lock = threading.Lock()
        self._locks: OrderedDict[str, threading.Lock] = OrderedDict()

    def read(self, owner: Hashable, shape: Shape, raw: bytes) -> tuple[RequestText, Talk | None]:
        """The request's text, and the conversation of this owner that it most likely goes on with.

        Raises `BadInput` for a body that cannot be read.
        """
        with self._lock:
            known = [talk for who, talk in reversed(self._known.values()) if who == owner and talk.shape is shape]
        # WHY the first message: conversations are told apart by that; how much more is the same is found out later.
        near = next((talk for talk in known if talk.head and raw.startswith(talk.head)), None)
        request = read(raw, LISTED[shape], None if near is None else near.request)
        if near is None and request.spans:
            # WHY once more: what stands before the messages may be another now, such as the model.
            first = request.text[slice(*request.spans[0])]
            near = next((talk for talk in known if talk.first == first), None)
        return request, near

    def take(self, near: Talk | None) -> Talk | None:
        """The conversation, for whoever goes on with it, and for nobody else; None where another has it already."""
        with self._lock:
            return near if near is not None and self._known.pop(id(near), None) is not None else None

    def keep(self, owner: Hashable, talk: Talk) -> None:
        """Keeps the conversation as it is now."""
        with self._lock:
            self._known[id(talk)] = owner, talk
            size = sum(len(one.request.text) for _, one in self._known.values())
            while len(self._known) > MOST_TALKS or (size > MOST_CHARACTERS and len(self._known) > 1):
                _, (_, gone) = self._known.popitem(last=False)
                size -= len(gone.request.text)

    def conversation(self, session_id: str) -> list[Message]:
        """The longest conversation of the session that is known."""
        with self._lock:
            found = [[*talk.own, *talk.tagged] for _, talk in self._known.values() if talk.session_id == session_id]
        return max(found, key=len, default=[])

    def lock(self, session_id: str) -> threading.Lock:
        """What whoever works on a conversation of the session holds."""
        with self._lock:
            found = self._locks.setdefault(session_id, threading.Lock())
            self._locks.move_to_end(session_id)
            while len(self._locks) > 4 * MOST_TALKS:
                self._locks.popitem(last=False)
            return found


def followed(
    session_id: str,
    shape: Shape,
    request: RequestText,
    near: Talk | None,
    *,
    basis: Hashable,
    begin: Callable[[], Tagging],
    reader: Reader,
    reference_in: Callable[[Sequence[Any]], str | None],
) -> Talk:
    """The conversation of this request with its tags. `near` is used up: nobody may look at it again.

    `begin` starts work on tags anew, `reader` goes on with it. Raises `BadInput` for messages that cannot be read.
    """
    before = near if near is not None and near.session_id == session_id and near.basis == basis else None
    same = _alike(request, before.request) if before is not None else 0
    plain = [*(before.plain[:same] if before is not None else ()), *_read(shape, request, same)]
    key = BESIDE.get(shape, "")
    first: Tagging | None = None
    if before is not None and request.body.get(key) == before.request.body.get(key):
        own, places = before.own, before.places
    else:
        first = begin()
        own = first.more(_own(shape, request))
        places = first.places
        if before is not None and (before.places != places or _tags(before.own) != _tags(own)):
            before = None
    if before is not None and before.done <= same:
        start, old = before.start, before.tagged[:same]
        # WHY with their tags: what was worked out when a message came stays, whatever lies at its path by now.
        start.more(old[before.done :])
        sealed = {at: marks for at, marks in before.sealed.items() if at < same}
    else:
        if first is None:
            first = begin()
            first.more(_own(shape, request))
        start, old, sealed = first, [], {}
    done, tagged = len(old), list(old)
    last = start
    if done < len(plain):
        last = start.copied(reader)
        tagged += last.more(plain[done:])
    for at in range(done, len(tagged)):
        marks = tuple(mark for part in tagged[at].parts if (mark := sealed_mark(part)) is not None)
        if marks:
            sealed[at] = marks
    talk = Talk(session_id, shape, request, basis, own, plain, tagged, start, done, places, sealed)
    talk.directories = last.places
    known = before.summed if before is not None and old else ()
    talk.summed = (*(at for at in known if at < done), *(done + at for at in summaries(tagged[done:])))
    if before is not None and request.same:
        talk.head, talk.first = before.head, before.first
    elif request.spans:
        talk.head = request.text[: request.spans[0][1]].encode()
        talk.first = request.text[slice(*request.spans[0])]
    if before is not None:
        talk.kept, talk.written, talk.lent = before.kept, before.written, before.lent
        talk.projected = before.projected
        talk.reference = before.reference if same else None
    if talk.reference is None and request.has_list:
        talk.reference = reference_in(request.items[same if before is not None else 0 :])
    return talk


def _tags(messages: Sequence[Message]) -> list[Any]:
    return [part.tags for message in messages for part in message.parts]


def _alike(request: RequestText, old: RequestText) -> int:
    """How many messages are the same as before, wherever they stand in the text. `old` is what it was read after."""
    at = request.same
    most = min(len(request.spans), len(old.spans))
    while at < most and request.text[slice(*request.spans[at])] == old.text[slice(*old.spans[at])]:
        at += 1
    return at


def _own(shape: Shape, request: RequestText) -> list[Message]:
    """What the system says beside the messages, as one message."""
    key = BESIDE.get(shape)
    if key is None or request.body.get(key) is None:
        return []
    value = request.body[key]
    return anthropic.read_messages([], value) if shape is Shape.ANTHROPIC else responses.read_messages([], value)


def _read(shape: Shape, request: RequestText, start: int) -> list[Message]:
    """The messages from that place on."""
    listed = LISTED[shape]
    if listed not in request.body:
        raise BadInput(f"{listed} is missing")
    given: Any = request.items[start:] if request.has_list else request.body[listed]
    try:
        return _read_all(shape, given)
    except BadInput:
        if not start:
            raise
    # WHY again: the fault has to name the place in the whole list.
    _read_all(shape, request.items)
    raise BadInput(f"{listed} cannot be read")


def _read_all(shape: Shape, given: Any) -> list[Message]:
    match shape:
        case Shape.RESPONSES:
            return responses.read_messages(given)
        case Shape.ANTHROPIC:
            return anthropic.read_messages(given)
        case _:
            return chat.read_messages(given)


def lent(talk: Talk, at: int, model: str) -> Message:
    """The message as one that this model made, whose opaque parts are its own to read."""
    message = talk.tagged[at]
    known = talk.lent.get((at, model))
    if known is not None and known[0] is message:
        return known[1]
    parts = tuple(replace(part, tags=()) if sealed_mark(part) is not None else part for part in message.parts)
    made = replace(message, parts=parts, model=model)
    talk.lent[at, model] = message, made
    return made
