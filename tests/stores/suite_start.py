"""From nothing to this version's schema, once; what people changed stays changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

import stanch.storage.content_store  # noqa: F401 - its tables are part of the schema
from stanch.policy.seeds import ROWS
from stanch.storage.engine import engine_for, url_of
from stanch.storage.migrating import VERSIONS
from stanch.storage.schema import METADATA
from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable
from stanch.values.records import Broken
from tests.stores.opened import OnAStore
from tests.stores.places import BY, Place, together


def _in_the_schema(name: str | None, kind: str, _: object) -> bool:
    """False for the tables in which words are looked up: they are another kind of table in each database."""
    return kind != "table" or not (name or "").startswith("knowledge_words")


class Starting(OnAStore):
    def test_a_new_store_has_the_seeded_rules(self, store: Store) -> None:
        assert [group.id for group in store.policy().groups] == ["default"]
        rules = store.rules("default")
        assert not isinstance(rules, Broken)
        kept = [(r.priority, r.tool_pattern, r.action, r.path_pattern, r.note, r.mandatory) for r in rules]
        seeds = [(s.priority, s.tool, s.action, s.path, s.note, s.mandatory) for s in ROWS]
        assert kept == sorted(seeds, key=lambda seed: seed[0])

    def test_migrating_again_changes_nothing(self, store: Store, place: Place) -> None:
        before = place.dump()
        store.migrate()
        again = Store.open(place.url)
        again.migrate()
        assert again.ready().ready
        again.close()
        assert place.dump() == before

    def test_what_people_changed_is_never_brought_back(self, store: Store, place: Place) -> None:
        rules = store.rules("default")
        assert not isinstance(rules, Broken)
        store.update_rule(rules[0].id, replace(rules[0], priority=77), by=BY)
        for rule in rules[1:]:
            store.delete_rule(rule.id, by=BY)
        store.update_group("default", name="Ours", description="", by=BY)
        before = place.dump()
        store.close()
        again = Store.open(place.url)
        again.migrate()
        again.close()
        assert place.dump() == before

    def test_many_nodes_start_at_once(self, place: Place) -> None:
        nodes = [Store.open(place.url) for _ in range(4)]
        assert together(*(node.migrate for node in nodes)) == [None] * 4
        assert nodes[0].policy_revision() == nodes[3].revision() == 2
        assert nodes[1].list_rules(limit=500).total == len(ROWS)
        assert nodes[2].verify_audit().intact == 2
        for node in nodes:
            node.close()

    def test_the_migrations_lead_to_the_schema(self, store: Store, place: Place) -> None:
        engine = engine_for(url_of(place.url))
        with engine.connect() as connection:
            options = {"version_table": VERSIONS, "compare_type": True, "include_name": _in_the_schema}
            context = MigrationContext.configure(connection, opts=options)
            assert compare_metadata(context, METADATA) == []
        engine.dispose()

    def test_a_start_that_fails_leaves_nothing(self, place: Place, store: Store) -> None:
        place.rows("UPDATE store_state SET seeded_at = NULL")
        place.rows("DELETE FROM rules")
        place.rows("DELETE FROM permission_groups")
        place.refuse("rules", "INSERT", "NEW.tool_pattern = 'run_code'")
        before = place.dump()
        assert "no first group" in store.ready().problem
        with pytest.raises(StoreUnreadable):
            store.migrate()
        assert place.dump() == before

    def test_a_migration_that_fails_leaves_nothing(self, place: Place) -> None:
        store = Store.open(place.url)
        place.rows("CREATE TABLE audit (x INTEGER)")
        for _ in range(2):
            with pytest.raises(StoreUnreadable):
                store.migrate()
            assert "no tables yet" in store.ready().problem
        place.rows("DROP TABLE audit")
        store.migrate()
        assert store.ready().ready
        store.close()

    def test_a_store_before_its_migration_says_what_to_do(self, place: Place) -> None:
        store = Store.open(place.url)
        assert not store.ready().ready
        assert "migrate" in store.ready().problem
        with pytest.raises(StoreUnreadable):
            store.policy()
        store.close()

    def test_a_store_of_a_newer_version_is_left_alone(self, store: Store, place: Place) -> None:
        place.rows(f"UPDATE {VERSIONS} SET version_num = '9999'")
        before = place.dump()
        assert "newer" in store.ready().problem
        with pytest.raises(StoreUnreadable, match="newer"):
            store.migrate()
        assert place.dump() == before

    def test_readiness_is_not_a_yes(self, store: Store) -> None:
        with pytest.raises(TypeError, match="truth"):
            bool(store.ready())
