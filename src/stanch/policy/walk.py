"""The one walk: every judgement asks its layers here, in order, and combines what they say.

Settles how answers combine: a deny anywhere wins, then a mandated ask, then an ordinary ask; of equals the earliest
layer's. Does not ask anybody itself: it is a generator that says whom to ask next and takes the answer, so that one
walk serves callers that wait and callers that do not.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from stanch.policy.layers import MANDATING, NO_OBJECTION, Layer, LayerAnswer, Rewrite
from stanch.values.call import JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId


class Ask(NamedTuple):
    """The walk's request: ask this layer about this call."""

    layer: Layer
    call: JudgedCall


class Restamp(NamedTuple):
    """The walk's request: take new stamps for the call with these arguments."""

    call: JudgedCall
    rewrite: Rewrite


@dataclass(frozen=True, slots=True)
class Failed:
    """A reply: the layer threw, took too long, or could not be asked. `cause` is a word, never the error's text."""

    cause: str


class Walked(NamedTuple):
    """What stands after the walk: the call as last stamped, and for each effect the strongest answer, None for none."""

    call: JudgedCall
    standing: Sequence[Answer | None]


Request = Ask | Restamp | Walked
Reply = LayerAnswer | Failed | JudgedCall
Walk = Generator[Request, Reply, None]


def walk(call: JudgedCall, layers: Sequence[Layer], on_failure: Effect = Effect.ASK) -> Walk:
    """Asks each layer that is there, in order, past every ask, up to the first deny.

    A layer that fails or answers nonsense counts as a mandated ask, or as a deny where `on_failure` says so: never as
    an allow. A rewrite starts the walk anew; a second one by the same layer is a deny.
    """
    rewrote: set[LayerId] = set()
    anew = True
    standing: list[Answer | None] = []
    while anew:
        anew = False
        standing = [None] * len(call.effects)
        for layer in layers:
            reply = yield Ask(layer, call)
            if isinstance(reply, Rewrite):
                if layer.id in rewrote:
                    reply = [Answer(Effect.DENY, Code.REWRITE_LOOP, layer.id)] * len(standing)
                else:
                    rewrote.add(layer.id)
                    reply = yield Restamp(call, reply)
                    if isinstance(reply, JudgedCall):
                        call, anew = reply, True
                        break
            if reply == NO_OBJECTION:
                continue
            if combine(standing, answers_of(reply, layer.id, len(standing), on_failure)):
                break
    yield Walked(call, standing)


def answers_of(reply: Reply, layer: LayerId, count: int, on_failure: Effect) -> Sequence[Answer | None]:
    """The reply as answers, one for each effect; a failure and nonsense alike become `layer_failed`."""
    if isinstance(reply, (tuple, list)) and len(reply) == count:
        for answer in reply:
            if answer is not None and (not isinstance(answer, Answer) or answer.layer is not layer):
                break
        else:
            return [_mandated(answer) for answer in reply] if layer in MANDATING else reply
    cause = reply.cause if isinstance(reply, Failed) else "gave no answer that can be read"
    effect = Effect.DENY if on_failure is Effect.DENY else Effect.ASK
    return [Answer(effect, Code.LAYER_FAILED, layer, mandated=effect is Effect.ASK, detail=cause)] * count


def _mandated(answer: Answer | None) -> Answer | None:
    """Every ask of a mandating layer is one that only a person may answer, whatever the layer itself says of it."""
    if answer is None or answer.effect is not Effect.ASK or answer.mandated:
        return answer
    return replace(answer, mandated=True)


def combine(standing: list[Answer | None], said: Sequence[Answer | None]) -> bool:
    """Lets each stronger answer take the place of what stood; True once a deny stands."""
    denied = False
    for at, answer in enumerate(said):
        if answer is None:
            continue
        before = standing[at]
        if before is None or answer.strength > before.strength:
            standing[at] = answer
            denied = denied or answer.effect is Effect.DENY
    return denied
