"""Would a call that nobody has made be refused outright? One walk over the gate's own layers, and two faces of it.

Settles which answers are held against a probe, and which silence is told apart from which. It asks nobody itself: it is
a generator that says which layer to ask next. Does not settle who waits for whom, nor how long (`app.judging`).
INVARIANT: a layer that gave no answer never counts as one that has no objection.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from stanch.policy.layers import NO_OBJECTION, ORDER, Failed, Layer, LayerAnswer
from stanch.policy.walk import Reply, Restamp, walk
from stanch.values.call import JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.verdict import Cause, Face, State, Verdict

ASKED = tuple(layer for layer in ORDER if layer not in (LayerId.INTEGRITY, LayerId.HOOKS))
"""The layers that are asked. SPEC: hooks screen a model's own calls, and a live write meets the built-in guards."""
POLICIES = frozenset({LayerId.CALLER_POLICY, LayerId.INHERITED_CONSTRAINT})
SEATS = frozenset({Code.NO_APPROVER, Code.APPROVAL_EXPIRED, Code.CANCELLED})
"""How a policy's deny says that it is none of a rule's: it would have asked a person, and nobody was there to answer."""
_SILENCES = {
    (LayerId.PERSISTED_RULES, Code.STORE_UNREADABLE): Cause.STORE_UNREADABLE,
    (LayerId.PERSISTED_RULES, Code.CALL_UNREADABLE): Cause.CALL_UNREADABLE,
    (LayerId.TIER, Code.POLICY_INVALID): Cause.STORE_UNREADABLE,
}
"""What the gate's layers say where they cannot be read: to the gate that is a refusal, here it is no answer."""
TOO_LATE = Failed("the judgment's time was over", Cause.TIMED_OUT)
_REWRITTEN = Failed("it wants other arguments", Cause.REWRITTEN)

Judging = Generator[Layer, LayerAnswer, Verdict]


@dataclass(frozen=True, slots=True)
class Heard:
    """What one layer said of a probe, for whoever wants to see all of it."""

    layer: LayerId
    state: State
    answer: Answer | None = None
    cause: Cause | None = None


def judge(
    call: JudgedCall,
    face: Face,
    layers: Sequence[Layer],
    spent: Callable[[], bool],
    hear: Callable[[Heard], None] | None = None,
) -> Judging:
    """Asks each layer that is there, and gives the verdict.

    A layer that is `immediate` is asked right here; every other one is yielded to whoever drives it, who sends its
    answer. `spent` says whether the judgment's time is over: whatever layer is reached then is not asked.
    """
    refused = _refused(call)
    if refused is not None:
        return refused
    heard = _Hearing(face, hear)
    run = walk(call, [_Asked(layer, spent) for layer in _in_order(layers)], Effect.ASK, heard)
    request = next(run)
    while True:
        reply: Reply
        if isinstance(request, _Asked):
            reply = TOO_LATE if spent() else _meant((yield request.layer), request.id)
        elif isinstance(request, Restamp):
            reply = _REWRITTEN
        else:
            return heard.verdict(call)
        request = run.send(reply)


def _in_order(layers: Sequence[Layer]) -> list[Layer]:
    return sorted((layer for layer in layers if layer.id in ASKED), key=lambda layer: ASKED.index(layer.id))


def _refused(call: JudgedCall) -> Verdict | None:
    """The verdict where the path itself is refused before any layer is asked."""
    for effect in call.effects:
        stamp = effect.stamp
        if stamp is None or stamp.refusal in (None, Code.RUNS_CODE):
            continue
        reason = Reason(stamp.refusal, LayerId.INTEGRITY, None, stamp.path or stamp.requested, stamp.detail)
        if stamp.refusal is Code.PATH_PROTECTED:
            return Verdict(State.DENY, LayerId.INTEGRITY, reason, judged=stamp.path or None)
        return Verdict(State.UNANSWERABLE, LayerId.INTEGRITY, reason, Cause.CALL_UNREADABLE)
    return None


class _Asked:
    """A layer as the judge hears it: not asked once the time is over, and told apart where it could not be read."""

    __slots__ = ("id", "immediate", "layer", "spent")

    def __init__(self, layer: Layer, spent: Callable[[], bool]) -> None:
        self.layer, self.spent = layer, spent
        self.id, self.immediate = layer.id, layer.immediate

    def ask(self, call: JudgedCall) -> LayerAnswer:
        return TOO_LATE if self.spent() else _meant(self.layer.ask(call), self.id)


def _meant(reply: LayerAnswer, layer: LayerId) -> LayerAnswer:
    """The layer's answer, or that it gave none: WHY here, a deny that is none would end the walk."""
    if reply is NO_OBJECTION or not isinstance(reply, list | tuple):
        return reply
    for answer in reply:
        if not isinstance(answer, Answer):
            continue
        if answer.effect is Effect.DENY and answer.code in SEATS and layer in POLICIES:
            return Failed("it would ask a person, and none can be asked", Cause.APPROVAL_SEAT)
        cause = _SILENCES.get((layer, answer.code))
        if cause is not None:
            return Failed(answer.detail, cause)
    return reply


@dataclass(slots=True)
class _Hearing:
    """Takes down what each layer says; it is the walk's record."""

    face: Face
    hear: Callable[[Heard], None] | None
    denied: Answer | None = None
    held: Answer | None = None
    silent: tuple[LayerId, Failed] | None = field(default=None)

    def __call__(
        self, layer: LayerId, said: Sequence[Answer | None], *, rewrote: bool = False, failed: Failed | None = None
    ) -> None:
        del rewrote
        state, answer = State.NO_OBJECTION, None
        for one in said:
            if one is None or one.effect is Effect.ALLOW:
                continue
            if one.code is Code.LAYER_FAILED:
                failed = failed or Failed(one.detail)
                state = State.UNANSWERABLE
                self.silent = self.silent or (layer, failed)
            elif one.effect is Effect.DENY:
                state, answer = State.DENY, one
                self.denied = self.denied or one
                break
            elif one.mandated or self.face is Face.WRITE:
                state, answer = (State.ASK if self.face is Face.WRITE else State.MANDATED_ASK), one
                self.held = self.held or one
        if self.hear is not None:
            self.hear(Heard(layer, state, answer, failed.kind if failed is not None else None))

    def verdict(self, call: JudgedCall) -> Verdict:
        """The strongest that was said: a deny, then an ask that is held, then a layer that could not answer."""
        stamp = call.effects[0].stamp
        path = "" if stamp is None else stamp.path
        against = self.denied or self.held
        if against is not None:
            asks = State.ASK if self.face is Face.WRITE else State.MANDATED_ASK
            reason = Reason(against.code, against.layer, against.rule, path, against.detail)
            return Verdict(State.DENY if self.denied else asks, against.layer, reason, judged=path or None)
        if self.silent is not None:
            layer, failed = self.silent
            reason = Reason(Code.LAYER_FAILED, layer, None, path, failed.cause)
            return Verdict(State.UNANSWERABLE, layer, reason, failed.kind)
        return Verdict(State.NO_OBJECTION, judged=path or None)
