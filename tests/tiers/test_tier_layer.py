"""Does the layer of the trust tiers narrow, and never widen, whichever way a session comes by its models?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.app.loading import open_engine
from stanch.policy.layers import NO_OBJECTION
from stanch.policy.walk import answers_of
from stanch.tiers.answers import NO_ANSWERS, Answers, Given
from stanch.tiers.layer import Seeing, Seen, TierLayer
from stanch.values.call import CallEffect, EffectClass, JudgedCall, ToolCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId
from tests.laws import layers_drawn as drawn
from tests.tiers.drawn_tiers import CELLS, EFFECTS, GIVEN, WORDS, Cell, strengths, tier_of

ALL = 'otherwise = { read = "allow", write = "allow", execute = "allow", network = "allow" }\n'
HEAD = """version = 1
[[groups]]
id = "default"
rules = [{ tool = "*", action = "allow" }, { tool = "@read", action = "allow" }, { tool = "@write", action = "allow" },
  { tool = "@execute", action = "allow" }]
[models]
default_tier = "t"
[tiers.t]
label = "Team"
"""


@given(CELLS, st.sampled_from(WORDS), EFFECTS, GIVEN, drawn.stacks())
def test_adding_the_tiers_never_widens(
    cells: list[Cell],
    otherwise: str,
    effects: tuple[CallEffect, ...],
    answered: list[Given],
    stack: tuple[list[drawn.Fixed], int],
) -> None:
    layer = TierLayer([Seen("a/b", tier_of(cells, otherwise))], Answers(answered))
    said = layer.ask(JudgedCall(ToolCall("t", {}), effects))
    if said is not NO_OBJECTION:
        assert isinstance(said, list)
        assert list(answers_of(said, LayerId.TIER, len(effects), Effect.ASK)) == said
        for answer in said:
            assert answer is None or answer.effect is Effect.DENY or (answer.effect is Effect.ASK and answer.mandated)
    layers, count = stack
    others = [one for one in layers if one.id is not LayerId.TIER]
    words: tuple[Answer | None, ...] = (None,) if said is NO_OBJECTION else tuple(said)  # type: ignore[arg-type]
    tiers = drawn.Fixed(LayerId.TIER, (words * count)[:count], immediate=True)
    at = next((place for place, one in enumerate(others) if list(LayerId).index(one.id) > 3), len(others))
    more = [*others[:at], tiers, *others[at:]]
    assert drawn.rank(drawn.decision(more, count)) >= drawn.rank(drawn.decision(others, count))


@given(CELLS, CELLS, st.sampled_from(WORDS), EFFECTS)
def test_a_second_model_never_widens(
    cells: list[Cell], others: list[Cell], otherwise: str, effects: tuple[CallEffect, ...]
) -> None:
    call = JudgedCall(ToolCall("t", {}), effects)
    one, other = Seen("a/b", tier_of(cells)), Seen("c/d", tier_of(others, otherwise))
    alone = strengths(TierLayer([one], NO_ANSWERS), call), strengths(TierLayer([other], NO_ANSWERS), call)
    both = strengths(TierLayer([one, other], NO_ANSWERS), call)
    assert both == strengths(TierLayer([other, one], NO_ANSWERS), call)
    assert both == [max(pair) for pair in zip(*alone, strict=True)]


def test_an_execution_that_nobody_placed_is_a_question_where_the_tier_minds() -> None:
    call = JudgedCall(ToolCall("t", {}), (CallEffect(EffectClass.EXECUTE),))
    minding = TierLayer([Seen("a/b", tier_of([{"path": "/x", "execute": "deny"}]))], NO_ANSWERS)
    assert strengths(minding, call) == [2]
    easy = TierLayer([Seen("a/b", tier_of([{"path": "/x", "read": "deny"}]))], NO_ANSWERS)
    assert easy.ask(call) is NO_OBJECTION


def test_a_session_judges_by_the_tiers_of_the_newest_policy(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    os.symlink(tmp_path / "one", tmp_path / "link")
    (tmp_path / "stanch.toml").write_text(HEAD + ALL + '[[tiers.t.cells]]\npath = "link"\nread = "deny"\n')
    engine = open_engine(tmp_path / "stanch.toml")
    session = engine.session(model="a/b")
    assert session.check("read_file", {"path": "one/x"}).reason.code is Code.TIER_DENIES
    assert session.check("read_file", {"path": "two/x"}).effect is Effect.ALLOW
    os.unlink(tmp_path / "link")
    os.symlink(tmp_path / "two", tmp_path / "link")
    engine.refresh()
    assert session.check("read_file", {"path": "one/x"}).effect is Effect.ALLOW
    assert session.check("read_file", {"path": "two/x"}).reason.code is Code.TIER_DENIES


def test_a_directory_that_is_swapped_between_two_calls_is_judged_as_it_is(tmp_path: Path) -> None:
    cells = '[[tiers.t.cells]]\npath = "jail"\nexecute = "deny"\n'
    (tmp_path / "stanch.toml").write_text(HEAD + ALL + cells)
    (tmp_path / "jail").mkdir()
    (tmp_path / "work").mkdir()
    session = open_engine(tmp_path / "stanch.toml").session(model="a/b", cwd=str(tmp_path / "work"))
    assert session.check("execute_cmd", {"command": "ls"}).effect is Effect.ALLOW
    (tmp_path / "work").rmdir()
    os.symlink(tmp_path / "jail", tmp_path / "work")
    assert session.check("execute_cmd", {"command": "ls"}).reason.code is Code.TIER_DENIES


def test_the_directory_of_one_call_is_what_its_commands_are_held_against(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(HEAD + ALL + '[[tiers.t.cells]]\npath = "jail"\nexecute = "deny"\n')
    (tmp_path / "jail").mkdir()
    session = open_engine(tmp_path / "stanch.toml").session(model="a/b")
    assert session.check("execute_cmd", {"command": "ls"}).effect is Effect.ALLOW
    assert session.check("execute_cmd", {"command": "ls"}, cwd="jail").reason.code is Code.TIER_DENIES
    assert session.check("run_code", {"code": "1"}, cwd="jail").reason.code is Code.TIER_DENIES


@pytest.mark.parametrize("also", [(), ("x/y",)])
def test_mistakes_refuse_every_session_that_has_a_model(tmp_path: Path, also: tuple[str, ...]) -> None:
    (tmp_path / "stanch.toml").write_text(HEAD + ALL + "[models.assignments]\n'a/*' = 'nobody'\n")
    engine = open_engine(tmp_path / "stanch.toml")
    got = engine.session(model=None if also else "a/b", also=also).check("read_file", {"path": "x"})
    assert (got.effect, got.reason.code, got.reason.layer) == (Effect.DENY, Code.POLICY_INVALID, LayerId.TIER)
    assert engine.check("read_file", {"path": "x"}).effect is Effect.ALLOW


def test_the_layer_is_on_the_trace_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(HEAD + ALL)
    engine = open_engine(tmp_path / "stanch.toml")
    for model, asked in (("a/b", True), (None, False)):
        steps = engine.session(model=model).check("read_file", {"path": "x"}, trace=True).trace
        assert [(step.asked, step.answer) for step in steps if step.layer is LayerId.TIER] == [(asked, None)]


def test_a_model_without_a_name_is_in_the_default_tier(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(HEAD.replace('default_tier = "t"', "") + ALL)
    got = open_engine(tmp_path / "stanch.toml").check("read_file", {"path": "x"}, model="")
    assert got.reason.code is Code.TIER_ASKS


def test_seeing_nobody_is_no_layer() -> None:
    assert Seeing() == ((), NO_ANSWERS)
