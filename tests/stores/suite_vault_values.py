"""The vault over a store: values open where they were sealed or stop everything, and nothing else ever holds one."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable

import pytest

from stanch.app.vault import Vault
from stanch.app.vault_fields import SHORT, SPACED
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret, opened
from stanch.storage.store import Store
from stanch.values.fault import BadFields, BadInput, BrokenRow, Conflict, Fault, NotFound
from stanch.values.vault import SecretScope
from tests.stores.opened import OnAStore
from tests.stores.places import BY, Place

OLD, NEW = Key(os.urandom(32)), Key(os.urandom(32))
VALUE, OTHER = "marker-of-the-value-4711", "marker-of-another-value-4712"
MARK = "marker-of"


def known(vault: Vault) -> list[tuple[str, str, bool]]:
    """Every value, by name, and whether it is in use."""
    return [(one.name, opened(one.value), one.current) for one in vault.entries()]


class VaultUsed(OnAStore):
    @pytest.fixture
    def vault(self, store: Store) -> Vault:
        """A vault with one key."""
        return Vault(store, KeyRing([OLD]))

    def test_every_value_that_was_ever_set_is_known(self, vault: Vault, other: Store) -> None:
        assert known(vault) == []
        vault.set("A", Secret(VALUE), by=BY)
        vault.set("A", Secret(OTHER), by=BY)
        vault.set("B", Secret("Ünïcode\n🔑 twice"), by=BY)
        vault.revoke("B", by=BY)
        assert known(Vault(other, KeyRing([OLD]))) == [
            ("A", VALUE, False), ("A", OTHER, True), ("B", "Ünïcode\n🔑 twice", False),
        ]  # fmt: skip

    def test_a_value_that_is_set_again_is_kept_once(self, vault: Vault) -> None:
        first = vault.set("A", Secret(VALUE), note="mine", by=BY).record
        again = vault.set("A", Secret(VALUE), by=BY).record
        assert again.note == "mine"
        assert again.changed_at > first.changed_at
        assert known(vault) == [("A", VALUE, True)]
        vault.revoke("A", by=BY)
        vault.set("A", Secret(VALUE), note="", by=BY)
        assert known(vault) == [("A", VALUE, False), ("A", VALUE, True)]

    def test_the_revision_moves_with_each_value(self, vault: Vault) -> None:
        heard: list[object] = []
        vault.on_change(lambda: heard.append(vault.revision()))
        before = vault.revision()
        vault.set("A", Secret(VALUE), by=BY)
        vault.set("A", Secret(OTHER), by=BY)
        vault.revoke("A", by=BY)
        assert len({before, *heard}) == 3

    def test_what_is_short_or_spaced_is_warned_of(self, vault: Vault) -> None:
        assert vault.set("A", Secret("1234567"), by=BY).warnings == (SHORT,)
        assert vault.set("A", Secret("12345678"), by=BY).warnings == ()
        assert vault.set("A", Secret("12345678\n"), by=BY).warnings == (SPACED,)
        assert vault.set("A", Secret("x" * 65_536), by=BY).warnings == ()

    @pytest.mark.parametrize(
        ("name", "value", "note", "owner", "scope", "field"),
        [
            ("1A", VALUE, None, None, SecretScope.WORKSPACE, "name"),
            ("A B", VALUE, None, None, SecretScope.WORKSPACE, "name"),
            (VALUE, VALUE, None, None, SecretScope.WORKSPACE, "name"),
            ("marker_of_it", "marker_of_it", None, None, SecretScope.WORKSPACE, "name"),
            ("A", "x" * 65_537, None, None, SecretScope.WORKSPACE, "value"),
            ("A", " \n\t         ", None, None, SecretScope.WORKSPACE, "value"),
            ("A", "marker-of\0it", None, None, SecretScope.WORKSPACE, "value"),
            ("A", "marker-of\ud800it", None, None, SecretScope.WORKSPACE, "value"),
            ("A", VALUE, f"it is {VALUE}", None, SecretScope.WORKSPACE, "note"),
            ("A", VALUE, "x" * 2_001, None, SecretScope.WORKSPACE, "note"),
            ("A", VALUE, None, f"{VALUE}@example.com", SecretScope.WORKSPACE, "owner"),
            ("A", VALUE, None, "", SecretScope.WORKSPACE, "owner"),
            ("A", VALUE, None, None, SecretScope.USER, "owner"),
        ],
    )
    def test_what_cannot_be_set_changes_nothing_and_is_not_repeated(
        self,
        vault: Vault,
        place: Place,
        name: str,
        value: str,
        note: str | None,
        owner: str | None,
        scope: SecretScope,
        field: str,
    ) -> None:
        before = place.dump()
        with pytest.raises(BadFields) as raised:
            vault.set(name, Secret(value), note=note, owner=owner, scope=scope, by=BY)
        assert [at for at, _ in raised.value.fields] == [field]
        said = "".join(traceback.format_exception(raised.value)).partition("values.fault")[2]
        assert MARK not in said
        assert "marker_of" not in said
        assert place.dump() == before

    def test_an_unknown_name_is_not_repeated(self, vault: Vault) -> None:
        doings: list[Callable[[], object]] = [lambda: vault.revoke(VALUE, by=BY), lambda: vault.get(VALUE)]
        doings.append(lambda: vault.get("a\0"))
        for ask in doings:
            with pytest.raises(NotFound, match="there is no secret of that name") as raised:
                ask()
            assert MARK not in repr(raised.value)
        vault.set("A", Secret(VALUE), by=BY)
        vault.revoke("A", by=BY)
        with pytest.raises(Conflict):
            vault.revoke("A", by=BY)

    @pytest.mark.parametrize(
        ("damage", "problem"),
        [
            ("UPDATE vault_values SET sealed = substr(sealed, 1, length(sealed) - 8)", "it is not what was sealed"),
            ("UPDATE vault_values SET sealed = 'plain'", "it is not what was sealed"),
            ("UPDATE vault_values SET sealed = 's1.000000000000.AAAA'", "its key is gone"),
            (
                "UPDATE vault_values SET sealed = (SELECT max(v.sealed) FROM vault_values v)",
                "it is not what was sealed",
            ),
            ("UPDATE vault_values SET name = 'B'", "is not the one that the value was sealed for"),
            (
                "INSERT INTO vault_values SELECT 'B' || substr(id, 2), 'B', sealed, created_at, ended_at"
                " FROM vault_values WHERE name = 'A'",
                "is not what was sealed",
            ),
            ("DELETE FROM vault_values WHERE name = 'A'", "its value is gone"),
        ],
    )
    def test_a_damaged_row_stops_everything(self, vault: Vault, place: Place, damage: str, problem: str) -> None:
        vault.set("A", Secret(VALUE), by=BY)
        vault.set("B", Secret(OTHER), by=BY)
        place.rows(damage)
        for ask in (vault.entries, lambda: vault.reseal(by=BY)):
            with pytest.raises(BrokenRow, match=problem) as raised:
                ask()
            assert MARK not in "".join(traceback.format_exception(raised.value))
        told = vault.problem()
        assert told is not None
        assert problem in told
        assert vault.names().total == 2, "their names are there all the same"

    def test_another_key_opens_nothing(self, vault: Vault, store: Store) -> None:
        vault.set("A", Secret(VALUE), by=BY)
        for ring, problem in ((KeyRing([NEW]), "its key is gone"), (None, "there is no key")):
            stranger = Vault(store, ring)
            with pytest.raises(BrokenRow, match=problem):
                stranger.entries()
            assert problem in str(stranger.problem())
        with pytest.raises(BadInput, match="there is no key to seal"):
            Vault(store, None).set("B", Secret(OTHER), by=BY)
        Vault(store, KeyRing([NEW])).set("A", Secret(OTHER), by=BY)
        assert vault.problem() is not None, "neither key opens all"
        assert known(Vault(store, KeyRing([NEW, OLD]))) == [("A", VALUE, False), ("A", OTHER, True)]

    def test_a_reseal_leaves_nothing_under_an_old_key(self, vault: Vault, store: Store) -> None:
        for number in range(3):
            vault.set("A", Secret(f"{VALUE}{number}"), by=BY)
        before, revision = known(vault), vault.revision()
        told: list[tuple[int, int]] = []
        both = Vault(store, KeyRing([NEW, OLD]))
        assert both.reseal(by=BY, progress=lambda done, of: told.append((done, of))) == 3
        assert told == [(3, 3)]
        assert both.reseal(by=BY) == 0
        assert known(Vault(store, KeyRing([NEW]))) == before
        assert both.revision() == revision, "nobody has to look again"
        with pytest.raises(BrokenRow, match="its key is gone"):
            vault.entries()

    def test_a_key_that_was_added_meanwhile_is_looked_for(self, vault: Vault, store: Store) -> None:
        vault.set("A", Secret(VALUE), by=BY)
        rings = [KeyRing([OLD])]
        late = Vault(store, rings[0], lambda: rings[-1])
        assert late.problem() is None
        rings.append(KeyRing([NEW, OLD]))
        Vault(store, rings[-1]).set("B", Secret(OTHER), by=BY)
        assert late.problem() is None
        assert late.key == NEW.id
        assert late.reseal(by=BY) == 1

    def test_nothing_but_an_entry_ever_holds_a_value(
        self, vault: Vault, store: Store, place: Place, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.DEBUG):
            vault.set("A", Secret(VALUE), note="n", owner="ada", by=BY)
            vault.set("A", Secret(OTHER), by=BY)
            Vault(store, KeyRing([NEW, OLD])).reseal(by=BY)
            said = [repr(vault.names()), repr(vault.get("A")), repr(store.vault_values()), repr(vault.problem())]
            said += [repr(Vault(store, KeyRing([NEW])).entries())]
            said += [repr(vault.revoke("A", by=BY)), repr(vars(vault))]
            doings: list[Callable[[], object]] = [vault.entries, lambda: vault.set("-", Secret(VALUE), by=BY)]
            for doing in doings:
                with pytest.raises(Fault) as raised:
                    doing()
                said.append(repr(raised.value) + repr(vars(raised.value)))
        assert MARK not in "".join(said)
        assert MARK not in caplog.text
        assert MARK not in repr(place.dump())
