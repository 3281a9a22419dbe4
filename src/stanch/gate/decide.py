"""From what stands after the walk to the decision.

Settles which effect's answer is the call's answer. Pure: stamps and layer answers come in, a decision goes out.
"""

from __future__ import annotations

from collections.abc import Sequence

from stanch.values.call import JudgedCall
from stanch.values.decision import Answer, Decision, Effect, EffectAnswer, LayerStep
from stanch.values.reason import Code, LayerId

_UNANSWERED = Answer(Effect.ASK, Code.NO_MATCH, LayerId.PERSISTED_RULES)
_LAYER_PLACE = {layer: place for place, layer in enumerate(LayerId)}


def decide(
    call: JudgedCall, standing: Sequence[Answer | None], version: str, trace: tuple[LayerStep, ...] = ()
) -> Decision:
    """The decision: the strongest answer of all effects, the earliest layer's of equals, then the earliest effect's.

    An effect that nobody answered is an ask, never an allow; in a call that is denied it is shown without an answer.
    """
    effects = call.effects
    if len(effects) == 1:
        effect, answer = effects[0], standing[0] or _UNANSWERED
        one = (EffectAnswer(effect, answer),)
        return Decision(answer.effect, answer, effect, one, call.call.tool, version, trace)
    best: Answer | None = None
    about = effects[0]
    denied = any(answer is not None and answer.effect is Effect.DENY for answer in standing)
    answers = []
    for effect, stood in zip(effects, standing, strict=True):
        said = stood if stood is not None or denied else _UNANSWERED
        answers.append(EffectAnswer(effect, said))
        if said is not None and (best is None or _beats(said, best)):
            best, about = said, effect
    final = best or _UNANSWERED
    return Decision(final.effect, final, about, tuple(answers), call.call.tool, version, trace)


def _beats(one: Answer, other: Answer) -> bool:
    if one.strength != other.strength:
        return one.strength > other.strength
    return _LAYER_PLACE[one.layer] < _LAYER_PLACE[other.layer]
