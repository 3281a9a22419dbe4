"""Law: adding a layer never makes a decision less strict; an answer that is no answer is never a yes."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.app.driving import drive
from stanch.gate.decide import decide
from stanch.policy.layers import NO_OBJECTION, ORDER, Layer, Rewrite, Unbuilt
from stanch.values.call import JudgedCall, ToolCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId
from tests.laws import layers_drawn as drawn

YES = Answer(Effect.ALLOW, Code.RULE, LayerId.PERSISTED_RULES)


@given(drawn.stacks(), st.data())
def test_adding_a_layer_never_widens(stack: tuple[list[drawn.Fixed], int], data: st.DataObject) -> None:
    layers, count = stack
    others = [layer for layer in layers if layer.id is not LayerId.PERSISTED_RULES]
    if others:
        left_out = data.draw(st.sampled_from(others))
        fewer = [layer for layer in layers if layer is not left_out]
        assert drawn.rank(drawn.decision(layers, count)) >= drawn.rank(drawn.decision(fewer, count))


@given(drawn.stacks())
def test_it_does_not_matter_who_drives_a_layer(stack: tuple[list[drawn.Fixed], int]) -> None:
    layers, count = stack
    inside = [drawn.Fixed(layer.id, layer.answers, True) for layer in layers]
    outside = [drawn.Fixed(layer.id, layer.answers, False) for layer in layers]
    assert drawn.decision(inside, count) == drawn.decision(outside, count)


@given(drawn.stacks())
def test_the_reason_is_the_strongest_answers_and_of_equals_the_earliest_layers(
    stack: tuple[list[drawn.Fixed], int],
) -> None:
    layers, count = stack
    got = drawn.decision(layers, count)
    for layer in layers:
        if layer.id is got.answer.layer or layer.answers is None:
            break
        for answer in layer.answers:
            assert answer is None or _weight(answer) < got.answer.strength


def _weight(answer: Answer) -> int:
    """How strong an answer of a layer other than the rules counts: its allow is nothing, its ask may be mandated."""
    if answer.effect is Effect.ALLOW:
        return -1
    return max(answer.strength, 2) if answer.layer in drawn.MANDATING else answer.strength


@pytest.mark.parametrize("layer", [x for x in ORDER if x in drawn.MANDATING])
def test_every_ask_of_a_mandating_layer_is_mandated(layer: LayerId) -> None:
    asks = drawn.Fixed(layer, (Answer(Effect.ASK, Code.RULE, layer),))
    assert drawn.decision([asks], 1).mandated


NONSENSE: list[Any] = [
    (),
    None, True, "allow", [], [True], [YES, YES], {"effect": "allow"}, Effect.ALLOW, YES, ["allow"], 0, object(),
    [Answer(Effect.ALLOW, Code.RULE, LayerId.HOOKS)], Ellipsis, (None, None),
]  # fmt: skip


@pytest.mark.parametrize("nonsense", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_is_an_ask_never_an_allow(nonsense: Any) -> None:
    class Odd:
        id = LayerId.CALLER_POLICY
        immediate = False

        def ask(self, call: JudgedCall) -> Any:
            return nonsense

    layers = (cast(Layer, Odd()), drawn.Fixed(LayerId.PERSISTED_RULES, (YES,)))
    judged, standing = drive(drawn.call(1), layers, Effect.ASK)
    got = decide(judged, standing, "v")
    assert (got.effect, got.answer.code, got.mandated) == (Effect.ASK, Code.LAYER_FAILED, True)


@pytest.mark.parametrize("layer", ORDER)
def test_a_layer_that_is_configured_but_not_built_is_not_silent(layer: LayerId) -> None:
    got = drawn.decision([Unbuilt(layer), drawn.Fixed(LayerId.PERSISTED_RULES, (YES,))], 1)
    assert (got.effect, got.answer.code, got.mandated) == (Effect.ASK, Code.LAYER_FAILED, True)


class Rewriting:
    """A layer that rewrites the arguments so many times before it has no objection."""

    id = LayerId.CALLER_POLICY
    immediate = False

    def __init__(self, times: int) -> None:
        self.times = times

    def ask(self, call: JudgedCall) -> Any:
        if self.times > 0:
            self.times -= 1
            return Rewrite({"path": "/w/other"})
        return NO_OBJECTION


def _restamp(call: ToolCall) -> JudgedCall:
    return drawn.call(2)._replace(call=call)


def test_a_rewrite_starts_the_walk_anew_and_a_second_one_is_a_deny() -> None:
    rules = drawn.Fixed(LayerId.PERSISTED_RULES, (YES, YES))
    judged, standing = drive(drawn.call(1), (Rewriting(1), rules), Effect.ASK, _restamp)
    assert judged.call.arguments == {"path": "/w/other"}
    assert decide(judged, standing, "v").effect is Effect.ALLOW
    judged, standing = drive(drawn.call(1), (Rewriting(2), rules), Effect.ASK, _restamp)
    got = decide(judged, standing, "v")
    assert (got.effect, got.answer.code) == (Effect.DENY, Code.REWRITE_LOOP)


def test_nobody_answering_is_an_ask() -> None:
    assert drawn.decision([], 1).effect is Effect.ASK
    assert drawn.decision([drawn.Fixed(LayerId.PERSISTED_RULES, (None,))], 1).effect is Effect.ASK


def test_neither_an_effect_nor_a_decision_has_a_truth_value() -> None:
    with pytest.raises(TypeError):
        bool(drawn.decision([], 1))
    with pytest.raises(TypeError):
        bool(Effect.ALLOW)
