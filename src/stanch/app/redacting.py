"""A conversation that somebody hands in, as a model may have it: read in its own shape, tagged, filtered, written back.

Settles how the parts of that follow one another, and what a door tells of it. Does not settle what is withheld
(`tiers.history`), how a conversation is written (`tiers.dialects`), nor whose text a part of it is (`tiers.tags`).
INVARIANT: what was given is never changed, and whatever cannot be told raises.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stanch.app.foreign_tags import ForeignTagger
from stanch.paths.canonical import Canonicaliser
from stanch.policy.document import Policy
from stanch.tiers.answers import NO_ANSWERS, Answers, Given
from stanch.tiers.dialects import conversation
from stanch.tiers.dialects.conversation import Conversation
from stanch.tiers.history import Look
from stanch.tiers.history_verdicts import reading
from stanch.tiers.history_words import tags_of
from stanch.tiers.report import Report
from stanch.tiers.tier import Tier, Tiers
from stanch.values.call import EffectClass
from stanch.values.fault import BadFields, BadInput
from stanch.values.message import Message, Opaque, Origin
from stanch.values.reason import Code

ANSWERS = ("send", "withhold")
MOST_NAMED = 10_000
# With these a request goes on from messages that its provider keeps, and nobody sees here.
_REFERENCES = ("previous_response_id", "conversation")
_REFERENCE_ITEM = "item_reference"
# WHY not a write: whoever lets something be written has not said that it may be read. What a command prints is shown.
_SHOWN = (EffectClass.READ, EffectClass.EXECUTE)


class Withheld(NamedTuple):
    """One name out of source tags, a path for the most part: in how many messages something of it was withheld."""

    path: str
    tier: str
    messages: int

    def as_json(self) -> dict[str, Any]:
        """The row as every door writes it; `tier` is the tier's id."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was given, as the model may have it: a list for a list, a request for a request; and what was kept back.

    Whatever stays as it was in a list is the very object that was given. `tier` is the model's.
    """

    messages: Any
    model: str
    tier: Tier
    withheld: tuple[Withheld, ...]
    report: Report

    def as_json(self) -> dict[str, Any]:
        """All of it, as every door writes it: what was given stands under `messages`, or `body` for a request."""
        report = self.report.as_json() | {"model": self.model, "tier": self.tier.id, "label": self.tier.label}
        key = "body" if isinstance(self.messages, dict) else "messages"
        return {key: self.messages, "withheld": [row.as_json() for row in self.withheld], "report": report}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """By what a conversation is filtered: a policy, its tiers, and where its paths lie on this machine."""

    policy: Policy
    tiers: Tiers
    canonicaliser: Canonicaliser

    def directory(self, cwd: str | os.PathLike[str] | None) -> str | None:
        """The canonical path of a directory; a relative one starts at the workspace. Raises `BadInput`."""
        if cwd is None:
            return None
        written = os.fspath(cwd)
        stamp = self.canonicaliser.stamp(written, self.policy.workspace) if written else None
        if stamp is None or stamp.refusal is Code.PATH_UNREADABLE:
            why = "it is empty" if stamp is None else stamp.detail
            raise BadFields(("cwd", f"'cwd' cannot be used: {why}"))
        return stamp.path

    def tagger(self) -> ForeignTagger:
        """Works out source tags where a conversation brings none."""
        return ForeignTagger(self.policy.tools, self.canonicaliser)


def redacted(
    around: Surroundings,
    given: Any,
    model: str,
    *,
    cwd: str | os.PathLike[str] | None = None,
    answers: Mapping[str, Sequence[str]] | Answers | None = None,
    quotes: bool | None = None,
) -> Redaction:
    """The conversation as a model may have it.

    `given` is a list of messages or a request with one, in any shape that `tiers.dialects` reads, or a sequence of
    `Message`. Parts without source tags get those that the tool calls in the conversation tell. `cwd` is where it was
    had; without it, relative paths are of unknown origin, unless the conversation says where. `answers` are what a
    person has said where the tier asks: names to `send` and names to `withhold`. `quotes` set to false leaves quotes
    unsearched; None is as the tier has it. Raises `BadInput` for what cannot be read, and `TiersBroken`.
    """
    if not model:
        raise BadFields(("model", "'model' is empty; name one as provider/model"))
    tier = around.tiers.of(model)
    here = around.directory(cwd)
    read = None if _is_ours(given) else conversation.read(given)
    messages = list(given) if read is None else list(read.messages)
    if read is not None and tier.objects(EffectClass.READ):
        _refuse_references(read)
    tagged = around.tagger().tagged(messages, here)
    held = answers if isinstance(answers, Answers) else _answers(around, tier, tagged, here, answers)
    look = look_of(tier, model, held, quotes=quotes)
    copy = look.at(tagged)
    withheld = tuple(Withheld(name, tier.id, count) for name, count in look.touched(tagged, copy).items())
    # WHY: the tags that were only worked out here are not the conversation's own, and do not leave with it.
    left = [old if new is tag else new for old, tag, new in zip(messages, tagged, copy, strict=True)]
    made = left if read is None else _as_given(given, conversation.write(read, left))
    return Redaction(made, model, tier, withheld, look.report())


def look_of(tier: Tier, model: str, answers: Answers, *, quotes: bool | None = None) -> Look:
    """A fresh look at a conversation for a model of the tier."""
    named = frozenset(one.path for one in answers.given if one.tier == tier.id and one.send and one.cls in _SHOWN)
    searched = tier.quotes if quotes is None else quotes
    return Look(reading(tier, answers), tier.label, model=model, answers=named, quotes=searched)


def check_answers(value: Any) -> None:
    """Raises `BadFields` where the value is no table of answers: names to `send` and names to `withhold`."""
    if not isinstance(value, Mapping):
        raise BadFields(("answers", "'answers' must be an object with 'send' and 'withhold', each a list of paths"))
    for key in value:
        if key not in ANSWERS:
            raise BadFields(("answers", "'answers' has an unknown key (known: send, withhold)"))
    for key in ANSWERS:
        names = value.get(key, ())
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
            raise BadFields((f"answers.{key}", f"'answers.{key}' must be a list of paths"))
        if len(names) > MOST_NAMED:
            raise BadFields((f"answers.{key}", f"'answers.{key}' may have at most {MOST_NAMED:,} names"))


def _answers(
    around: Surroundings,
    tier: Tier,
    messages: Sequence[Message],
    here: str | None,
    said: Mapping[str, Sequence[str]] | None,
) -> Answers:
    """The answers that such names amount to: of a directory for what lies directly in it, or all below where it is one.

    A name is one out of source tags, else a path as anybody writes it. Raises `BadFields`.
    """
    if said is None:
        return NO_ANSWERS
    check_answers(said)
    tags = [tag for message in messages for tag in tags_of(message.parts)]
    names, subtrees = {tag.name for tag in tags}, {tag.name for tag in tags if tag.origin is Origin.SUBTREE}
    meant = {key: {_meant(around, name, names, here) for name in said.get(key, ())} for key in ANSWERS}
    if meant["send"] & meant["withhold"]:
        raise BadFields(("answers.withhold", "'answers.withhold' names a path that 'answers.send' names, too"))
    return Answers(
        Given(tier.id, EffectClass.READ, name, key == "send", name in subtrees or _is_folder(name))
        for key, found in meant.items()
        for name in found
    )


def _meant(around: Surroundings, name: str, names: Iterable[str], here: str | None) -> str:
    if name in names or not (name.startswith(("/", "~")) or here is not None):
        return name
    return around.tagger().canonical(name, here or "/") or name


def _is_folder(name: str) -> bool:
    return os.path.isabs(name) and os.path.isdir(name)


def _is_ours(given: Any) -> bool:
    """True for messages as Stanch holds them. An empty list is one, too: there is nothing to write back."""
    return isinstance(given, (list, tuple)) and all(isinstance(one, Message) for one in given)


def _refuse_references(read: Conversation) -> None:
    """Raises `BadInput` where the request goes on from messages that are not in it."""
    for key in _REFERENCES:
        if (read.around or {}).get(key) is not None:
            raise BadInput(
                f"'{key}' leads to messages that the provider keeps, which cannot be filtered here; "
                "send the whole conversation instead"
            )
    for at, message in enumerate(read.messages):
        if any(isinstance(part, Opaque) and part.kind == _REFERENCE_ITEM for part in message.parts):
            raise BadInput(
                f"message {at + 1} refers to an item that the provider keeps, which cannot be filtered here; "
                "send the item itself instead"
            )


def _as_given(given: Any, written: Any) -> Any:
    """What was written, where each message that is as it was given is that very object."""
    if not isinstance(given, list) or len(given) != len(written):
        return written
    return [old if old == new else new for old, new in zip(given, written, strict=True)]


__all__ = ["Redaction", "Surroundings", "Withheld", "check_answers", "look_of", "redacted"]
