"""Words of a model that quote what is withheld from the one who is to read them.

Settles where such words stand in a conversation, and what the reader may see anyway. Does not settle which runs of a
text count (`tiers.quotes`). Words that carry source tags are judged by these (`tiers.history_parts`), and not searched;
but for the arguments of calls, whose tags say where they are written to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stanch.tiers.history_parts import LEFT_OUT
from stanch.tiers.history_spans import Names, Span, cut, moved
from stanch.tiers.history_values import (
    argument_strings,
    loose_strings,
    loosely_rewritten,
    rewritten_arguments,
    strings,
)
from stanch.tiers.history_verdicts import Verdicts
from stanch.tiers.history_words import words_of
from stanch.tiers.quotes import LEAST, Shared, Withheld, folded
from stanch.values.message import Call, File, Fragment, Message, Opaque, Part, Reasoning, Result, Role, Text, is_signed

_SPEAKS = Role.ASSISTANT


class Quotes:
    """The quotes of one conversation. `replaced` are the names of where each run that was replaced comes from.

    `quoting` are the messages that were made without theirs, each with those names.
    """

    def __init__(self, verdicts: Verdicts) -> None:
        self.replaced: list[str] = []
        self.quoting: list[tuple[Message, frozenset[str]]] = []
        self.unsent = 0
        self._verdicts = verdicts
        self._withheld = Withheld(())
        self._found: dict[str, list[Span]] = {}
        self._shared = Shared()

    def without(self, messages: list[Message], taken: Iterable[tuple[str, Names]]) -> list[Message]:
        """The messages without quotes; `taken` is what was withheld of them. Those without any are the very same."""
        self._withheld = Withheld(taken)
        if not self._withheld:
            return messages
        return self._rewritten(messages, messages)

    def goes_on(self, fresh: Sequence[Message], taken: Iterable[tuple[str, Names]]) -> bool:
        """True where nothing in these further messages changes what was found in those before.

        That is so unless more is withheld by them, or they show what had been replaced.
        """
        if Withheld(taken):
            return False
        if not self._shared.runs:
            return True
        places = self._shared.places
        return not any(any(places(folded(text))) for text in self._shown(fresh))

    def further(self, messages: Sequence[Message], fresh: Sequence[Message]) -> list[Message]:
        """The further messages without quotes, where `goes_on`; `messages` are all of them."""
        return self._rewritten(fresh, messages) if self._withheld else list(fresh)

    def _rewritten(self, fresh: Sequence[Message], messages: Sequence[Message]) -> list[Message]:
        said = [list(_said(message)) if message.role is _SPEAKS else [] for message in fresh]
        texts = [text for row in said for text in row if len(text) >= LEAST]
        self._found, shared = self._withheld.runs(texts, lambda: self._shown(messages))
        self._shared.runs |= shared.runs
        self._shared.blocks |= shared.blocks
        if not self._found:
            return list(fresh)
        quoting = self._found.keys()
        return [
            message if quoting.isdisjoint(row) else self._message(message)
            for message, row in zip(fresh, said, strict=True)
        ]

    def _shown(self, messages: Iterable[Message]) -> Iterator[str]:
        """Everything that the reader may see anyway: names, what stays of others' words, and what tags let through."""
        for name in self._verdicts.names:
            yield from _mentioned(name)
        yield from map(self._verdicts.line, self._verdicts.closed.values())
        for message in messages:
            yield from _seen(message)

    def _message(self, message: Message) -> Message:
        before = len(self.replaced)
        made = [new for new in map(self._part, message.parts) if new is not None]
        extra = self._besides(message.extra)
        new = Message(message.role, tuple(made) or (LEFT_OUT,), message.id, message.model, extra)
        self.quoting.append((new, frozenset(self.replaced[before:])))
        return new

    def _part(self, part: Part) -> Part | None:
        """The part without quotes; None for reasoning that its signer could no longer verify."""
        extra = self._besides(part.extra)
        match part:
            case Text() | Fragment() if _is_own(part):
                return self._text(part, extra)
            case Reasoning() if not part.tags:
                text = self._change(part.text)
                if text is part.text and extra is part.extra:
                    return part
                if is_signed(part):
                    self.unsent += 1
                    return None
                return Reasoning(text, part.signature, part.tags, extra)
            case Call():
                arguments = rewritten_arguments(part.arguments, self._change)
                if arguments is part.arguments and extra is part.extra:
                    return part
                return Call(part.id, part.tool, arguments, part.tags, extra)
            case Opaque() if not part.tags:
                data = loosely_rewritten(part.data, self._change)
                return part if data is part.data and extra is part.extra else Opaque(part.kind, data, extra=extra)
        return part

    def _text(self, part: Text | Fragment, extra: Mapping[str, Any]) -> Text | Fragment:
        spans = self._found.get(part.text)
        if not spans:
            if extra is part.extra:
                return part
            text, tags = part.text, part.tags
        else:
            self._count(spans)
            done = cut(part.text, spans, self._words)
            text, tags = done.text, moved(part.tags, done.kept)
        return Text(text, tags, extra) if isinstance(part, Text) else Fragment(text, part.name, tags, extra)

    def _besides(self, extra: Mapping[str, Any]) -> Mapping[str, Any]:
        changed: Mapping[str, Any] = loosely_rewritten(extra, self._change) if extra else extra
        return changed

    def _change(self, text: str) -> str:
        spans = self._found.get(text)
        if not spans:
            return text
        self._count(spans)
        return cut(text, spans, self._words).text

    def _count(self, spans: Iterable[Span]) -> None:
        for span in spans:
            self.replaced += span.names

    def _words(self, names: Names) -> str:
        return self._verdicts.placeholder(names).text


def _mentioned(name: str) -> Iterator[str]:
    """A path, or the end of one, as it stands in a sentence or a listing."""
    at = 0
    while len(name) - at >= LEAST - 2:
        end = name[at:]
        yield f"x {end} x: {end}: '{end}', \"{end}\"; `{end}` ({end}) [{end}] <{end}>={end}. {end}, {end}; {end}/"
        at = name.find("/", at + 1) + 1
        if not at:
            break


def _is_own(part: Text | Fragment) -> bool:
    """True for words of which some have no tag."""
    return all(tag.span is not None for tag in part.tags)


def _said(message: Message) -> Iterator[str]:
    """Every text in an assistant's message that is its own."""
    if message.extra:
        yield from loose_strings(message.extra)
    for part in message.parts:
        match part:
            case Text() | Fragment() if _is_own(part):
                yield part.text
            case Reasoning() if not part.tags:
                yield part.text
            case Call():
                yield from argument_strings(part.arguments)
            case Opaque() if not part.tags:
                yield from loose_strings(part.data)
        if part.extra:
            yield from loose_strings(part.extra)


def _seen(message: Message) -> Iterator[str]:
    """Every text in a message, as it is sent, that the reader may see because of where it comes from."""
    own = message.role is _SPEAKS
    if message.extra and not own:
        yield from strings(message.extra)
    for part in message.parts:
        if part.extra and not own:
            yield from strings(part.extra)
        match part:
            case Text() | Fragment() if own and _is_own(part):
                yield from (part.text[slice(*tag.span)] for tag in part.tags if tag.span is not None)
            case Reasoning() | Opaque() if own and not part.tags:
                pass
            case Call():
                yield part.tool
                if not own:
                    yield from words_of(part)
            case Result() | File() | Text() | Fragment() | Reasoning() | Opaque():
                yield from words_of(part)


__all__ = ["Quotes"]
