"""A registry takes an item whole or not at all, and what it refuses leaves it as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stanch.provenance.registry import Refused, Registry
from stanch.provenance.states import CLEAN, UNRECORDED, WORKSPACE, Cause, Entry, Exact, Provenance, Unknown
from stanch.secrets.text import Secret


def entry(number: int, text: str = "") -> Entry:
    return Entry(f"NAME{number}", WORKSPACE, Secret(text or f"value number {number}"))


def item(*numbers: int) -> Exact:
    return Exact(frozenset(map(entry, numbers)))


ITEMS: st.SearchStrategy[Provenance] = st.one_of(
    st.just(UNRECORDED),
    st.sampled_from(Cause).map(Unknown),
    st.frozensets(st.integers(0, 12), max_size=6).map(lambda numbers: item(*numbers)),
    st.just(Exact(frozenset({entry(99, "short")}))),
)


@given(st.lists(ITEMS, max_size=30), st.integers(0, 8), st.integers(0, 200))
def test_a_refused_item_changes_nothing_and_disables_nothing(
    items: list[Provenance], most_entries: int, most_bytes: int
) -> None:
    registry = Registry(most_entries=most_entries, most_bytes=most_bytes)
    for one in items:
        before = registry.entries
        refused = registry.admit(one)
        if refused is not None:
            assert registry.entries == before
        elif isinstance(one, Exact):
            assert set(registry.entries) == set(before) | set(one.entries)
        assert registry.latched is None
        assert registry.is_complete
        assert len(registry.entries) <= most_entries
        # Whatever was admitted once still is.
        assert registry.admit(Exact(frozenset(registry.entries))) is None
        assert registry.admit(CLEAN) is None


def test_an_item_that_fits_in_part_does_not_pass() -> None:
    registry = Registry(most_entries=2)
    assert registry.admit(item(1)) is None
    assert registry.admit(item(2, 3)) is Refused.FULL
    assert registry.admit(item(1, 2)) is None


def test_what_nobody_knows_does_not_pass_and_latches_only_where_that_was_asked_for() -> None:
    registry = Registry()
    assert registry.admit(Unknown(Cause.TAMPERED)) is Refused.UNKNOWN
    assert registry.is_complete
    assert registry.admit(Unknown(Cause.TAMPERED), taints=True) is None
    assert registry.latched is Cause.TAMPERED
    assert registry.admit(CLEAN) is Refused.LATCHED
    assert registry.export(()) == Unknown(Cause.TAMPERED)


def test_a_secret_too_short_to_be_found_passes_only_as_a_whole_cell() -> None:
    registry = Registry()
    short = Exact(frozenset({entry(1, "prod12")}))
    assert registry.admit(short) is Refused.TOO_SHORT
    assert registry.entries == ()
    assert registry.admit(short, cell=True) is None


def test_what_was_written_here_carries_what_occurs_in_it() -> None:
    registry = Registry()
    registry.activate(entry(1))
    registry.activate(entry(2))
    assert registry.export({"NAME1"}) == item(1)
    assert registry.export(()) == CLEAN
    assert registry.export((), [Unknown(Cause.TAMPERED)]) == Unknown(Cause.SOURCE_UNKNOWN)


def test_a_secret_that_did_not_fit_makes_what_is_written_later_unknown() -> None:
    registry = Registry(most_entries=1)
    assert registry.activate(entry(1)) is None
    assert registry.activate(entry(2)) is Refused.FULL
    assert not registry.is_complete
    assert registry.export(()) == Unknown(Cause.INCOMPLETE)
    assert registry.admit(item(1)) is None
