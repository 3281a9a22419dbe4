"""Messages as they are sent: every value of the vault in them replaced by its label, whatever part it stands in.

Settles what becomes of each kind of part, and that a conversation that goes on is not looked through anew. Does not
settle what is found in a text (`secrets.projection`), nor which values there are (`app.projecting`).
INVARIANT: a message in which nothing occurs is the very same object; what cannot be looked through is not sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stanch.secrets.budget import Cause, Withheld
from stanch.secrets.projection import Projector
from stanch.tiers.history_parts import LEFT_OUT
from stanch.tiers.kept import Sent
from stanch.values.message import (
    Call,
    File,
    Fragment,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Text,
    is_signed,
)

_BROKEN = frozenset({Cause.ENGINE_FAILED, Cause.NOT_BUILT})
"""Causes that say something of the search, and nothing of the text: what follows would fare no better."""


class Projected:
    """One conversation as it was last projected. Not for two threads at a time."""

    __slots__ = ("_changed", "_copy", "_projector", "_seen")

    def __init__(self) -> None:
        self._seen: Sent | None = None
        self._projector: Projector | None = None
        self._copy: list[Message] = []
        self._changed = False

    def sent(self, messages: Sequence[Message], projector: Projector) -> Sequence[Message]:
        """The messages, projected; the very same list where no value occurs in any of them.

        Only what is new since the last time is looked at, where nothing else changed. Raises `Withheld` where nothing
        can be looked through.
        """
        seen, self._seen = self._seen, None  # WHY: what raises half-way must not be gone on with
        goes_on = isinstance(messages, Sent) and seen is not None and messages.goes_on(seen)
        if not goes_on or projector is not self._projector:
            self._copy, self._changed = [], False
        fresh = messages[len(self._copy) :]
        new = [message_projected(one, projector) for one in fresh]
        self._copy += new
        self._changed = self._changed or any(one is not old for one, old in zip(new, fresh, strict=True))
        self._seen, self._projector = messages if isinstance(messages, Sent) else None, projector
        return Sent(self._copy) if self._changed else messages


def message_projected(message: Message, projector: Projector) -> Message:
    """The message without a value of the projector's; the very same where none occurs. Raises `Withheld`."""
    made = [part for one in message.parts if (part := _part(one, projector)) is not None]
    extra = _extra(message.extra, projector)
    unchanged = len(made) == len(message.parts) and all(
        new is old for new, old in zip(made, message.parts, strict=True)
    )
    if unchanged and extra is message.extra:
        return message
    return Message(message.role, tuple(made) or (LEFT_OUT,), message.id, message.model, extra)


def _part(part: Part, projector: Projector) -> Part | None:
    """The part; None for one that is left out. What cannot be looked through is replaced by words that say so."""
    try:
        return _looked_through(part, projector)
    except Withheld as why:
        if why.cause in _BROKEN:
            raise
        return _instead(part, f"[content withheld: {why}]")


def _looked_through(part: Part, projector: Projector) -> Part | None:
    extra = _extra(part.extra, projector)
    match part:
        case Text():
            text = projector.text(part.text)
            return part if text is part.text and extra is part.extra else Text(text, extra=extra)
        case Fragment():
            text = projector.text(part.text)
            return part if text is part.text and extra is part.extra else Fragment(text, part.name, extra=extra)
        case Reasoning():
            text = projector.text(part.text)
            if text is part.text and extra is part.extra:
                return part
            # WHY: the proof holds for other words than these, and a provider refuses what it does not hold for.
            return None if is_signed(part) else Reasoning(text, extra=extra)
        case Call():
            arguments = _arguments(part.arguments, projector)
            if arguments is part.arguments and extra is part.extra:
                return part
            return Call(part.id, part.tool, arguments, extra=extra)
        case Result():
            return _result(part, extra, projector)
        case File():
            return _file(part, extra, projector)
        case Opaque():
            data = _extra(part.data, projector)
            return part if data is part.data and extra is part.extra else Opaque(part.kind, data, extra=extra)


def _result(part: Result, extra: Mapping[str, Any], projector: Projector) -> Result:
    content: list[Text | File | Opaque] = []
    for one in part.content:
        new = _part(one, projector)
        content.append(new if isinstance(new, (Text, File, Opaque)) else LEFT_OUT)
    if len(content) > 1 and all(isinstance(one, Text) for one in content):
        # WHY together too: whoever sends them may write them one behind the other, and so may whoever reads them.
        together = "".join(one.text for one in content if isinstance(one, Text))
        text = projector.text(together)
        if text is not together:
            content = [Text(text)]
    if _same(content, part.content):
        return part if extra is part.extra else Result(part.call_id, part.content, part.tool, part.failed, extra=extra)
    return Result(part.call_id, tuple(content), part.tool, part.failed, extra=extra)


def _file(part: File, extra: Mapping[str, Any], projector: Projector) -> File | Text:
    """The file whole, or words in its place: what is inside of one is never written anew."""
    names = projector.found(part.data) if part.data is not None else frozenset[str]()
    if names:
        labels = ", ".join(sorted(map(projector.label, names)))
        return Text(f"[a file was withheld: it holds {labels}]")
    url = part.url if part.url is None else projector.text(part.url)
    name = part.name if part.name is None else projector.text(part.name)
    if url is part.url and name is part.name and extra is part.extra:
        return part
    return File(part.media_type, part.data, url, name, extra=extra)


def _arguments(arguments: Mapping[str, Any] | str, projector: Projector) -> Mapping[str, Any] | str:
    return projector.text(arguments) if isinstance(arguments, str) else _extra(arguments, projector)


def _extra(extra: Mapping[str, Any], projector: Projector) -> Mapping[str, Any]:
    """The values of an object; the very same object where nothing occurs in them."""
    if not extra:
        return extra
    plain = _plain(extra)
    new = projector.structure(plain)
    if new is plain:
        return extra
    made: Mapping[str, Any] = new
    return made


def _plain(value: Any) -> Any:
    """A value with mappings and lists of any kind made those that JSON has."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _same(new: Sequence[object], old: Sequence[object]) -> bool:
    return len(new) == len(old) and all(one is other for one, other in zip(new, old, strict=True))


def _instead(part: Part, words: str) -> Part:
    match part:
        case Call():
            return Call(part.id, part.tool, {"withheld": words})
        case Result():
            return Result(part.call_id, (Text(words),), part.tool, part.failed)
        case Fragment():
            return Fragment(words, part.name)
        case _:
            return Text(words)
