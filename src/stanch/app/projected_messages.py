"""Messages as they are sent: every value of the vault in them replaced by its label, whatever part it stands in.

Settles what becomes of each kind of part, and that a conversation that goes on is not looked through anew. Does not
settle what is found in a text (`secrets.projection`), nor which values there are (`app.projecting`).
INVARIANT: a message in which nothing occurs is the very same object; what cannot be looked through is not sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
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

_WHOLE = ("image", "audio", "video")
"""What blocks are called that hold a file, which is never written anew."""
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
    made = _joined([part for one in message.parts if (part := _part(one, projector)) is not None], projector)
    extra = _extra(message.extra, projector)
    unchanged = len(made) == len(message.parts) and all(
        new is old for new, old in zip(made, message.parts, strict=True)
    )
    if unchanged and extra is message.extra:
        return message
    return Message(message.role, tuple(made) or (LEFT_OUT,), message.id, message.model, extra)


def _joined(parts: list[Part], projector: Projector) -> list[Part]:
    """The parts, with texts that stand one behind the other as one where a value reaches from one into the next.

    WHY: a provider writes them so, and so a model reads them.
    """
    if len(parts) < 2:
        return parts
    made: list[Part] = []
    for is_text, run in groupby(parts, key=lambda part: isinstance(part, Text)):
        several = list(run)
        made += _as_one(several, projector) if is_text and len(several) > 1 else several
    return made


def _as_one(several: Sequence[Part], projector: Projector) -> Sequence[Part]:
    together = "".join(one.text for one in several if isinstance(one, Text))
    try:
        text = projector.text(together)
    except Withheld as why:
        if why.cause in _BROKEN:
            raise
        return [_instead(several[0], f"[content withheld: {why}]")]
    return several if text is together else [Text(text)]


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
            text, name = projector.text(part.text), projector.text(part.name)
            unchanged = text is part.text and name is part.name and extra is part.extra
            return part if unchanged else Fragment(text, name, extra=extra)
        case Reasoning():
            text = projector.text(part.text)
            if text is part.text and extra is part.extra:
                return part
            # WHY: the proof holds for other words than these, and a provider refuses what it does not hold for.
            return None if is_signed(part) else Reasoning(text, extra=extra)
        case Call():
            arguments = _arguments(part.arguments, projector)
            call_id, tool = projector.text(part.id), projector.text(part.tool)
            if arguments is part.arguments and extra is part.extra and call_id is part.id and tool is part.tool:
                return part
            return Call(call_id, tool, arguments, extra=extra)
        case Result():
            return _result(part, extra, projector)
        case File():
            return _file(part, extra, projector)
        case Opaque():
            data = _extra(part.data, projector)
            if data is not part.data and any(word in part.kind for word in _WHOLE):
                return _withheld_file(projector.found_in(_plain(part.data)), projector)
            kind = projector.text(part.kind)
            unchanged = data is part.data and kind is part.kind and extra is part.extra
            return part if unchanged else Opaque(kind, data, extra=extra)


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
    call_id, tool = projector.text(part.call_id), projector.text(part.tool)
    if _same(content, part.content):
        if extra is part.extra and call_id is part.call_id and tool is part.tool:
            return part
        return Result(call_id, part.content, tool, part.failed, extra=extra)
    return Result(call_id, tuple(content), tool, part.failed, extra=extra)


def _file(part: File, extra: Mapping[str, Any], projector: Projector) -> File | Text:
    """The file whole, or words in its place: what is inside of one is never written anew."""
    names = projector.found(part.data) if part.data is not None else frozenset[str]()
    # An address may hold the file itself.
    for said in (part.media_type, part.url if part.url is not None and part.url[:5].lower() == "data:" else None):
        names |= projector.found(said) if said is not None else frozenset[str]()
    if names:
        return _withheld_file(names, projector)
    url = part.url if part.url is None else projector.text(part.url)
    name = part.name if part.name is None else projector.text(part.name)
    if url is part.url and name is part.name and extra is part.extra:
        return part
    return File(part.media_type, part.data, url, name, extra=extra)


def _withheld_file(names: Collection[str], projector: Projector) -> Text:
    labels = ", ".join(sorted(map(projector.label, names)))
    return Text(f"[a file was withheld: it holds {labels}]")


def _arguments(arguments: Mapping[str, Any] | str, projector: Projector) -> Mapping[str, Any] | str:
    return projector.text(arguments) if isinstance(arguments, str) else _extra(arguments, projector)


def _extra(extra: Mapping[str, Any], projector: Projector) -> Mapping[str, Any]:
    """The values of an object; the very same object where nothing occurs in them."""
    if not extra:
        return extra
    try:
        plain = _plain(extra)
    except RecursionError:
        raise Withheld(Cause.TOO_LARGE) from None
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
