"""Random layers and stamped calls for the laws of the walk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from stanch.app.driving import drive
from stanch.gate.decide import decide
from stanch.policy.layers import MANDATING, ORDER, Layer, LayerAnswer
from stanch.values.call import CallEffect, EffectClass, JudgedCall, Stamp, ToolCall
from stanch.values.decision import Answer, Decision, Effect
from stanch.values.reason import Code, LayerId


@dataclass(frozen=True, slots=True)
class Fixed:
    """A layer that always gives the same answers, or raises where there are none."""

    id: LayerId
    answers: tuple[Answer | None, ...] | None
    immediate: bool = False

    def ask(self, call: JudgedCall) -> LayerAnswer:
        if self.answers is None:
            raise RuntimeError("broken on purpose")
        return [*self.answers][: len(call.effects)]


def call(count: int) -> JudgedCall:
    """A call with so many effects."""
    effects = tuple(
        CallEffect(EffectClass.READ if at % 2 else EffectClass.WRITE, "", Stamp(f"/w/{at}", f"/w/{at}", f"/w/{at}"))
        for at in range(count)
    )
    return JudgedCall(ToolCall("t", {}), effects)


def decision(layers: Sequence[Layer], count: int, on_failure: Effect = Effect.ASK) -> Decision:
    """The decision of these layers alone, nothing relaxed."""
    judged, standing = drive(call(count), tuple(layers), on_failure)
    return decide(judged, standing, "v")


def answers(layer: LayerId) -> st.SearchStrategy[Answer | None]:
    """One layer's word on one effect; None is no objection."""
    made = st.builds(
        Answer, st.sampled_from(Effect), st.just(Code.RULE), st.just(layer), st.none(), st.booleans(), st.just("")
    )
    return st.none() | made.map(lambda a: a if a.effect is Effect.ASK else Answer(a.effect, a.code, a.layer))


@st.composite
def stacks(draw: st.DrawFn) -> tuple[list[Fixed], int]:
    """A stack of layers in the gate's order, the persisted rules always among them, and a number of effects."""
    count = draw(st.integers(1, 3))
    chosen = draw(st.sets(st.sampled_from(ORDER))) | {LayerId.PERSISTED_RULES}
    stack = []
    for layer in ORDER:
        if layer in chosen:
            said = draw(st.tuples(*[answers(layer)] * count))
            fails = draw(st.integers(0, 9)) == 0
            stack.append(Fixed(layer, None if fails else said, draw(st.booleans())))
    return stack, count


def rank(decision: Decision) -> int:
    """How strict a decision is: allow, ordinary ask, mandated ask, deny."""
    return decision.answer.strength


__all__ = ["MANDATING", "Fixed", "answers", "call", "decision", "rank", "stacks"]
