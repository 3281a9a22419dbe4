"""Would a call that nobody has made be refused outright? One walk over the gate's own layers, and two faces of it.

Settles which answers are held against a probe, and which silence is told apart from which. It waits for nobody: it says
which layer to ask next. Does not settle who waits for whom, nor how long (`app.judgments`).
INVARIANT: a layer that gave no answer never counts as one that has no objection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stanch.policy.layers import MANDATING, NO_OBJECTION, ORDER, Failed, Layer, LayerAnswer, Rewrite
from stanch.policy.walk import Request, Restamp, answers_of, walk
from stanch.values.call import JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.verdict import Cause, Face, State, Verdict

ASKED = tuple(layer for layer in ORDER if layer not in (LayerId.INTEGRITY, LayerId.HOOKS))
"""The layers that are asked. SPEC: hooks screen a model's own calls, and a live write meets the built-in guards."""
HUNG = Failed("it took longer than anybody waited", Cause.TIMED_OUT)
"""The reply that stands for a layer that was asked, and had not answered when the time was over."""
_TOO_LATE = Failed("the judgment's time was over", Cause.TIMED_OUT)
_SEAT = Failed("it would ask a person, and none can be asked", Cause.APPROVAL_SEAT)
_REWRITTEN = Failed("it wants other arguments", Cause.REWRITTEN)
_SEATS = {
    Code.NO_APPROVER: Cause.APPROVAL_SEAT,
    Code.APPROVAL_EXPIRED: Cause.APPROVAL_SEAT,
    Code.CANCELLED: Cause.APPROVAL_SEAT,
}
"""How a policy's deny says that it is none of a rule's: it would have asked a person, and nobody was there."""
_SILENCES: Mapping[LayerId, Mapping[Code, Cause]] = {
    LayerId.PERSISTED_RULES: {
        Code.STORE_UNREADABLE: Cause.STORE_UNREADABLE,
        Code.CALL_UNREADABLE: Cause.CALL_UNREADABLE,
    },
    LayerId.TIER: {Code.POLICY_INVALID: Cause.STORE_UNREADABLE},
    LayerId.CALLER_POLICY: _SEATS,
    LayerId.INHERITED_CONSTRAINT: _SEATS,
}
"""What the gate's layers say where they cannot be read: to the gate that is a refusal, here it is no answer."""
_FAULTS = {
    (LayerId.PERSISTED_RULES, Cause.THREW): Cause.STORE_UNREADABLE,
    (LayerId.PERSISTED_RULES, Cause.TIMED_OUT): Cause.STORE_UNREADABLE,
    (LayerId.ORG_RULES, Cause.THREW): Cause.ORG_UNAVAILABLE,
    (LayerId.ORG_RULES, Cause.TIMED_OUT): Cause.ORG_UNAVAILABLE,
}
"""What it means that a layer failed, where that is more than that it threw or took too long."""
_NEW = tuple.__new__  # WHY: half the cost of calling the named tuple, in a busy place


@dataclass(frozen=True, slots=True)
class Heard:
    """What one layer said of a probe, for whoever wants to see all of it: the answer that counts, and those in full."""

    layer: LayerId
    state: State
    answer: Answer | None = None
    cause: Cause | None = None
    said: Sequence[Answer | None] = ()


class Panel:
    """The layers of one session as the judge asks them, in order: made once, for any number of probes of one face."""

    __slots__ = ("face", "layers")

    def __init__(self, face: Face, layers: Sequence[Layer]) -> None:
        asked = sorted((layer for layer in layers if layer.id in ASKED), key=lambda layer: ASKED.index(layer.id))
        self.face = face
        self.layers: tuple[Layer, ...] = tuple(
            _Told(layer, face) if layer.id in _SILENCES else layer for layer in asked
        )

    def behind(self, layer: Layer) -> Sequence[Layer]:
        """The layers that are asked after this one."""
        return self.layers[1 + next(place for place, one in enumerate(self.layers) if one is layer) :]


class Judgment:
    """One judgment: says which layer to ask next and takes its answer, until it has the verdict.

    A layer that is `immediate` is asked right here; every other one is handed to whoever drives the judgment. `spent`
    says whether its time is over: whatever layer is reached then is not asked. `hear` is told what each layer said.
    """

    __slots__ = ("_asked", "_call", "_face", "_hear", "_panel", "_run", "_spent", "denied", "held", "silent")

    def __init__(
        self, call: JudgedCall, panel: Panel, spent: Callable[[], bool], hear: Callable[[Heard], None] | None = None
    ) -> None:
        self._call, self._panel, self._face, self._spent, self._hear = call, panel, panel.face, spent, hear
        self.denied: Answer | None = None
        self.held: Answer | None = None
        self.silent: tuple[LayerId, Failed] | None = None

    def begin(self) -> Layer | Verdict:
        """The first layer that has to be asked elsewhere, or the verdict where there is none."""
        effects = self._call.effects
        stamp = effects[0].stamp
        if len(effects) > 1 or (stamp is not None and stamp.refusal is not None):
            refused = refusal(self._call)
            if refused is not None:
                return refused
        if self._spent():
            self._unasked(self._panel.layers)
            return self._verdict()
        self._run = walk(self._call, self._panel.layers, Effect.ASK, self._take, every=self._hear is not None)
        return self._after(next(self._run))

    def go_on(self, reply: LayerAnswer) -> Layer | Verdict:
        """What comes after the answer of the layer that was handed out last; `HUNG` stands for none in time."""
        if not self._spent():
            return self._after(self._run.send(reply))
        layer = self._asked
        failed = _REWRITTEN if isinstance(reply, Rewrite) else reply if isinstance(reply, Failed) else None
        said = (
            () if reply is NO_OBJECTION else answers_of(failed or reply, layer.id, len(self._call.effects), Effect.ASK)
        )
        self._take(layer.id, said, failed=failed)
        if self.denied is None:
            self._unasked(self._panel.behind(layer))
        return self._verdict()

    def _after(self, request: Request) -> Layer | Verdict:
        while type(request) is not tuple:
            if not isinstance(request, Restamp | tuple):
                self._asked = request
                return request
            request = self._run.send(_REWRITTEN)
        return self._verdict()

    def _take(
        self,
        layer: LayerId,
        said: Sequence[Answer | None],
        *,
        rewrote: bool = False,  # noqa: ARG002 - nothing is rewritten here
        failed: Failed | None = None,
    ) -> None:
        """Takes down one layer's answer: its deny, else the ask of it that is held, else that it gave none."""
        state, told, cause = State.NO_OBJECTION, None, None
        for one in said:
            if one is None or one.effect is Effect.ALLOW:
                continue
            if one.effect is Effect.DENY:
                state, told = State.DENY, one
                break
            if one.code is Code.LAYER_FAILED and state is State.NO_OBJECTION:
                failed = _as_meant(layer, failed or Failed(one.detail))
                state, cause = State.UNANSWERABLE, failed.kind
            elif one.code is not Code.LAYER_FAILED and told is None and (one.mandated or self._face is Face.WRITE):
                state, told = (State.ASK if self._face is Face.WRITE else State.MANDATED_ASK), one
        if state is State.DENY:
            self.denied = self.denied or told
        elif told is not None:
            self.held = self.held or told
        elif failed is not None and self.silent is None:
            self.silent = layer, failed
        if self._hear is not None:
            self._hear(Heard(layer, state, told, cause if told is None else None, tuple(said)))

    def _unasked(self, layers: Sequence[Layer]) -> None:
        """Takes down that these layers were reached when the time was over."""
        for layer in layers:
            self.silent = self.silent or (layer.id, _TOO_LATE)
            if self._hear is not None:
                self._hear(Heard(layer.id, State.UNANSWERABLE, None, Cause.TIMED_OUT))

    def _verdict(self) -> Verdict:
        """The strongest that was said: a deny, then an ask that is held, then a layer that could not answer."""
        stamp = self._call.effects[0].stamp
        path = "" if stamp is None else stamp.path
        against = self.denied or self.held
        if against is not None:
            asks = State.ASK if self._face is Face.WRITE else State.MANDATED_ASK
            reason = Reason(against.code, against.layer, against.rule, path, against.detail)
            return Verdict(State.DENY if self.denied else asks, against.layer, reason, None, path or None)
        if self.silent is not None:
            layer, failed = self.silent
            return Verdict(State.UNANSWERABLE, layer, _silence(layer, path, failed), failed.kind)
        return _NEW(Verdict, (State.NO_OBJECTION, None, None, None, path or None))


def refusal(call: JudgedCall) -> Verdict | None:
    """The verdict where the path itself is refused before any layer is asked; else None."""
    unread: Verdict | None = None
    for effect in call.effects:
        stamp = effect.stamp
        if stamp is None or stamp.refusal is None or stamp.refusal is Code.RUNS_CODE:
            continue
        reason = Reason(stamp.refusal, LayerId.INTEGRITY, None, stamp.path or stamp.requested, stamp.detail)
        if stamp.refusal is Code.PATH_PROTECTED:
            return Verdict(State.DENY, LayerId.INTEGRITY, reason, None, stamp.path or None)
        if unread is None:
            unread = Verdict(State.UNANSWERABLE, LayerId.INTEGRITY, reason, Cause.CALL_UNREADABLE)
    return unread


class _Told:
    """A layer whose every silence is told apart from its refusals, before the walk hears it.

    WHY before: here, a deny that is none would end the walk, and keep a later layer's from being heard.
    """

    __slots__ = ("_ask", "_face", "_silences", "authority", "id", "immediate")

    def __init__(self, layer: Layer, face: Face) -> None:
        self.id, self.immediate, self.authority = layer.id, layer.immediate, layer
        self._ask, self._face, self._silences = layer.ask, face, _SILENCES[layer.id]

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """The layer's answer; `Failed` where it has none that counts."""
        reply = self._ask(call)
        if type(reply) is list or type(reply) is tuple:
            for answer in reply:
                if type(answer) is Answer and answer.code in self._silences:
                    return self._meant(reply) if self._is_read(reply, len(call.effects)) else reply
        return reply

    def _is_read(self, reply: Sequence[Answer | None], count: int) -> bool:
        """False for a reply that the walk takes for nonsense: then it holds no silence either."""
        own = self.id
        return len(reply) == count and all(one is None or (type(one) is Answer and one.layer is own) for one in reply)

    def _meant(self, reply: Sequence[Answer | None]) -> LayerAnswer:
        """What is left of the reply without its silences, where that objects to anything; else the first silence."""
        silent: Answer | None = None
        rest: list[Answer | None] = []
        for one in reply:
            is_silence = type(one) is Answer and one.code in self._silences
            silent = silent or (one if is_silence else None)
            rest.append(None if is_silence else one)
        if silent is None or any(type(one) is Answer and self._is_held(one) for one in rest):
            return rest
        cause = self._silences[silent.code]
        return _SEAT if cause is Cause.APPROVAL_SEAT else Failed(silent.detail, cause)

    def _is_held(self, answer: Answer) -> bool:
        if answer.effect is Effect.ASK:
            return answer.mandated or self.id in MANDATING or self._face is Face.WRITE
        return answer.effect is Effect.DENY


def _as_meant(layer: LayerId, failed: Failed) -> Failed:
    """The failure as this layer's: what it means that the store or the organization gave no answer."""
    if failed is HUNG and layer is LayerId.ORG_RULES:
        return failed
    meant = _FAULTS.get((layer, failed.kind))
    return failed if meant is None else Failed(failed.cause, meant)


def _silence(layer: LayerId, path: str, failed: Failed) -> Reason:
    return Reason(Code.LAYER_FAILED, layer, None, path, failed.cause)
