"""What is known of several sources together, in whatever order they come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stanch.provenance.states import (
    CLEAN,
    UNRECORDED,
    WORKSPACE,
    Cause,
    Entry,
    Exact,
    Provenance,
    Scope,
    Unknown,
    derived,
    merged,
)
from stanch.secrets.text import Secret

ENTRIES = st.builds(
    Entry,
    st.sampled_from(["A", "B", "C"]),
    st.sampled_from([WORKSPACE, Scope("ada"), Scope("bob")]),
    st.sampled_from(["value-one", "value-two"]).map(Secret),
)
KNOWN: st.SearchStrategy[Provenance] = st.one_of(
    st.just(UNRECORDED), st.frozensets(ENTRIES, max_size=4).map(Exact), st.sampled_from(Cause).map(Unknown)
)


@given(KNOWN, KNOWN, KNOWN)
def test_the_order_and_the_grouping_do_not_matter(a: Provenance, b: Provenance, c: Provenance) -> None:
    assert merged([merged([a, b]), c]) == merged([a, merged([b, c])]) == merged([c, b, a])


@given(st.lists(KNOWN))
def test_what_is_named_twice_counts_once(sources: list[Provenance]) -> None:
    assert merged([*sources, *sources]) == merged(sources)
    assert merged([merged(sources)]) == merged(sources)


@given(st.lists(KNOWN))
def test_nothing_that_is_known_is_lost(sources: list[Provenance]) -> None:
    found = merged(sources)
    if any(isinstance(one, Unknown) for one in sources):
        assert isinstance(found, Unknown)
        return
    every = {entry for one in sources if isinstance(one, Exact) for entry in one.entries}
    assert not every or (isinstance(found, Exact) and found.entries == every)


def test_only_nothing_but_unrecorded_sources_is_unrecorded() -> None:
    assert merged([]) == merged([UNRECORDED, UNRECORDED]) == UNRECORDED
    assert merged([UNRECORDED, CLEAN]) == CLEAN


def test_a_derived_value_carries_what_occurs_in_it() -> None:
    one, two = (Entry(name, WORKSPACE, Secret(f"value of {name}")) for name in ("A", "B"))
    assert derived([Exact(frozenset({one, two}))], {"A"}) == Exact(frozenset({one}))
    assert derived([Unknown(Cause.TAMPERED), Exact(frozenset({one}))], {"A"}) == Unknown(Cause.TAMPERED)


def test_equal_texts_under_one_name_are_one_entry_and_others_are_not() -> None:
    assert Entry("A", WORKSPACE, Secret("same")) == Entry("A", WORKSPACE, Secret("same"))
    assert Entry("A", WORKSPACE, Secret("same")) != Entry("A", WORKSPACE, Secret("other"))
    assert Entry("A", WORKSPACE, Secret("same")) != Entry("A", Scope("ada"), Secret("same"))
    assert "same" not in repr(Entry("A", WORKSPACE, Secret("same")))
