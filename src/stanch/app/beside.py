"""What stands beside a session's rules and tiers and is somebody else's: what it has said, to be counted again.

Settles what programs, policies and layers of a program say of an answered call, without asking twice where the answer
is known. Does not settle who of them stands in the way (`app.objections`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stanch.app.caller_policies import PolicyLayer
from stanch.app.engine import Session
from stanch.app.foreign import ask_within
from stanch.gate.relax import Bypass
from stanch.policy.layers import NO_OBJECTION, Layer, LayerAnswer, Rewrite
from stanch.policy.walk import answers_of
from stanch.values.call import JudgedCall, Manner, Reach
from stanch.values.decision import Answer, Decision, Effect, LayerStep
from stanch.values.reason import Code, LayerId


class Party(NamedTuple):
    """A session whose layers judge a call, and the bypasses that hold for it besides the session's own."""

    session: Session
    bypasses: Sequence[Bypass] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A layer that says again what one that is somebody else's has said. `alike`: it said the same of each effect."""

    id: LayerId
    said: LayerAnswer
    alike: bool = True
    immediate: bool = True

    def ask(self, call: JudgedCall) -> LayerAnswer:  # noqa: ARG002 - it was asked already
        """What was said."""
        return self.said


def told(parties: Sequence[tuple[Party, JudgedCall]], decision: Decision) -> list[list[Told]]:
    """What is said beside the rules of each party, by everybody but hooks that were not asked.

    What policies and hooks said when `decision` was made counts. Whoever was not reached then, since somebody before
    them denied, is asked now, and told that nobody can be asked; hooks are not.
    """
    return [
        [
            Told(layer.id, _said(layer, call, party.session, step), isinstance(layer, PolicyLayer))
            for layer, step in _steps(party.session, parties, decision)
            if not layer.immediate and (step is not None or layer.id is not LayerId.HOOKS)
        ]
        for party, call in parties
    ]


def unheard(parties: Sequence[tuple[Party, JudgedCall]], decision: Decision) -> bool:
    """True where a hook has its say on such a call, and has not been asked."""
    return any(
        layer.id is LayerId.HOOKS and step is None and (not isinstance(layer, PolicyLayer) or layer.concerns(tool))
        for party, call in parties
        for tool in (call.call.tool,)
        for layer, step in _steps(party.session, parties, decision)
    )


def _steps(
    session: Session, parties: Sequence[tuple[Party, JudgedCall]], decision: Decision
) -> list[tuple[Layer, LayerStep | None]]:
    """The session's layers, each with what the trace says of it; None where that cannot be told.

    WHY by place: a trace knows layers by their ids alone, and of several with one id the first are asked first.
    INVARIANT: what one session's layer said is never taken for another's.
    """
    rounds = 1 + max((at for at, step in enumerate(decision.trace) if step.rewrote), default=-1)
    found: list[tuple[Layer, LayerStep | None]] = []
    for layer in session.layers:
        own = [one for one in session.layers if one.id is layer.id]
        holders = sum(any(one.id is layer.id for one in party.session.layers) for party, _ in parties)
        steps = [step for step in decision.trace[rounds:] if step.asked and step.layer is layer.id]
        at = next(place for place, one in enumerate(own) if one is layer)
        found.append((layer, steps[at] if holders == 1 and at < len(steps) else None))
    return found


def _said(layer: Layer, call: JudgedCall, session: Session, step: LayerStep | None) -> LayerAnswer:
    count = len(call.effects)
    if step is not None and (isinstance(layer, PolicyLayer) or layer.id is LayerId.HOOKS):
        return NO_OBJECTION if step.answer is None else [step.answer] * count
    reply = ask_within(layer, call._replace(manner=Manner(Reach.NONE)), session.patience)
    if isinstance(reply, Rewrite):
        # WHY a deny: the answer would be one about another call, and nobody knows which.
        return [Answer(Effect.DENY, Code.LAYER_FAILED, layer.id, detail="it wants other arguments")] * count
    return reply if reply is NO_OBJECTION else answers_of(reply, layer.id, count, session.on_failure)
