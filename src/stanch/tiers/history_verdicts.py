"""Which source tags a model may not see, and the placeholder that stands in their place.

Settles both for one look at one conversation, asking about each distinct path once. Does not settle what a tier says of
a path (`tiers.tier`), nor what becomes of a part (`tiers.history_parts`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable
from typing import Protocol

from stanch.explain.sentences import visible
from stanch.tiers.answers import NO_ANSWERS, Answers
from stanch.tiers.tier import Tier
from stanch.values.call import EffectClass
from stanch.values.decision import Effect
from stanch.values.message import Origin, SourceTag, Text, mark_of

_ALLOW, _ASK, _DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
_PATH = Origin.PATH


class Read(Protocol):
    """What a tier says of reading."""

    def __call__(self, name: str, origin: Origin, /) -> Effect:
        """What it says of a canonical path, a directory, or an item of a store.

        For `Origin.UNKNOWN` that is the strictest thing that it says of any path.
        """


def reading(tier: Tier, answers: Answers = NO_ANSWERS) -> Read:
    """What the tier says of reading, where a person's answers turn its ask into an allow or a deny."""
    strictest = tier.strictest(EffectClass.READ).effect

    def read(name: str, origin: Origin, /) -> Effect:
        if origin is Origin.UNKNOWN:
            return strictest
        key = None if origin is Origin.ITEM else unicodedata.normalize("NFC", name)
        held = tier.says(EffectClass.READ, key)
        if held.effect is not _ASK:
            return held.effect
        said = answers.said(tier.id, EffectClass.READ, key, held.depth)
        return _ASK if said is None else _ALLOW if said else _DENY

    return read


class Verdicts:
    """What is known of the tags of a conversation so far. `open` are the marks of those that hide nothing."""

    def __init__(self, read: Read, label: str, answers: Container[str]) -> None:
        self.open: set[str] = set()
        self.closed: dict[str, str] = {}
        """Each mark of a tag that is withheld, with the tag's name."""
        self.names: dict[str, None] = {}
        """The names of all tags that were looked up, in order."""
        self.asks: dict[str, None] = {}
        """Those withheld for want of an answer alone."""
        self._read, self._label, self._answers = read, visible(label), answers
        self._said: dict[tuple[str, Origin], Effect] = {}
        self.lines: dict[str, str] = {}
        """The placeholders that were written so far, by the names in them."""
        self._texts: dict[tuple[str, ...], Text] = {}

    def denies(self, tag: SourceTag) -> bool:
        """True where what comes from there is withheld."""
        mark = mark_of(tag)
        if mark in self.open:
            return False
        if mark in self.closed:
            return True
        self.names[tag.name] = None
        said = [self._effect(name, origin, tag.name) for name, origin in _asked(tag)]
        if all(effect is _ALLOW for effect in said):
            self.open.add(mark)
            return False
        self.closed[mark] = tag.name
        if all(effect in (_ALLOW, _ASK) for effect in said):
            self.asks[tag.name] = None
        return True

    def denied(self, tags: Iterable[SourceTag]) -> list[str]:
        """The names of those of the tags that are withheld, each once, in their order."""
        closed, denies = self.closed, self.denies
        found = [tag.name for tag in tags if (tag.origin is _PATH and tag.name in closed) or denies(tag)]
        return found if len(found) < 2 else list(dict.fromkeys(found))

    def placeholder(self, names: Iterable[str]) -> Text:
        """The text part that stands for what came from these. For the same names it is the same part."""
        key = tuple(names)
        found = self._texts.get(key)
        if found is None:
            lines = [self.line(name) for name in key]
            # WHY: two names may be written alike once their control characters are.
            found = self._texts[key] = Text(lines[0] if len(lines) == 1 else "\n".join(dict.fromkeys(lines)))
        return found

    def line(self, name: str) -> str:
        """The placeholder of one path."""
        found = self.lines.get(name)
        if found is None:
            found = self.lines[name] = (
                f'[Content from {visible(name)} filtered — trust tier "{self._label}" does not have read access]'
            )
        return found

    def _effect(self, name: str, origin: Origin, answered: str) -> Effect:
        """The effect at one path, asked about once; an ask that was answered for it, or for the whole tag, allows."""
        said = self._said.get((name, origin))
        if said is None:
            said = self._said[name, origin] = self._read(name, origin)
        if said is _ASK and (name in self._answers or answered in self._answers):
            return _ALLOW
        return said


def _asked(tag: SourceTag) -> list[tuple[str, Origin]]:
    """Everything that a tier must not object to for the tag to be open."""
    if tag.origin is not Origin.SUBTREE:
        return [(tag.name, tag.origin)]
    asked = [(tag.name, Origin.PATH), *((name, Origin.PATH) for name in tag.below)]
    return asked if tag.all_below else [*asked, (tag.name, Origin.UNKNOWN)]
