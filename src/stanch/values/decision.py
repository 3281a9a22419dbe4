"""The gate's answer.

Settles the shape of answers and decisions and how answers compare. Does not settle who gives which (`policy.layers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, NoReturn

from stanch.values.call import CallEffect
from stanch.values.reason import Code, LayerId, Reason, RuleRef


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

    `mandated` marks an ask that no rule, grant or bypass may answer in the person's place.
    """

    effect: Effect
    code: Code
    layer: LayerId
    rule: RuleRef | None = None
    mandated: bool = False
    detail: str = ""

    @property
    def strength(self) -> int:
        """0 allow, 1 ordinary ask, 2 mandated ask, 3 deny: a stronger answer wins over a weaker one."""
        if self.effect is Effect.DENY:
            return 3
        if self.effect is Effect.ASK:
            return 2 if self.mandated else 1
        return 0


@dataclass(frozen=True, slots=True)
class LayerStep:
    """What one layer said in a walk: its strongest answer, None where it raised no objection, and how long it took."""

    layer: LayerId
    asked: bool
    answer: Answer | None = None
    subject: str = ""
    microseconds: float = 0.0


class EffectAnswer(NamedTuple):
    """The answer that stands for one effect of the call, after every layer and relaxation.

    None only in a call that was denied for another effect before this one was judged.
    """

    effect: CallEffect
    answer: Answer | None


class Decision(NamedTuple):
    """The gate's answer to a call: an effect, a reason, the answer for each effect of the call, and a trace.

    `about` is the effect of the call that the answer was given for.

    INVARIANT: no truth value. `if decision:` is a TypeError, so that a refusal can never pass for a yes.
    """

    effect: Effect
    answer: Answer
    about: CallEffect
    effects: tuple[EffectAnswer, ...]
    tool: str
    policy_version: str
    trace: tuple[LayerStep, ...] = ()

    def __bool__(self) -> NoReturn:
        raise TypeError("a decision has no truth value; compare decision.effect")

    @property
    def mandated(self) -> bool:
        """True for an ask that only a person may answer."""
        return self.answer.mandated

    @property
    def reason(self) -> Reason:
        """Why the answer is what it is."""
        answer, stamp = self.answer, self.about.stamp
        subject = self.about.subject or self.tool
        requested = ""
        if stamp is not None:
            subject, requested = stamp.path or stamp.requested, stamp.requested
        return Reason(answer.code, answer.layer, answer.rule, subject, answer.detail, requested)
