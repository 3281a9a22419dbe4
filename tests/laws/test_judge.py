"""Laws of the judge: time only takes answers away, the strongest answer is told, and a batch is many questions.

Each is held against random stacks of layers. That it agrees with the gate is held in `test_judge_table` and
`test_judge_sessions`; what a real service does meanwhile is counted in `test_judge_quiet`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.judge.judge import ASKED, Heard, Judgment, Panel
from stanch.policy.layers import Layer
from stanch.values.call import CallEffect, EffectClass, JudgedCall, Stamp, ToolCall
from stanch.values.decision import Effect
from stanch.values.reason import Code
from stanch.values.verdict import Cause, Face, State, Verdict
from tests.laws import layers_drawn as drawn

STRENGTH = {State.NO_OBJECTION: 0, State.UNANSWERABLE: 1, State.MANDATED_ASK: 2, State.ASK: 2, State.DENY: 3}
SILENT = {State.UNANSWERABLE}


def call() -> JudgedCall:
    return JudgedCall(ToolCall("Read", {}), (CallEffect(EffectClass.READ, "", Stamp("/w/a", "/w/a", "/w/a")),))


def judged(layers: Sequence[Layer], face: Face, after: int = 99) -> tuple[Verdict, list[Heard]]:
    """The verdict of a judgment whose time is over after so many foreign layers, and what each layer said."""
    heard: list[Heard] = []
    asked: list[Any] = []
    run = Judgment(call(), Panel(face, layers), lambda: len(asked) >= after, heard.append)
    then = run.begin()
    while not isinstance(then, Verdict):
        asked.append(then)
        try:
            reply: Any = then.ask(call())
        except RuntimeError:
            from stanch.policy.walk import THREW

            reply = THREW
        then = run.go_on(reply)
    return then, heard


@given(drawn.stacks(), st.sampled_from(Face), st.integers(0, 8))
def test_time_that_is_over_only_takes_answers_away(
    stack: tuple[list[drawn.Fixed], int], face: Face, after: int
) -> None:
    layers = stack[0]
    whole, every = judged(layers, face)
    short, some = judged(layers, face, after)
    for before, now in zip(every, some, strict=False):
        assert now.layer is before.layer
        late = now.state is State.UNANSWERABLE and now.cause is Cause.TIMED_OUT
        assert late or (now.state, now.answer, now.cause) == (before.state, before.answer, before.cause)
    assert STRENGTH[short.state] <= max(STRENGTH[whole.state], 1)
    assert short.state is not State.NO_OBJECTION or whole.state is State.NO_OBJECTION
    if after == 0:
        assert (short.state, short.cause) == (State.UNANSWERABLE, Cause.TIMED_OUT)
    elif short.state in (State.DENY, State.NO_OBJECTION):
        assert short.state is whole.state


@given(drawn.stacks(), st.sampled_from(Face))
def test_the_verdict_is_the_strongest_that_any_layer_said_and_of_equals_the_first(
    stack: tuple[list[drawn.Fixed], int], face: Face
) -> None:
    got, heard = judged(stack[0], face)
    strongest = max(heard, key=lambda one: STRENGTH[one.state])
    assert got.state is strongest.state
    if got.state is not State.NO_OBJECTION:
        assert (got.layer, got.cause) == (strongest.layer, strongest.cause)


def _batch(random: Random, root: Any, count: int) -> None:
    from stanch.app.judging import Judge
    from stanch.judge.question import Probe
    from tests.judge.worlds import Says, session

    names = ["a", "b/c", "secrets/k", "memory/m", "link/x", "../out", "a\0", "~/h", ".git/hooks/x", "stanch.toml"]
    rules = "".join(
        f'[[groups.rules]]\ntool = "{random.choice(["@read", "@write", "Read", "write_file", "*"])}"\n'
        f'action = "{random.choice(["allow", "ask", "deny"])}"\npath = "{random.choice(["a", "b/**", "**"])}"\n'
        for _ in range(random.randrange(4))
    )
    made = [
        Says(layer, drawn.Fixed(layer, said).ask, random.random() < 0.5)
        for layer in ASKED
        if random.random() < 0.3 and layer.value != "persisted_rules"
        for said in [random.choice([None, (None,), *_answers(layer)])]
    ]
    asked = Judge([session(root, *made, rules=rules)])
    probes = [Probe(random.choice(list(Face)), "law", random.choice(names)) for _ in range(count)]
    assert asked.batch(probes) == [asked(one) for one in probes]


def _answers(layer: Any) -> list[Any]:
    from stanch.values.decision import Answer

    return [(Answer(effect, Code.RULE, layer),) for effect in Effect]


def test_a_batch_says_what_one_question_after_the_other_says(tmp_path: Any) -> None:
    os.symlink("b", tmp_path / "link")
    for seed in range(12):
        _batch(Random(seed), tmp_path, 25)


@pytest.mark.soak
def test_a_batch_says_what_one_question_after_the_other_says_many_times(tmp_path: Any) -> None:
    os.symlink("b", tmp_path / "link")
    for seed in range(200):
        _batch(Random(1000 + seed), tmp_path, 50)
