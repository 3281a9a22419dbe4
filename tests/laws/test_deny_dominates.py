"""Law: a deny by any layer on any effect makes the decision a deny, and nothing relaxes it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stanch.gate.context import EffectiveContext
from stanch.gate.relax import Bypass, relax
from stanch.values.call import Stamp
from stanch.values.context import RunContext
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId
from tests.laws import layers_drawn as drawn


def _stamp(path: str, base: str) -> Stamp:
    whole = path if path.startswith("/") else f"{base}/{path}".rstrip("/")
    return Stamp(path, whole, whole)


EVERYTHING = EffectiveContext(RunContext(allow_fs_writes=("/",), allow_fs_reads=("/",)), "/w", _stamp)


@given(drawn.stacks())
def test_a_deny_anywhere_is_a_deny(stack: tuple[list[drawn.Fixed], int]) -> None:
    layers, count = stack
    got = drawn.decision(layers, count)
    denied = any(
        a is not None and a.effect is Effect.DENY for layer in layers for a in layer.answers or () if layer.answers
    )
    assert (got.effect is Effect.DENY) == denied


@given(drawn.stacks())
def test_a_failed_layer_is_a_deny_where_the_deployment_says_so(stack: tuple[list[drawn.Fixed], int]) -> None:
    layers, count = stack
    if any(layer.answers is None for layer in layers):
        assert drawn.decision(layers, count, Effect.DENY).effect is Effect.DENY
        assert drawn.decision(layers, count).effect is not Effect.ALLOW


@given(st.lists(st.none() | drawn.answers(LayerId.PERSISTED_RULES), min_size=1, max_size=4))
def test_relaxing_never_changes_a_deny_or_a_mandated_ask(standing: list[Answer | None]) -> None:
    call = drawn.call(len(standing))
    relaxed = relax(call, standing, EVERYTHING, [Bypass(everything=True)], now=1.0)
    if any(answer is not None and answer.strength > 1 for answer in standing):
        assert list(relaxed) == standing
    else:
        assert all(a is None or a.effect is Effect.ALLOW for a in relaxed)


@given(st.lists(st.none() | drawn.answers(LayerId.PERSISTED_RULES), min_size=1, max_size=4))
def test_a_grant_relaxes_an_ask_and_nothing_else(standing: list[Answer | None]) -> None:
    nothing = EffectiveContext(RunContext(working_directory="/elsewhere"), "/w", _stamp)
    assert list(relax(drawn.call(len(standing)), standing, nothing)) == standing


def test_an_ended_bypass_answers_for_nothing() -> None:
    ask = Answer(Effect.ASK, Code.NO_MATCH, LayerId.PERSISTED_RULES)
    nothing = EffectiveContext(RunContext(working_directory="/elsewhere"), "/w", _stamp)
    call = drawn.call(1)
    assert relax(call, [ask], nothing, [Bypass(everything=True, until=5.0)], now=5.0)[0] is ask
    assert relax(call, [ask], nothing, [Bypass(everything=True, until=5.0)], now=4.9)[0] is not ask
    assert relax(call, [ask], nothing, [Bypass(server="gmail")], now=0.0)[0] is ask
