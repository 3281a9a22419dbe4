"""What is known of an item is never better than what was kept of it, whatever became of that since."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.provenance.seals import UNSEALED, Seals
from stanch.provenance.states import CLEAN, UNRECORDED, WORKSPACE, Cause, Entry, Exact, Provenance, Scope, Unknown
from stanch.secrets.sealing import Key, KeyRing, Place
from stanch.secrets.text import Secret

RING = KeyRing([Key(bytes(range(32)))])
OTHER = KeyRing([Key(os.urandom(32))])
PLACE = Place("items", "1", "provenance")
KEY = Entry("KEY", WORKSPACE, Secret("hunter2-but-long"))
ADAS = Entry("ADAS", Scope("ada"), Secret("swordfish-also-long"))
STATES: st.SearchStrategy[Provenance] = st.one_of(
    st.frozensets(st.sampled_from((KEY, ADAS)), max_size=2).map(Exact), st.sampled_from(Cause).map(Unknown)
)


def seals(ring: KeyRing | None = RING) -> Seals:
    return Seals(lambda: ring)


def kept_of(state: Provenance, version: str = "v") -> str:
    kept = seals().kept(state, PLACE, version)
    assert kept is not None
    return kept


@given(STATES, st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_letter_makes_it_unknown(state: Provenance, where: int, by: int) -> None:
    kept = kept_of(state)
    place = where % len(kept)
    changed = kept[:place] + chr((ord(kept[place]) ^ by) or 1) + kept[place + 1 :]
    found = seals().known(changed, PLACE, "v")
    # Letters of base64 that carry no bit of their own may differ; then it is what it was.
    assert isinstance(found, Unknown) or found == state


@given(STATES, st.integers(0, 10_000))
def test_a_part_of_it_is_unknown(state: Provenance, length: int) -> None:
    kept = kept_of(state)
    found = seals().known(kept[: length % len(kept)], PLACE, "v")
    assert isinstance(found, Unknown)


@given(STATES, st.text(max_size=40))
def test_another_version_is_unknown(state: Provenance, version: str) -> None:
    found = seals().known(kept_of(state), PLACE, version)
    assert found == (state if version == "v" else Unknown(Cause.VERSION_MISMATCH))


@given(STATES)
def test_what_belongs_elsewhere_is_unknown(state: Provenance) -> None:
    kept = kept_of(state)
    for place in (Place("items", "2", "provenance"), Place("items", "1", "other"), Place("others", "1", "provenance")):
        assert isinstance(seals().known(kept, place, "v"), Unknown)
    assert seals(OTHER).known(kept, PLACE, "v") == Unknown(Cause.KEY_GONE)
    assert seals(None).known(kept, PLACE, "v") == Unknown(Cause.KEY_GONE)


@given(STATES)
def test_without_a_key_nothing_is_known_later_either(state: Provenance) -> None:
    kept = seals(None).kept(state, PLACE, "v")
    assert kept == UNSEALED
    for ring in (RING, None):
        assert seals(ring).known(kept, PLACE, "v") == Unknown(Cause.KEY_GONE)


@pytest.mark.parametrize("junk", ["", "x", "s1.", "{}", "null", '{"form":1}', "\0", UNSEALED.upper()])
def test_junk_is_unknown(junk: str) -> None:
    assert isinstance(seals().known(junk, PLACE, "v"), Unknown)


def test_an_owner_sees_what_is_theirs_and_the_workspaces() -> None:
    def known(owner: str | None, *entries: Entry) -> Provenance:
        return seals().known(kept_of(Exact(frozenset(entries))), PLACE, "v", owner=owner)

    assert known("ada", KEY, ADAS) == known(None, KEY, ADAS) == Exact(frozenset({KEY, ADAS}))
    assert known("bram", KEY) == Exact(frozenset({KEY}))
    assert known("bram", ADAS) == Unknown(Cause.SCOPE_MISMATCH)
    assert known("bram") == CLEAN


@pytest.mark.parametrize("ring", [RING, None])
def test_what_nobody_recorded_is_nothing_that_is_kept(ring: KeyRing | None) -> None:
    assert seals(ring).kept(UNRECORDED, PLACE, "v") is None
    assert seals(ring).known(None, PLACE, "v") == UNRECORDED


def test_each_look_is_counted() -> None:
    looking = seals()
    looks: list[Callable[[], Provenance]] = [
        lambda: looking.known(None, PLACE, "v"),
        lambda: looking.known("junk", PLACE, "v"),
        lambda: looking.known(kept_of(CLEAN), PLACE, "v"),
    ]
    for count, look in enumerate(looks):
        assert looking.reads == count
        look()
    assert looking.reads == 3
