"""The vault in the console: names, notes and dates; a value goes in by a form and is in no page, ever."""

from __future__ import annotations

import pytest

from stanch.secrets.text import opened
from tests.console.visitors import Visitor
from tests.http.served import KEY, World

VALUE = "marker-of-the-value-4711"


def known(world: World) -> list[tuple[str, str, bool]]:
    """Every value that the vault has."""
    return [(one.name, opened(one.value), one.current) for one in world.service.vault.entries()]


def test_a_secret_is_set_and_revoked(world: World, visitor: Visitor) -> None:
    assert "There is none." in visitor.get("/console/vault")
    visitor.send("/console/vault/set", 303, name="STRIPE_KEY", value=VALUE, note="of the <b>shop</b>", owner="ada")
    visitor.send(
        "/console/vault/set", 303, name="STRIPE_KEY", value=f"{VALUE}\r\n2", scope="user", owner="ada", note=""
    )
    text = visitor.get("/console/vault")
    assert "STRIPE_KEY" in text
    assert "marker" not in text
    assert known(world) == [("STRIPE_KEY", VALUE, False), ("STRIPE_KEY", f"{VALUE}\n2", True)]
    visitor.send("/console/vault/revoke", 303, name="STRIPE_KEY")
    assert "revoked" in visitor.get("/console/vault")
    assert "was revoked before" in visitor.send("/console/vault/revoke", 409, name="STRIPE_KEY")
    assert "marker" not in visitor.get("/console/audit")


def test_a_note_is_no_markup(world: World, visitor: Visitor) -> None:
    visitor.send("/console/vault/set", 303, name="A", value=VALUE, note="<script>alert(1)</script>")
    assert "<script>alert" not in visitor.get("/console/vault")


@pytest.mark.parametrize(
    ("name", "value", "note", "problem"),
    [
        ("marker of it", VALUE, "", "must begin with a letter"),
        ("A", "", "", "There is no value."),
        ("A", "     ", "", "holds nothing but space"),
        ("A", VALUE, f"it is {VALUE}", "holds the value"),
        ("A", VALUE * 4_000, "", "is longer than"),
    ],
)
def test_what_is_refused_is_in_no_page(
    world: World, visitor: Visitor, name: str, value: str, note: str, problem: str
) -> None:
    text = visitor.send("/console/vault/set", 422, name=name, value=value, note=note)
    assert problem in text
    assert "marker" not in text
    assert known(world) == []


def test_a_short_value_is_warned_of(world: World, visitor: Visitor) -> None:
    assert "fewer than 8 characters" in visitor.send("/console/vault/set", 200, name="PIN", value="1234")
    assert known(world) == [("PIN", "1234", True)]


def test_the_field_of_a_value_shows_and_remembers_nothing(visitor: Visitor) -> None:
    field = visitor.get("/console/vault").partition('name="value"')[2].partition(">")[0]
    assert 'type="password"' in field
    assert 'autocomplete="off"' in field
    assert " value=" not in field


def test_a_revoked_secret_is_forgotten_once_its_name_is_typed(world: World, visitor: Visitor) -> None:
    visitor.send("/console/vault/set", 303, name="WORD", value="completely")
    assert "is in use" in visitor.send("/console/vault/forget", 409, name="WORD", confirm="WORD")
    visitor.send("/console/vault/revoke", 303, name="WORD")
    assert "to have 1 value looked for no more" in visitor.get("/console/vault")
    assert "type the name once more" in visitor.send("/console/vault/forget", 422, name="WORD", confirm="word")
    with Visitor(world, KEY) as machine:
        machine.send("/console/vault/forget", 403, name="WORD", confirm="WORD")
    assert known(world) == [("WORD", "completely", False)]
    visitor.send("/console/vault/forget", 303, name="WORD", confirm=" WORD ")
    assert known(world) == []
    assert "There is none." in visitor.get("/console/vault")
    visitor.send("/console/vault/forget", 404, name="WORD", confirm="WORD")


def test_a_vault_that_cannot_be_opened_is_told_of(world: World, visitor: Visitor) -> None:
    visitor.send("/console/vault/set", 303, name="A", value=VALUE)
    world.rows("UPDATE vault_values SET sealed = 's1.000000000000.AAAA'")
    text = visitor.get("/console/vault")
    assert "nothing is sent to any model" in text
    assert "its key is gone" in text
    assert "stanch vault forget --unreadable" in text
