"""The one walk: every judgement asks its layers here, in order, and combines what they say.

Settles how answers combine: a deny anywhere wins, then a mandated ask, then an ordinary ask; of equals the earliest
layer's. Does not ask anybody itself: it is a generator that says whom to ask next and takes the answer, so that one
walk serves callers that wait and callers that do not.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from stanch.policy.layers import MANDATING, NO_OBJECTION, Failed, Layer, LayerAnswer, Rewrite
from stanch.values.call import JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId


class Restamp(NamedTuple):
    """The walk's request: take new stamps for the call with these arguments."""

    call: JudgedCall
    rewrite: Rewrite


THREW = Failed("it threw")
"""The reply that stands for a layer that raised: whatever it raised is no answer."""

Standing = tuple[Answer | None, ...]
"""What stands after the walk: for each effect the strongest answer, None where nobody said anything."""


class Record(Protocol):
    """Told of each layer that was asked and what it said for each effect; nothing at all is no objection."""

    def __call__(
        self, layer: LayerId, said: Sequence[Answer | None], *, rewrote: bool = False, failed: Failed | None = None
    ) -> None:
        """Takes down one layer's answer, or that it rewrote the arguments, or said itself that it has none."""


DENY_STRENGTH = 3
Request = Layer | Restamp | Standing
Reply = LayerAnswer | JudgedCall
Walk = Generator[Request, Reply, None]


def walk(
    call: JudgedCall,
    layers: Sequence[Layer],
    on_failure: Effect = Effect.ASK,
    record: Record | None = None,
    *,
    every: bool = True,
) -> Walk:
    """Asks each layer that is there, in order, past every ask, up to the first deny.

    A layer that is `immediate` decides on the call's values alone and is asked right here; every other one is yielded
    to whoever drives the walk. `record` is told of each answer as it comes, for a trace; it changes nothing. Without
    `every` it is not told of a layer that has no objection.

    A layer that fails or answers nonsense counts as a mandated ask, or as a deny where `on_failure` says so: never as
    an allow. A rewrite starts the walk anew; a second one by the same layer is a deny.
    """
    rewrote: set[int] = set()
    count = len(call.effects)
    anew = True
    standing: Sequence[Answer | None] = ()
    while anew:
        anew = False
        standing = ()
        for layer in layers:
            reply: Reply
            if layer.immediate:
                try:
                    reply = layer.ask(call)
                except Exception:
                    reply = THREW
            else:
                reply = yield layer
            if reply is NO_OBJECTION:
                if record is not None and every:
                    record(layer.id, ())
                continue
            if type(reply) is Rewrite:
                if id(layer) in rewrote:
                    reply = [Answer(Effect.DENY, Code.REWRITE_LOOP, layer.id)] * count
                else:
                    rewrote.add(id(layer))
                    reply = yield Restamp(call, reply)
                    if isinstance(reply, JudgedCall):
                        call, count, anew = reply, len(reply.effects), True
                        if record is not None:
                            record(layer.id, (), rewrote=True)
                        break
            said = answers_of(reply, layer.id, count, on_failure)
            if record is not None:
                record(layer.id, said, failed=reply if isinstance(reply, Failed) else None)
            standing = combine(standing, said) if standing else said
            if _denies(standing):
                break
    yield tuple(standing) or (None,) * count


def answers_of(reply: Reply, layer: LayerId, count: int, on_failure: Effect) -> Sequence[Answer | None]:
    """The reply as answers, one for each effect; a failure and nonsense alike become `layer_failed`."""
    if (type(reply) is list or type(reply) is tuple) and len(reply) == count:
        for answer in reply:
            if answer is not None and (type(answer) is not Answer or answer.layer is not layer):
                break
        else:
            return reply if layer is LayerId.PERSISTED_RULES else [_narrowing(answer, layer) for answer in reply]
    cause = reply.cause if isinstance(reply, Failed) else "it gave nothing that can be read"
    effect = Effect.DENY if on_failure is Effect.DENY else Effect.ASK
    return [Answer(effect, Code.LAYER_FAILED, layer, mandated=effect is Effect.ASK, detail=cause)] * count


def _narrowing(answer: Answer | None, layer: LayerId) -> Answer | None:
    """What a layer other than the rules can say.

    Its allow is no more than no objection, so that adding it never widens; and of some layers every ask is one that
    only a person may answer, whatever the layer itself says of it.
    """
    if answer is None or answer.effect is Effect.ALLOW:
        return None
    if answer.effect is Effect.ASK and layer in MANDATING and not answer.mandated:
        return replace(answer, mandated=True)
    return answer


def combine(standing: Sequence[Answer | None], said: Sequence[Answer | None]) -> Sequence[Answer | None]:
    """For each effect the stronger of what stood and what is said now; of equals what stood."""
    return [
        before if after is None or (before is not None and before.strength >= after.strength) else after
        for before, after in zip(standing, said, strict=True)
    ]


def _denies(standing: Sequence[Answer | None]) -> bool:
    for answer in standing:  # noqa: SIM110 - a generator costs more than the whole loop
        if answer is not None and answer.strength == DENY_STRENGTH:
            return True
    return False
