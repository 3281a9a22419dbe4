"""What is sealed opens at its place, with its key, unchanged, or not at all."""

from __future__ import annotations

import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.secrets.sealing import Key, KeyRing, Place, Unopened
from stanch.secrets.text import Secret, opened

PLACE = Place("vault", "STRIPE_KEY", "value")
OLD, NEW = Key(os.urandom(32)), Key(os.urandom(32))


@given(st.text(min_size=1))
def test_what_was_sealed_opens(text: str) -> None:
    ring = KeyRing([OLD])
    sealed = ring.seal(Secret(text), PLACE)
    assert opened(ring.open(sealed, PLACE)) == text
    assert text not in sealed or len(text) < 8


@pytest.mark.parametrize(
    "place",
    [
        Place("vault", "STRIPE_KEY", "note"),
        Place("vault", "OTHER_KEY", "value"),
        Place("tables", "STRIPE_KEY", "value"),
        Place("vaultS", "TRIPE_KEY", "value"),
        Place("", "", ""),
    ],
)
def test_at_another_place_it_does_not_open(place: Place) -> None:
    ring = KeyRing([OLD])
    sealed = ring.seal(Secret("marker"), PLACE)
    with pytest.raises(Unopened) as raised:
        ring.open(sealed, place)
    assert not raised.value.key_gone
    assert "marker" not in str(raised.value)


def test_every_changed_letter_is_found() -> None:
    ring = KeyRing([OLD])
    sealed = ring.seal(Secret("marker of some length"), PLACE)
    for at in range(len(sealed)):
        other = "A" if sealed[at] != "A" else "B"
        changed = sealed[:at] + other + sealed[at + 1 :]
        if changed.rstrip("=")[:-1] == sealed.rstrip("=")[:-1]:
            continue  # the last letter of base64 holds bits that mean nothing
        with pytest.raises(Unopened):
            ring.open(changed, PLACE)
    for cut in range(len(sealed)):
        with pytest.raises(Unopened):
            ring.open(sealed[:cut], PLACE)


def test_a_key_that_is_gone_is_told_from_a_text_that_was_changed() -> None:
    sealed = KeyRing([OLD]).seal(Secret("marker"), PLACE)
    with pytest.raises(Unopened) as gone:
        KeyRing([NEW]).open(sealed, PLACE)
    assert gone.value.key_gone


def test_the_first_key_seals_and_the_others_still_open() -> None:
    before = KeyRing([OLD])
    sealed = before.seal(Secret("marker"), PLACE)
    after = KeyRing([NEW, OLD])
    assert not after.is_current(sealed)
    again = after.seal(after.open(sealed, PLACE), PLACE)
    assert after.is_current(again)
    assert opened(KeyRing([NEW]).open(again, PLACE)) == "marker"


def test_two_seals_of_one_text_are_two_texts() -> None:
    ring = KeyRing([OLD])
    assert ring.seal(Secret("marker"), PLACE) != ring.seal(Secret("marker"), PLACE)


def test_a_key_shows_and_gives_nothing() -> None:
    material = b"k" * 32
    key = Key(material)
    assert "kkk" not in repr(key)
    assert material.hex() not in repr(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(ValueError, match="32 bytes") as raised:
        Key(b"short-marker")
    assert "marker" not in str(raised.value)
