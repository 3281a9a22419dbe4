"""What becomes of each part of a message of which a model may not see everything.

Settles the replacement, kind by kind, and keeps account of what was withheld. Does not settle which tags are closed
(`tiers.history_verdicts`), nor what becomes of words that quote what was withheld (`tiers.history_quotes`).
INVARIANT: a part of which nothing is withheld is handed back as the very same object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stanch.tiers.dialects.hollow import cache_marks
from stanch.tiers.history_spans import Cut, Kept, Names, Span, cut, fits, merged, moved
from stanch.tiers.history_values import form_alone, without_words
from stanch.tiers.history_verdicts import Verdicts
from stanch.tiers.history_words import inner_tags, tags_of, words_of
from stanch.values.message import (
    NOTHING,
    Call,
    File,
    Fragment,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Role,
    SourceTag,
    Tags,
    Text,
    is_signed,
)

LEFT_OUT = Text("[reasoning left out]")
"""What a message says of which nothing else would be left."""
Inner = Text | File | Opaque


class Withholding:
    """One look at one conversation, message by message, oldest first.

    `pieces` are the names of where each piece came from that was withheld since somebody last counted them. `taken` are
    the texts that were withheld, with the names of where they came from; none are kept where nobody asks for `quotes`.
    """

    def __init__(self, verdicts: Verdicts, model: str | None, *, quotes: bool) -> None:
        self.verdicts = verdicts
        self.pieces: list[str] = []
        self.counted = False
        """True where pieces were counted before, and are not among `pieces` any more."""
        self.unsent = 0
        self.taken: list[tuple[str, Names]] = []
        self.quotes, self._model = quotes, model
        self._provider = provider_of(model)

    def message(self, message: Message) -> Message:
        """The message as the model may have it; the very same where that is all of it."""
        names = self.verdicts.denied(tags_of(message.parts))
        made: list[Part] = []
        for part in message.parts:
            new = self._part(part, message, names)
            # WHY: of neighbours that are replaced by the same, one is enough; both are the same object then.
            if new is not None and not (made and new is made[-1] and new is not part):
                made.append(new)
        if len(made) == len(message.parts) and all(map(_same, made, message.parts)):
            return message
        extra = form_alone(message.extra, self._words(names)) if names else message.extra
        return Message(message.role, tuple(made) or (LEFT_OUT,), message.id, message.model, extra)

    def _words(self, names: Iterable[str]) -> str:
        return self.verdicts.placeholder(names).text

    def _instead(self, names: Iterable[str], extra: Mapping[str, Any] = NOTHING) -> Text:
        text = self.verdicts.placeholder(names)
        marks = cache_marks(extra) if extra else None
        return Text(text.text, extra=marks) if marks else text

    def _take(self, texts: Iterable[str], names: Sequence[str]) -> None:
        self.pieces += names
        if self.quotes:
            self.taken += [(text, tuple(names)) for text in texts]

    def _part(self, part: Part, message: Message, names: list[str]) -> Part | None:
        """What becomes of a part; None for one that is left out. `names` are all that is closed of its message."""
        match part:
            case Text() | Fragment():
                return self._text(part, loose=message.role is not Role.TOOL)
            case Result():
                return self._result(part, names)
            case File():
                return self._file(part)
            case Call():
                return self._call(part)
            case Reasoning():
                return self._reasoning(part, message.model)
            case Opaque():
                return self._opaque(part, names)

    # --- words ---------------------------------------------------------------------------------------------------

    def _text(self, part: Text | Fragment, *, loose: bool) -> Text | Fragment:
        """`loose`: what stands outside of every span is the speaker's own."""
        denied = self.verdicts.denied(part.tags)
        if not denied:
            return part
        if self._is_whole(part.tags, len(part.text), loose=loose):
            self._take([part.text], denied)
            new = self._instead(denied, part.extra)
            return new if isinstance(part, Text) else Fragment(new.text, part.name, extra=new.extra)
        done = self._cut(part.text, part.tags, denied)
        tags, extra = moved(self._open(part.tags), done.kept), cache_marks(part.extra)
        return Text(done.text, tags, extra) if isinstance(part, Text) else Fragment(done.text, part.name, tags, extra)

    def _is_whole(self, tags: Tags, length: int, *, loose: bool) -> bool:
        """True where a text of some closed tags goes as a whole: it is all theirs, or nobody knows what of it is."""
        denies = self.verdicts.denies
        if any(denies(tag) and not fits(tag.span, length) for tag in tags):
            return True
        return not loose and all(map(denies, tags))

    def _open(self, tags: Tags) -> list[SourceTag]:
        return [tag for tag in tags if not self.verdicts.denies(tag)]

    def _spans(self, tags: Tags) -> list[Span]:
        return [Span(*tag.span, (tag.name,)) for tag in tags if tag.span is not None and self.verdicts.denies(tag)]

    def _cut(self, text: str, tags: Tags, denied: Sequence[str]) -> Cut:
        spans = merged(self._spans(tags), text)
        self._take((), denied)
        if self.quotes:
            self.taken += [(text[span.start : span.end], span.names) for span in spans]
        return cut(text, spans, self._words)

    # --- what tools give back ------------------------------------------------------------------------------------

    def _result(self, part: Result, names: list[str]) -> Result:
        own = self.verdicts.denied(part.tags)
        texts = [one.text for one in part.content if isinstance(one, Text)]
        length = sum(map(len, texts))
        if own and self._is_whole(part.tags, length, loose=False):
            denied = list(dict.fromkeys([*own, *self.verdicts.denied(inner_tags(part))]))
            self._take(words_of(part), denied)
            return self._like(part, (self.verdicts.placeholder(denied),), (), denied)
        # WHY: whose an unknown block is can only be told from where all of its result came from.
        return self._split(part, "".join(texts), own, own if part.tags else names)

    def _split(self, part: Result, text: str, own: list[str], around: list[str]) -> Result:
        """A result that stays in part. What is closed of its texts is cut out of them; `own` are its closed spans.

        `around` is what is closed of whatever an unknown block in it may be of.
        """
        spans = merged(self._spans(part.tags), text) if own else []
        self._take((), own)
        made: list[Inner] = []
        kept: list[Kept] = []
        begun = now = at = 0
        for one in part.content:
            new: Inner = one
            if isinstance(one, Text):
                end = begun + len(one.text)
                mine = []
                while at < len(spans) and spans[at].start < max(end, begun + 1):
                    span = spans[at]
                    mine.append(Span(max(span.start, begun) - begun, min(span.end, end) - begun, span.names))
                    if span.end > end:
                        break
                    at += 1
                new, stays = self._pieces(one, mine)
                kept += [Kept(stay.start + begun, stay.end + begun, stay.now + now) for stay in stays]
                begun = end
            else:
                new = self._no_text(one, own, around)
            if not (made and new is made[-1] and new is not one):
                made.append(new)
                now += len(new.text) if isinstance(new, Text) and isinstance(one, Text) else 0
        if len(made) == len(part.content) and all(map(_same, made, part.content)):
            return part
        return self._like(part, tuple(made), moved(self._open(part.tags), kept), own or around)

    def _no_text(self, one: File | Opaque, own: list[str], around: list[str]) -> Inner:
        """A file or an unknown block in a result. Without own tags it may be of anything that is closed there."""
        denied = self.verdicts.denied(one.tags)
        if not denied and (isinstance(one, Opaque) or not one.tags):
            denied = around if isinstance(one, Opaque) else own
        if not denied:
            return one
        self._take(words_of(one), denied)
        return self.verdicts.placeholder(denied)

    def _pieces(self, one: Text, spans: list[Span]) -> tuple[Text, list[Kept]]:
        """A text of a result without these spans, and without what its own tags close; and what stays of it."""
        length, denied = len(one.text), self.verdicts.denied(one.tags)
        self._take((), denied)
        if denied and self._is_whole(one.tags, length, loose=False):
            spans = [Span(0, length, tuple(denied))]
        elif denied:
            spans = merged([*spans, *self._spans(one.tags)], one.text)
        if not spans:
            return one, [Kept(0, length, 0)]
        if self.quotes:
            self.taken += [(one.text[span.start : span.end], span.names) for span in spans]
        done = cut(one.text, spans, self._words)
        if not done.kept and len(spans) == 1:
            return self.verdicts.placeholder(spans[0].names), []
        return Text(done.text, moved(self._open(one.tags), done.kept), cache_marks(one.extra)), done.kept

    def _like(self, part: Result, content: tuple[Inner, ...], tags: Tags, names: Sequence[str]) -> Result:
        extra = form_alone(part.extra, self._words(names)) if part.extra and names else part.extra
        return Result(part.call_id, content, part.tool, part.failed, tags, extra)

    # --- the other kinds -----------------------------------------------------------------------------------------

    def _file(self, part: File) -> File | Text:
        denied = self.verdicts.denied(part.tags)
        if not denied:
            return part
        self._take(words_of(part), denied)
        return self._instead(denied, part.extra)

    def _call(self, part: Call) -> Call:
        denied = self.verdicts.denied(part.tags)
        if not denied:
            return part
        self._take(words_of(part), denied)
        words = self._words(denied)
        return Call(part.id, part.tool, without_words(part.arguments, words), (), form_alone(part.extra, words))

    def _reasoning(self, part: Reasoning, signer: str | None) -> Reasoning | None:
        denied = self.verdicts.denied(part.tags)
        if denied:
            self._take([part.text], denied)
        if is_signed(part) and (denied or self._is_foreign(signer) or (self._withheld and not self._is_own(signer))):
            self.unsent += 1
            return None
        if not denied:
            return part
        words = self._words(denied)
        return Reasoning(words, extra=form_alone(part.extra, words))

    @property
    def _withheld(self) -> bool:
        """True where anything has been withheld so far."""
        return self.counted or bool(self.pieces)

    def _is_foreign(self, signer: str | None) -> bool:
        """True where another provider than the model's has signed."""
        provider = provider_of(signer)
        return provider is not None and self._provider is not None and provider != self._provider

    def _is_own(self, signer: str | None) -> bool:
        """True where the very model that is to read it has signed: what it went by had passed here before."""
        return signer is not None and signer == self._model

    def _opaque(self, part: Opaque, names: list[str]) -> Opaque | Text:
        denied = list(dict.fromkeys([*self.verdicts.denied(part.tags), *names]))
        if not denied:
            return part
        self._take(words_of(part), denied)
        return self._instead(denied)


def provider_of(model: str | None) -> str | None:
    """The provider of `provider/model`; None where no provider is named."""
    provider, slash, _ = (model or "").partition("/")
    return provider if slash and provider else None


def _same(one: object, other: object) -> bool:
    return one is other
