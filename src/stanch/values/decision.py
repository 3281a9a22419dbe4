"""The gate's answer.

Settles the shape of answers and decisions and how answers compare. Does not settle who gives which (`policy.layers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, NoReturn

from stanch.values.call import CallEffect, JudgedCall
from stanch.values.reason import Code, LayerId, Reason, RuleRef

LONGEST_NAME = 1024
LONGEST_ODD_NAME = 255


class Effect(Enum):
    """What a rule or a layer says. There is no zero value that allows and no truth value at all."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    def __bool__(self) -> NoReturn:
        raise TypeError("an effect has no truth value; compare it: effect is Effect.ALLOW")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one layer says of one effect of a call. One object per rule: made when rules load, not when calls come.

    `mandated` marks an ask that no rule, grant or bypass may answer in the person's place. `strength` is 0 for an
    allow, 1 for an ordinary ask, 2 for a mandated ask, 3 for a deny: a stronger answer wins over a weaker one.
    """

    effect: Effect
    code: Code
    layer: LayerId
    rule: RuleRef | None = None
    mandated: bool = False
    detail: str = ""
    strength: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        strength = 3 if self.effect is Effect.DENY else 0
        if self.effect is Effect.ASK:
            strength = 2 if self.mandated else 1
        object.__setattr__(self, "strength", strength)


class LayerStep(NamedTuple):
    """What one layer said in a walk: its strongest answer, None where it raised no objection, and how long it took.

    `rewrote`: it changed the arguments, and the walk began anew.
    """

    layer: LayerId
    asked: bool
    answer: Answer | None = None
    microseconds: float = 0.0
    rewrote: bool = False


class EffectAnswer(NamedTuple):
    """The answer that stands for one effect of the call, after every layer and relaxation.

    None only in a call that was denied for another effect before this one was judged.
    """

    effect: CallEffect
    answer: Answer | None


class Decision(NamedTuple):
    """The gate's answer to a call: an effect, a reason, the answer for each effect of the call, and a trace.

    `answer` is the one that decides, given for the effect of the call at place `at`; `answers` are those that stand for
    each effect. INVARIANT: no truth value. `if decision:` is a TypeError, so that a refusal can never pass for a yes.
    """

    effect: Effect
    answer: Answer
    call: JudgedCall
    answers: Sequence[Answer | None]
    at: int
    policy_version: str
    trace: tuple[LayerStep, ...] = ()

    def __bool__(self) -> NoReturn:
        raise TypeError("a decision has no truth value; compare decision.effect")

    @property
    def mandated(self) -> bool:
        """True for an ask that only a person may answer."""
        return self.answer.mandated

    @property
    def effects(self) -> tuple[EffectAnswer, ...]:
        """Each effect of the call with the answer that stands for it."""
        return tuple(map(EffectAnswer, self.call.effects, self.answers))

    @property
    def reason(self) -> Reason:
        """Why the answer is what it is."""
        return self.reason_of(self.answer, self.call.effects[self.at])

    def reason_of(self, answer: Answer, effect: CallEffect) -> Reason:
        """The reason of one effect's answer."""
        requested = _name(effect.stamp.requested) if effect.stamp is not None and not effect.subject else ""
        return Reason(answer.code, answer.layer, answer.rule, self.named(effect), answer.detail, requested)

    def named(self, effect: CallEffect) -> str:
        """What an effect touches, as a reason may say it.

        That is a path, the name of an argument that may hold any text, or the tool.
        """
        if effect.subject or effect.stamp is None:
            return effect.subject or self.call.call.tool
        return _name(effect.stamp.path or effect.stamp.requested)


def _name(path: str) -> str:
    """The path as a name: what an undeclared tool was given may be a whole text, of which a reason shows one line."""
    if len(path) > LONGEST_NAME or ("\n" in path and len(path) > LONGEST_ODD_NAME):
        return path[:LONGEST_NAME].partition("\n")[0] + "…"
    return path
