"""Layer 4 of the gate: what the trust tiers say of a call, for each model that will see its result.

Settles the answers. A tier only narrows: where it allows, the layer has no objection. Does not settle which cell speaks
(`tiers.tier`), nor how the layers' answers combine (`policy.walk`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stanch.policy.layers import NO_OBJECTION, LayerAnswer
from stanch.tiers.answers import NO_ANSWERS, UNKNOWN, Answers, host_of, targets_of
from stanch.tiers.tier import Held, Tier, Tiers, TiersBroken
from stanch.values.call import CallEffect, EffectClass, JudgedCall
from stanch.values.command import Weight
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId

_ALLOW, _ASK, _DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
_EXECUTE, _NETWORK, _WRITE = EffectClass.EXECUTE, EffectClass.NETWORK, EffectClass.WRITE
_DENIED = 3


class Seeing(NamedTuple):
    """The models that will see what a session's calls give, and what a person has answered where their tiers ask."""

    models: tuple[str, ...] = ()
    answers: Answers = NO_ANSWERS


class Seen(NamedTuple):
    """A model that will see what a call gives, with its tier."""

    model: str
    tier: Tier


def tier_layer(tiers: Tiers, seeing: Seeing) -> TierLayer | BrokenTiers:
    """The layer for those who see; all is denied where the tiers cannot be relied on."""
    try:
        return TierLayer([Seen(model, tiers.of(model)) for model in dict.fromkeys(seeing.models)], seeing.answers)
    except TiersBroken as why:
        return BrokenTiers(why.place)


class BrokenTiers:
    """Layer 4 where what the policy says of tiers or models has a mistake: all is denied."""

    id = LayerId.TIER
    immediate = True

    def __init__(self, place: str) -> None:
        self.answer = Answer(_DENY, Code.POLICY_INVALID, LayerId.TIER, detail=place)

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """The deny for every effect, which names what is wrong."""
        return [self.answer] * len(call.effects)

    def matters(self, cls: EffectClass) -> bool:  # noqa: ARG002 - whatever the effect
        """False: nothing has to be looked at."""
        return False


class TierLayer:
    """Layer 4: the tiers of the session's model and of every other one that will see the result; the strictest counts.

    `answers` are what a person has said in this session where a tier asks.
    """

    id = LayerId.TIER
    immediate = True

    def __init__(self, seen: Sequence[Seen], answers: Answers) -> None:
        self.seen, self.answers = tuple(seen), answers
        self._objecting = {cls: [one for one in self.seen if one.tier.objects(cls)] for cls in EffectClass}
        self._silent = not any(self._objecting.values())

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """For each effect the strictest tier's deny or ask, of equals that of the model named first."""
        if self._silent:
            return NO_OBJECTION
        said = [self._strictest(effect) for effect in call.effects]
        return NO_OBJECTION if all(answer is None for answer in said) else said

    def matters(self, cls: EffectClass) -> bool:
        """True where it matters what lies below a directory that such an effect reaches down from."""
        return bool(self._objecting[cls])

    def _strictest(self, effect: CallEffect) -> Answer | None:
        best: Answer | None = None
        cls = effect.cls
        if cls is None:
            return None
        for one in self._objecting[cls]:
            for answer in self._said(one, cls, effect):
                if answer is not None and (best is None or answer.strength > best.strength):
                    best = answer
                    if best.strength == _DENIED:
                        return best
        return best

    def _said(self, one: Seen, cls: EffectClass, effect: CallEffect) -> Iterator[Answer | None]:
        """What one tier says of an effect: of each of its targets, and of what lies below."""
        possible = effect.found is Weight.POSSIBLE and cls is _WRITE
        for key, folded in targets_of(effect):
            if key == UNKNOWN:
                yield _covers(one, cls, one.tier.strictest(cls), "an unknown directory")
                continue
            held = one.tier.says(cls, key, folded=folded)
            path = host_of(effect) if cls is _NETWORK else key
            answer = self._answer(one, cls, held, path)
            if answer is not None and answer.strength == _DENIED and possible:
                # WHY: nobody knows whether the command touches it, so a person has to look.
                answer = _covers(one, cls, held)
            yield answer
        if effect.below is not None:
            yield self._below(one, cls, effect)

    def _answer(self, one: Seen, cls: EffectClass, held: Held, path: str | None) -> Answer | None:
        if held.effect is _ALLOW:
            return None
        place = f" in {path}" if cls is _EXECUTE else ""
        if held.effect is _DENY:
            return _told(_DENY, Code.TIER_DENIES, one, one.tier.where(cls, held) + place)
        known = self.answers.said(one.tier.id, cls, path, held.depth)
        if known is None:
            return _told(_ASK, Code.TIER_ASKS, one, one.tier.where(cls, held) + place)
        return None if known else _told(_DENY, Code.TIER_DENIES, one, f"{cls.value}{place}, as a person answered")

    def _below(self, one: Seen, cls: EffectClass, effect: CallEffect) -> Answer | None:
        """The ask of an effect that reaches down to what the tier closes, or to more than was looked through."""
        below = effect.below
        if below is None:
            return None
        folded = effect.stamp is not None and effect.stamp.folded
        for key in below.keys:
            held = one.tier.says(cls, key, folded=folded)
            if held.effect is _DENY or (
                held.effect is _ASK and self.answers.said(one.tier.id, cls, key, held.depth) is not True
            ):
                return _covers(one, cls, held)
        return None if below.complete else Answer(_ASK, Code.COVERS_TOO_MUCH, LayerId.TIER, mandated=True)


def _covers(one: Seen, cls: EffectClass, held: Held, note: str = "") -> Answer:
    where = one.tier.where(cls, held) + (f", in {note}" if note else "")
    return _told(_ASK, Code.TIER_COVERS, one, where)


def _told(effect: Effect, code: Code, one: Seen, where: str) -> Answer:
    detail = f'"{one.tier.label}" of {one.model or "a model without a name"} ({where})'
    return Answer(effect, code, LayerId.TIER, mandated=effect is _ASK, detail=detail)
