"""From what stands after the walk to the decision.

Settles which effect's answer is the call's answer. Pure: stamps and layer answers come in, a decision goes out.
"""

from __future__ import annotations

from collections.abc import Sequence

from stanch.values.call import JudgedCall
from stanch.values.decision import Answer, Decision, Effect, LayerStep
from stanch.values.reason import Code, LayerId

_UNANSWERED = Answer(Effect.ASK, Code.NO_MATCH, LayerId.PERSISTED_RULES)
_LAYER_PLACE = {layer: place for place, layer in enumerate(LayerId)}


def decide(
    call: JudgedCall, standing: Sequence[Answer | None], version: str, trace: tuple[LayerStep, ...] = ()
) -> Decision:
    """The decision: the strongest answer of all effects, the earliest layer's of equals, then the earliest effect's.

    What allows a command that does something is told before what allows one that does nothing by itself.

    An effect that nobody answered is an ask, never an allow; in a call that is denied it is shown without an answer.
    """
    if len(standing) == 1:
        answer = standing[0] or _UNANSWERED
        return Decision(answer.effect, answer, call, (answer,), 0, version, trace)
    denied = any(answer is not None and answer.effect is Effect.DENY for answer in standing)
    answers = tuple(standing) if denied else tuple(answer or _UNANSWERED for answer in standing)
    at = -1
    for place, said in enumerate(answers):
        if said is not None and (at < 0 or _beats(said, answers[at] or _UNANSWERED)):
            at = place
    best = answers[at] or _UNANSWERED
    return Decision(best.effect, best, call, answers, max(at, 0), version, trace)


def _beats(one: Answer, other: Answer) -> bool:
    if one.strength != other.strength:
        return one.strength > other.strength
    if Code.NOTHING_BY_ITSELF in (one.code, other.code):
        return one.code is not other.code and other.code is Code.NOTHING_BY_ITSELF
    return _LAYER_PLACE[one.layer] < _LAYER_PLACE[other.layer]
