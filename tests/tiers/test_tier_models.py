"""Which tier is a model in, and is what depends on the order of writing refused?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.policy.building import build
from stanch.policy.document import Policy, parse
from stanch.policy.model_names import adding, assigned, fits, ties
from stanch.tiers.tier import Tiers, TiersBroken

TIERS = st.sampled_from(["trusted", "limited", "untrusted"])
PIECES = st.text(st.sampled_from("ab*/"), max_size=5)
ASSIGNMENTS = st.dictionaries(PIECES, TIERS, max_size=6)
MODELS = st.text(st.sampled_from("ab/"), max_size=5)


def policy_of(text: str) -> Policy:
    return build(parse("version = 1\n" + text, "stanch.toml"), workspace="/w", home="/home")


@given(ASSIGNMENTS, MODELS, st.randoms(use_true_random=False))
def test_without_ties_the_order_of_writing_never_counts(assignments: dict[str, str], model: str, random: Any) -> None:
    items = list(assignments.items())
    random.shuffle(items)
    one, other = assigned(model, assignments), assigned(model, dict(items))
    assert one == other
    if not list(ties(assignments)) and one is not None:
        fitting = [pattern for pattern in assignments if fits(pattern, model)]
        exact = [pattern for pattern in fitting if "*" not in pattern]
        longest = max(len(pattern.split("*")[0]) for pattern in fitting)
        best = exact or [pattern for pattern in fitting if len(pattern.split("*")[0]) == longest]
        assert {assignments[pattern] for pattern in best} == {assignments[one]}


@given(ASSIGNMENTS, MODELS)
def test_a_tie_that_some_model_shows_is_found(assignments: dict[str, str], model: str) -> None:
    fitting = [pattern for pattern in assignments if fits(pattern, model) and "*" in pattern]
    if fitting:
        longest = max(len(pattern.split("*")[0]) for pattern in fitting)
        best = {assignments[pattern] for pattern in fitting if len(pattern.split("*")[0]) == longest}
        assert len(best) == 1 or list(ties(assignments))


@given(ASSIGNMENTS, ASSIGNMENTS)
def test_what_is_added_never_ties_with_what_is_written(further: dict[str, str], written: dict[str, str]) -> None:
    both = adding(dict.fromkeys(further, "trusted"), written)
    assert {key: both[key] for key in written} == written
    assert set(map(frozenset, ties(both))) == set(map(frozenset, ties(written)))


@pytest.mark.parametrize(
    ("pattern", "model"),
    [
        ("a/*", "a/b/c"),
        ("*/b", "a/b"),
        ("a/*b*", "a/xby"),
        ("a*", "a"),
        ("a*", "abc"),
        ("a/b", "a/b"),
        ("a/*", "a/"),
    ],
)
def test_a_pattern_fits(pattern: str, model: str) -> None:
    assert fits(pattern, model)


@pytest.mark.parametrize(
    ("pattern", "model"),
    [
        ("a/*", "a"),
        ("a*", "a/b"),
        ("*", "a/b"),
        ("*/b", "a/c/b"),
        ("a/b", "a/bc"),
        ("a/b", "A/b"),
        ("a.b/*", "axb/c"),
        ("a/?", "a/b"),
        ("a/[b]", "a/b"),
    ],
)
def test_a_pattern_does_not_fit(pattern: str, model: str) -> None:
    assert not fits(pattern, model)


def test_every_tier_that_ships_is_there() -> None:
    policy = policy_of("")
    assert list(policy.tiers) == ["trusted", "limited", "untrusted", "unassigned"]
    assert all(tier.shipped for tier in policy.tiers.values())
    assert Tiers(policy).of("any/model").id == "unassigned"


def test_a_broken_tier_is_not_replaced_by_the_one_that_ships() -> None:
    policy = policy_of('[tiers.limited]\nlabel = "L"\n')
    assert "limited" not in policy.tiers
    with pytest.raises(TiersBroken, match=r"stanch\.toml:2"):
        Tiers(policy).of("any/model")


def test_a_file_that_is_broken_as_a_whole_has_no_tiers_to_rely_on() -> None:
    for text in ("[nonsense]\n", "x = \n"):
        with pytest.raises(TiersBroken):
            Tiers(policy_of(text)).of("any/model")


def test_a_mistake_in_a_group_leaves_the_tiers_alone() -> None:
    policy = policy_of('[[groups]]\nid = "g"\n[[groups.rules]]\ntool = "x"\naction = "no"\n')
    assert policy.problems
    assert Tiers(policy).of("any/model").id == "unassigned"


def test_a_default_tier_that_is_not_there_is_a_fault_and_not_a_trusted_one() -> None:
    policy = policy_of('[models]\ndefault_tier = "gone"\n')
    with pytest.raises(TiersBroken):
        Tiers(policy).of("any/model")


def test_a_model_put_into_a_tier_that_is_gone_is_in_none() -> None:
    policy = replace(policy_of(""), assignments={"a/*": "gone"})
    assert Tiers(policy).of("b/c").id == "unassigned"
    with pytest.raises(TiersBroken, match="gone"):
        Tiers(policy).of("a/b")
