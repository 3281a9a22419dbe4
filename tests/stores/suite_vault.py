"""The vault's rows: every value stays, each belongs to its name, and none is skipped."""

from __future__ import annotations

import pytest

from stanch.storage.store import Store
from stanch.values.fault import BadInput, BrokenRow, Conflict, NotFound, StoreUnreadable
from stanch.values.records import Broken
from stanch.values.vault import SecretRecord, SecretScope
from tests.stores.opened import OnAStore
from tests.stores.places import BY, Place, all_of, together


def put(store: Store, name: str, number: int | None, *, note: str = "", owner: str | None = None) -> SecretRecord:
    """Sets a secret to a value of this number; None keeps the value that it has."""
    value = None if number is None else (f"{name}.{number}", f"s1.sealed-{number}")
    return store.set_vault_secret(name, scope=SecretScope.WORKSPACE, owner=owner, note=note, value=value, by=BY)


def values(store: Store) -> list[tuple[str, str, bool]]:
    """Every value: its name, its sealed text, and whether it is in use."""
    return [(one.name, one.sealed, one.ended_at is None) for one in store.vault_values()[1]]


class VaultKept(OnAStore):
    def test_a_replaced_value_stays(self, store: Store, other: Store) -> None:
        first = put(store, "STRIPE_KEY", 1, note="of the shop", owner="ada")
        assert (first.note, first.owner, first.revoked_at) == ("of the shop", "ada", None)
        revision = store.vault_revision()
        second = put(store, "STRIPE_KEY", 2)
        assert second.created_at == first.created_at
        assert second.changed_at > first.changed_at
        assert values(other) == [("STRIPE_KEY", "s1.sealed-1", False), ("STRIPE_KEY", "s1.sealed-2", True)]
        assert other.vault_revision() != revision

    def test_a_value_can_be_kept(self, store: Store) -> None:
        put(store, "A", 1)
        revision = store.vault_revision()
        assert put(store, "A", None, note="new").note == "new"
        assert (values(store), store.vault_revision()) == ([("A", "s1.sealed-1", True)], revision)
        with pytest.raises(NotFound):
            put(store, "B", None)
        store.revoke_vault_secret("A", by=BY)
        with pytest.raises(NotFound):
            put(store, "A", None)

    def test_a_revoked_secret_keeps_its_values(self, store: Store) -> None:
        put(store, "A", 1)
        put(store, "A", 2)
        revoked = store.revoke_vault_secret("A", by=BY)
        assert revoked.revoked_at is not None
        assert values(store) == [("A", "s1.sealed-1", False), ("A", "s1.sealed-2", False)]
        with pytest.raises(Conflict, match="was revoked before"):
            store.revoke_vault_secret("A", by=BY)
        assert put(store, "A", 3).revoked_at is None
        assert values(store)[2] == ("A", "s1.sealed-3", True)
        with pytest.raises(NotFound):
            store.revoke_vault_secret("B", by=BY)

    def test_names_are_listed_in_pages(self, store: Store) -> None:
        for number, name in enumerate(("b", "_a", "B", "A", "a1")):
            put(store, name, number)
        assert [one.name for one in all_of(store.list_vault_secrets)] == ["A", "B", "_a", "a1", "b"]
        assert store.vault_secret("_a").name == "_a"
        with pytest.raises(NotFound):
            store.vault_secret("c")

    def test_a_reseal_changes_what_is_still_there(self, store: Store, other: Store) -> None:
        put(store, "A", 1)
        put(store, "B", 2)
        fresh = {"A.1": ("s1.sealed-1", "s1.new-1"), "B.2": ("s1.something-else", "s1.new-2"), "C.3": ("", "s1.x")}
        assert store.reseal_vault_values(fresh, by=BY, detail={"key": "k"}) == 1
        assert [sealed for _, sealed, _ in values(other)] == ["s1.new-1", "s1.sealed-2"]

    def test_who_sets_at_once_leaves_one_value_in_use(self, store: Store, other: Store) -> None:
        nodes = (store, other, store, other)
        ended = together(*(lambda node=node, at=at: put(node, "A", at) for at, node in enumerate(nodes)))
        assert all(isinstance(one, SecretRecord) for one in ended), ended
        assert len(values(store)) == 4
        assert [current for *_, current in values(store)].count(True) == 1

    @pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A.B", "Ä", "A\n", "A" * 129, "A\0"])
    def test_what_is_no_name_is_not_stored(self, store: Store, name: str) -> None:
        with pytest.raises(BadInput):
            put(store, name, 1)
        assert store.vault_revision() == (0, None)

    def test_a_value_under_the_id_of_another_name_is_not_stored(self, store: Store) -> None:
        with pytest.raises(BadInput, match="is not the one that the value was sealed for"):
            store.set_vault_secret(
                "A", scope=SecretScope.WORKSPACE, owner=None, note="", value=("B.1", "s1.x"), by=BY
            )  # fmt: skip

    @pytest.mark.parametrize(
        ("statement", "problem"),
        [
            ("UPDATE vault_values SET name = 'B' WHERE id = 'A.1'", "is not the one that the value was sealed for"),
            ("UPDATE vault_values SET id = 'A' WHERE id = 'A.1'", "is not the one that the value was sealed for"),
            ("UPDATE vault_values SET sealed = '' WHERE id = 'A.1'", "'sealed' is empty"),
            ("UPDATE vault_values SET created_at = 'now' WHERE id = 'A.1'", "'created_at' is no moment"),
            ("UPDATE vault_secrets SET scope = 'all' WHERE name = 'A'", "'scope' is none of workspace, user"),
            ("DELETE FROM vault_values WHERE id = 'A.1'", "its value is gone"),
        ],
    )
    def test_a_row_that_was_changed_by_hand_stops_everything(
        self, store: Store, place: Place, statement: str, problem: str
    ) -> None:
        put(store, "A", 1)
        put(store, "B", 2)
        place.rows(statement)
        with pytest.raises(BrokenRow, match=problem) as raised:
            store.vault_values()
        assert "sealed-" not in str(raised.value)

    def test_a_secret_that_cannot_be_read_is_named_in_its_list(self, store: Store, place: Place) -> None:
        put(store, "A", 1)
        put(store, "B", 2)
        place.rows("UPDATE vault_secrets SET created_at = '' WHERE name = 'A'")
        assert [type(one) for one in store.list_vault_secrets().items] == [Broken, SecretRecord]
        with pytest.raises(BrokenRow):
            put(store, "A", 3)
        with pytest.raises(BrokenRow):
            store.vault_secret("A")

    def test_a_change_that_fails_leaves_nothing(self, store: Store, place: Place) -> None:
        put(store, "A", 1)
        place.refuse("vault_values", "INSERT", "NEW.id = 'A.2'")
        before = place.dump()
        with pytest.raises(StoreUnreadable) as raised:
            put(store, "A", 2)
        assert "sealed-" not in str(raised.value)
        assert place.dump() == before

    def test_a_revoked_secret_can_be_forgotten_with_every_value(self, store: Store, other: Store) -> None:
        for number, name in enumerate(("A", "A", "B")):
            put(store, name, number)
        assert store.count_vault_values(["A", "B", "C"]) == {"A": 2, "B": 1}
        with pytest.raises(Conflict, match="is in use"):
            store.forget_vault_secret("A", by=BY)
        assert len(values(store)) == 3
        store.revoke_vault_secret("A", by=BY)
        revision = store.vault_revision()
        assert store.forget_vault_secret("A", by=BY) == 2
        assert store.vault_revision() != revision
        assert values(other) == [("B", "s1.sealed-2", True)]
        for gone in (store.vault_secret, lambda name: store.forget_vault_secret(name, by=BY)):
            with pytest.raises(NotFound):
                gone("A")
        assert put(store, "A", 7).revoked_at is None, "the name is free again"

    def test_rows_that_stop_everything_can_be_forgotten(self, store: Store, place: Place) -> None:
        for number, name in enumerate(("A", "A", "B", "C", "D", "E")):
            put(store, name, number)
        place.rows("UPDATE vault_values SET sealed = '' WHERE id = 'A.1'")
        place.rows("UPDATE vault_secrets SET scope = 'all' WHERE name = 'B'")
        place.rows("DELETE FROM vault_values WHERE id = 'C.3'")
        if place.url.startswith("postgresql"):  # SQLite holds nobody to it who comes past the store
            place.rows("ALTER TABLE vault_values DROP CONSTRAINT vault_values_name_fkey")
        place.rows("DELETE FROM vault_secrets WHERE name = 'D'")
        secrets, rows = store.vault_rows()
        assert [one.id for one in (*secrets, *rows) if isinstance(one, Broken)] == ["B", "A.1"]
        before = place.dump()
        with pytest.raises(Conflict):
            store.forget_vault_rows(["B", "C"], ["A.1", "D.4", "X.1"], by=BY)
        assert place.dump() == before
        store.forget_vault_rows(["B", "C"], ["A.1", "D.4"], by=BY)
        assert values(store) == [("A", "s1.sealed-0", False), ("E", "s1.sealed-5", True)]
        assert [one.revoked_at is None for one in store.vault_values()[0]] == [False, True], "A has none in use now"

    def test_no_audit_row_holds_a_sealed_text_or_a_note(self, store: Store, place: Place) -> None:
        put(store, "A", 1, note="sealed-note")
        put(store, "A", 2)
        store.reseal_vault_values({"A.2": ("s1.sealed-2", "s1.sealed-3")}, by=BY, detail={})
        store.revoke_vault_secret("A", by=BY)
        assert "sealed-" not in repr(place.rows("SELECT * FROM audit"))
        assert "sealed-" not in repr(store.vault_values())
