"""Does a person's answer reach as far as they meant, and no further?"""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from stanch.app.loading import open_engine
from stanch.tiers.answers import NO_ANSWERS, Answers, Given, from_approval
from stanch.tiers.layer import Seen, TierLayer
from stanch.tiers.tier import Tiers
from stanch.values.call import CallEffect, EffectClass, JudgedCall, Stamp, ToolCall
from stanch.values.decision import Effect
from stanch.values.reason import Code
from tests.tiers.drawn_tiers import CELLS, EFFECTS, GIVEN, PATHS, WORDS, Cell, strengths, tier_of

READ = EffectClass.READ


@given(CELLS, st.sampled_from(WORDS), EFFECTS, st.booleans())
def test_an_approval_answers_whatever_the_tier_asked_and_denies_nothing_away(
    cells: list[Cell], otherwise: str, effects: tuple[CallEffect, ...], folder: bool
) -> None:
    tier, call = tier_of(cells, otherwise), JudgedCall(ToolCall("t", {}), effects)
    plain = tuple(effect._replace(below=None) for effect in effects)
    call = call._replace(effects=plain)
    before = strengths(TierLayer([Seen("a/b", tier)], NO_ANSWERS), call)
    yes = Answers(from_approval(tier, plain, is_folder=lambda _: folder))
    after = strengths(TierLayer([Seen("a/b", tier)], yes), call)
    for effect, one, other in zip(plain, before, after, strict=True):
        denied = effect.found is not None and effect.cls is EffectClass.WRITE and one == 2
        assert other == (one if one == 3 or (denied and other == 2) else -1)
    no = Answers(from_approval(tier, plain, is_folder=lambda _: folder, send=False))
    refused = strengths(TierLayer([Seen("a/b", tier)], no), call)
    assert all(after >= before for before, after in zip(before, refused, strict=True))


@given(CELLS, EFFECTS, GIVEN)
def test_answers_of_one_tier_mean_nothing_to_another(
    cells: list[Cell], effects: tuple[CallEffect, ...], answered: list[Given]
) -> None:
    tier, call = tier_of(cells, "ask"), JudgedCall(ToolCall("t", {}), effects)
    foreign = Answers(one._replace(tier="other") for one in answered)
    assert TierLayer([Seen("a/b", tier)], foreign).ask(call) == TierLayer([Seen("a/b", tier)], NO_ANSWERS).ask(call)


@given(CELLS, PATHS, GIVEN)
def test_a_yes_reaches_the_directory_and_what_lies_directly_in_it(
    cells: list[Cell], path: str, answered: list[Given]
) -> None:
    tier = tier_of(cells, "ask")
    held = tier.says(READ, path)
    shallow = [one for one in answered if not one.below and one.send]
    if Answers(shallow).said("t", READ, path, held.depth):
        parent = path.rpartition("/")[0] or "/"
        assert any(one.cls is READ and one.path in (path, parent) for one in shallow)


def reading(path: str) -> tuple[CallEffect, ...]:
    return (CallEffect(READ, "path", Stamp(path, path, path)),)


def test_a_file_is_answered_for_by_its_directory() -> None:
    tier = tier_of([], "ask")
    assert from_approval(tier, reading("/w/src/a"), is_folder=lambda _: False) == (Given("t", READ, "/w/src", True),)
    assert from_approval(tier, reading("/w/src"), is_folder=lambda _: True) == (Given("t", READ, "/w/src", True),)
    assert from_approval(tier, reading("/a"), is_folder=lambda _: False) == (Given("t", READ, "/", True),)


def test_a_file_that_a_cell_speaks_of_is_answered_for_by_itself() -> None:
    tier = tier_of([{"path": "/**/.env*", "read": "ask"}, {"path": "/w/src", "read": "ask"}])
    for path, answered in (("/w/a/.env", "/w/a/.env"), ("/w/src/a", "/w/src")):
        assert from_approval(tier, reading(path), is_folder=lambda _: False) == (Given("t", READ, answered, True),)


def test_what_the_tier_allows_or_denies_leaves_no_answer() -> None:
    tier = tier_of([{"path": "/w/keys", "read": "deny"}])
    for path in ("/w/keys/a", "/w/src/a"):
        assert from_approval(tier, reading(path), is_folder=lambda _: False) == ()


def test_a_directory_that_nobody_knows_leaves_no_answer() -> None:
    tier = tier_of([], "ask")
    effects = (CallEffect(EffectClass.EXECUTE, places=(Stamp("/w", "/w", "/w"), Stamp(""))),)
    assert from_approval(tier, effects, is_folder=lambda _: True) == (Given("t", EffectClass.EXECUTE, "/w", True),)


def test_a_new_answer_takes_the_place_of_the_old_one() -> None:
    first = Answers([Given("t", READ, "/w", True)])
    second = first.adding([Given("t", READ, "/w", False)])
    assert (first.said("t", READ, "/w/a"), second.said("t", READ, "/w/a")) == (True, False)
    assert second.adding([Given("t", READ, "/w", True)]) == first
    assert len({first, second, Answers(first.given)}) == 2


def test_of_a_yes_and_a_no_that_were_stored_both_the_no_stands() -> None:
    both = Answers(Given("t", READ, f"/w/{at}", send) for at in range(20) for send in (True, False))
    assert [both.said("t", READ, f"/w/{at}/a") for at in range(20)] == [False] * 20


def test_one_question_for_each_directory_through_the_engine(tmp_path: Path) -> None:
    """SPEC: tiers/tiers.29."""
    (tmp_path / "stanch.toml").write_text("version = 1\n", "utf-8")
    for name in ("a.py", "b.py"):
        (tmp_path / "src").mkdir(exist_ok=True)
        (tmp_path / "src" / name).touch()
    engine = open_engine(tmp_path / "stanch.toml")
    asked = engine.session(model="a/b").check("read_file", {"path": "src/a.py"})
    assert (asked.reason.code, asked.mandated) == (Code.TIER_ASKS, True)
    tier = Tiers(engine.policy).of("a/b")
    answers = Answers(from_approval(tier, asked.call.effects, is_folder=os.path.isdir))
    session = engine.session(model="a/b", answers=answers)
    assert session.check("read_file", {"path": "src/b.py"}).effect is Effect.ALLOW
    assert session.check("read_file", {"path": "stanch.toml"}).reason.code is Code.TIER_ASKS
    command = session.check("execute_cmd", {"command": "cat src/a.py"})
    assert command.reason.code is Code.TIER_ASKS
    both = answers.adding(from_approval(tier, command.call.effects, is_folder=os.path.isdir))
    again = engine.session(model="a/b", answers=both).check("execute_cmd", {"command": "cat src/b.py"})
    assert again.reason.layer is not asked.reason.layer
