"""Provenance comes back as it was put away, or it is unknown for a stated cause: never clean by accident."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.provenance.envelope import MOST_BYTES, MOST_ENTRIES, sealed, unsealed
from stanch.provenance.states import CLEAN, UNRECORDED, WORKSPACE, Cause, Entry, Exact, Provenance, Scope, Unknown
from stanch.secrets.sealing import Key, KeyRing, Place
from stanch.secrets.text import Secret
from tests.provenance.test_states import KNOWN

RING, OTHER = KeyRing([Key(os.urandom(32))]), KeyRing([Key(os.urandom(32))])
PLACE = Place("files", "7", "provenance")


def entry(number: int = 0, scope: Scope = WORKSPACE, size: int = 20) -> Entry:
    return Entry(f"NAME{number}", scope, Secret(f"{number:09d}".ljust(size, "x")))


@given(KNOWN)
def test_it_comes_back_as_it_was(known: Provenance) -> None:
    kept = sealed(known, RING, PLACE, "v1")
    assert unsealed(kept, RING, PLACE, "v1") == known
    assert kept is None or "value-one" not in kept


def test_what_is_not_there_is_unrecorded_and_nothing_else_is() -> None:
    assert sealed(UNRECORDED, RING, PLACE, "v1") is None
    assert unsealed(None, RING, PLACE, "v1") == UNRECORDED


@pytest.mark.parametrize("known", [CLEAN, Exact(frozenset({entry()})), Unknown(Cause.INCOMPLETE)])
def test_another_version_place_or_key_is_unknown(known: Provenance) -> None:
    kept = sealed(known, RING, PLACE, "v1")
    assert unsealed(kept, RING, PLACE, "v2") == Unknown(Cause.VERSION_MISMATCH)
    assert unsealed(kept, RING, Place("files", "8", "provenance"), "v1") == Unknown(Cause.TAMPERED)
    assert unsealed(kept, OTHER, PLACE, "v1") == Unknown(Cause.KEY_GONE)


@pytest.mark.parametrize("known", [CLEAN, Exact(frozenset({entry()}))])
@given(at=st.integers(0, 10_000), cut=st.booleans())
def test_whatever_was_changed_in_it_is_never_clean(known: Provenance, at: int, cut: bool) -> None:
    kept = sealed(known, RING, PLACE, "v1")
    assert kept is not None
    place = at % (len(kept) - 4)
    changed = kept[:place] if cut else kept[:place] + ("A" if kept[place] != "A" else "B") + kept[place + 1 :]
    assert isinstance(unsealed(changed, RING, PLACE, "v1"), Unknown)


@pytest.mark.parametrize("written", ["", "{}", "s1", "s1..", "null", '{"entries": []}', "s1.%s.AAAA"])
def test_what_was_never_sealed_is_never_clean(written: str) -> None:
    assert isinstance(unsealed(written.replace("%s", RING.current), RING, PLACE, "v1"), Unknown)


@pytest.mark.parametrize(
    "body",
    [
        '{"form":2,"version":"v1","entries":[]}',
        '{"form":1,"version":"v1"}',
        '{"form":1,"version":"v1","entries":[["A"]]}',
        '{"form":1,"version":"v1","cause":"fine"}',
        "[]",
        "7",
        '{"form":1,"version":"v1","entries":[["A",null,""]]}',
    ],
)
def test_a_body_of_another_form_is_unknown(body: str) -> None:
    assert unsealed(RING.seal(Secret(body), PLACE), RING, PLACE, "v1") == Unknown(Cause.TAMPERED)


def test_an_entry_of_a_foreign_scope_makes_all_unknown() -> None:
    kept = sealed(Exact(frozenset({entry(0), entry(1, Scope("bob"))})), RING, PLACE, "v1")
    assert unsealed(kept, RING, PLACE, "v1", scopes={WORKSPACE, Scope("ada")}) == Unknown(Cause.SCOPE_MISMATCH)
    assert isinstance(unsealed(kept, RING, PLACE, "v1", scopes={WORKSPACE, Scope("bob")}), Exact)


def test_too_many_or_too_much_is_unknown_and_one_less_is_not() -> None:
    most = Exact(frozenset(entry(number, size=9) for number in range(MOST_ENTRIES)))
    assert unsealed(sealed(most, RING, PLACE, "v1"), RING, PLACE, "v1") == most
    more = Exact(most.entries | {entry(MOST_ENTRIES)})
    assert unsealed(sealed(more, RING, PLACE, "v1"), RING, PLACE, "v1") == Unknown(Cause.OVER_LIMIT)
    heavy = Exact(frozenset({entry(1, size=MOST_BYTES + 1)}))
    assert unsealed(sealed(heavy, RING, PLACE, "v1"), RING, PLACE, "v1") == Unknown(Cause.OVER_LIMIT)
