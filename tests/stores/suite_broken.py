"""Rows that nobody can read, and databases that do not answer, are never taken for rows that are not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from stanch.storage.store import Store
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.fault import BadInput, BrokenRow, Conflict, NotFound, StoreUnreadable
from stanch.values.identity import PrincipalKind
from stanch.values.records import Broken, Page, RuleFields
from tests.stores.opened import OnAStore
from tests.stores.places import BY, PERSON, Place, new_session

CONTEXTS = [
    "",
    "{",
    "[]",
    "null",
    '"default"',
    '{"security_group": 5}',
    '{"security_group": ""}',
    '{"allow_fs_write": ["data"]}',
    '{"allow_fs_writes": "data"}',
    '{"allow_fs_writes": [null]}',
    '{"security_group": "a", "security_group": null}',
    '{"working_directory": NaN}',
    '{"system_prompt": ["\\ud800"]}',
]
# Details that JSON can say, and that no answer could repeat.
UNREPEATABLE = ['{"a": "\\ud800"}', '{"\\udfff": 1}', '{"a": [1e999]}', '{"a": ' + "[" * 900 + "]" * 900 + "}"]
# Table, column, what a hand has written there, and what the reader says of it.
WRONG = [
    ("rules", "action", "'permit'", "'action' is none of allow, ask, deny"),
    ("rules", "action", "'require'", "'action'"),
    ("rules", "action", "'DENY'", "'action'"),
    ("rules", "source", "'fax'", "'source' is none of web"),
    ("rules", "mandatory", "7", "'mandatory' must be 0 or 1"),
    ("rules", "tool_pattern", "''", "'tool_pattern' is empty"),
    ("rules", "path_pattern", "''", "'path_pattern' is empty"),
    ("sessions", "source", "''", "'source' is empty"),
    ("sessions", "principal_kind", "'root'", "'principal_kind' is none of user"),
    ("sessions", "context_given", "2", "'context_given'"),
    ("sessions", "created_at", "'yesterday'", "'created_at' is no moment"),
    ("sessions", "created_at", "'2026-01-01T00:00:00+00:00'", "'created_at' is no moment"),
    ("projects", "grant_tree", "-1", "'grant_tree'"),
    ("projects", "created_at", "''", "'created_at' is empty"),
    ("scheduled_jobs", "enabled", "3", "'enabled'"),
    ("scheduled_jobs", "cron", "''", "'cron' is empty"),
    ("tokens", "principal_kind", "'admin'", "'principal_kind'"),
    *((table, "run_context", f"'{text}'", "run_context") for table in ("sessions", "tickets") for text in CONTEXTS),
    ("projects", "run_context", "'{'", "'run_context' is no JSON"),
    ("scheduled_jobs", "run_context", "'{}}'", "'run_context' is no JSON"),
]


class BrokenRows(OnAStore):
    @pytest.fixture
    def filled(self, store: Store) -> dict[str, tuple[Any, Callable[[], Any], Callable[[], Page[Any]]]]:
        """A row of each table: its id, how it is read alone, and how it is listed."""
        rule = store.create_rule(RuleFields(tool_pattern="x", action=Effect.DENY, priority=-5), by=BY)
        project = store.create_project(name="p", by=BY)
        ticket = store.create_ticket(project.id, title="t", by=BY)
        job = store.create_job(name="j", cron="* * * * *", prompt="p", agent_id="a", by=BY)
        session = new_session(store)
        token = store.create_token(name="t", principal=PERSON, by=BY)
        return {
            "rules": (rule.id, lambda: store.get_rule(rule.id), store.list_rules),
            "sessions": (session.id, lambda: store.get_session(session.id), store.list_sessions),
            "projects": (project.id, lambda: store.get_project(project.id), store.list_projects),
            "tickets": (
                ticket.id,
                lambda: store.get_ticket(project.id, ticket.id),
                lambda: store.list_tickets(project.id),
            ),
            "scheduled_jobs": (job.id, lambda: store.get_job(job.id), store.list_jobs),
            "tokens": (token.record.id, lambda: store.find_token(token.secret), store.list_tokens),
        }

    @pytest.mark.parametrize(("table", "column", "value", "problem"), WRONG)
    def test_a_row_that_cannot_be_read_is_named(
        self, filled: dict[str, Any], place: Place, table: str, column: str, value: str, problem: str
    ) -> None:
        key, read, listing = filled[table]
        total = listing().total
        place.rows(f"UPDATE {table} SET {column} = {value} WHERE id = '{key}'")
        with pytest.raises(BrokenRow) as caught:
            read()
        assert (caught.value.table, caught.value.id) == (table, str(key))
        assert problem in caught.value.problem
        page = listing()
        assert page.total == total
        assert [one.id for one in page.items if isinstance(one, Broken)] == [str(key)]

    def test_a_broken_rule_breaks_its_group_until_it_is_mended(
        self, store: Store, filled: dict[str, Any], place: Place
    ) -> None:
        rule_id = filled["rules"][0]
        place.rows(f"UPDATE rules SET action = 'permit' WHERE id = {rule_id}")
        expected = Broken("rules", str(rule_id), "'action' is none of allow, ask, deny")
        assert store.rules("default") == expected
        assert store.policy().groups[0].rules == expected
        with pytest.raises(BrokenRow):
            store.duplicate_group("default", new_id="copy", new_name="", by=BY)
        with pytest.raises(NotFound):
            store.get_group("copy")
        fields = RuleFields(tool_pattern="x", action=Effect.DENY)
        with pytest.raises(Conflict):
            store.update_rule(rule_id, fields, by=BY, expected=store.create_rule(fields, by=BY))
        mended = store.update_rule(rule_id, fields, by=BY)
        assert store.get_rule(rule_id) == mended
        assert not isinstance(store.rules("default"), Broken)

    def test_a_broken_rule_can_be_deleted(self, store: Store, filled: dict[str, Any], place: Place) -> None:
        place.rows(f"UPDATE rules SET mandatory = 9 WHERE id = {filled['rules'][0]}")
        store.delete_rule(filled["rules"][0], by=BY)
        assert not isinstance(store.rules("default"), Broken)

    def test_a_broken_context_is_mended_by_a_new_one(self, store: Store, filled: dict[str, Any], place: Place) -> None:
        session_id = filled["sessions"][0]
        place.rows(f"UPDATE sessions SET run_context = '[' WHERE id = '{session_id}'")
        with pytest.raises(BrokenRow):
            store.set_model(session_id, "m", by=BY)
        assert store.set_run_context(session_id, RunContext("g"), by=BY) == store.get_session(session_id)

    def test_a_broken_audit_row_is_listed_as_such(self, store: Store, place: Place) -> None:
        place.rows("UPDATE audit SET detail = '[]' WHERE seq = 1")
        assert store.list_audit().items[0] == Broken("audit", "1", "'detail' is no JSON object")
        for detail in UNREPEATABLE:
            place.rows(f"UPDATE audit SET detail = '{detail}' WHERE seq = 1")
            first, *others = store.list_audit().items
            assert isinstance(first, Broken), detail
            assert "'detail' is no JSON" in first.problem
            assert not any(isinstance(one, Broken) for one in others)

    def test_no_audit_row_is_written_that_could_not_be_read(self, store: Store) -> None:
        before = store.list_audit().total
        for detail in UNREPEATABLE:
            with pytest.raises(BadInput, match="detail"):
                store.append_audit(action="a", subject="s", detail=json.loads(detail), by=BY)
        assert store.list_audit().total == before
        made = store.append_audit(action="a", subject="s", detail={"a": [{"b": [None, 1.5, "a\0b"]}]}, by=BY)
        assert store.list_audit(action="a").items == (made,)

    def test_known_rows_are_still_read_with_every_kind_of_principal(self, store: Store, place: Place) -> None:
        session = new_session(store)
        for kind in PrincipalKind:
            place.rows(f"UPDATE sessions SET principal_kind = '{kind.value}'")
            assert store.get_session(session.id).principal.kind is kind

    @pytest.mark.parametrize("table", ["rules", "sessions", "projects", "scheduled_jobs", "tokens", "audit"])
    def test_a_table_that_is_gone_is_not_an_empty_one(
        self, store: Store, filled: dict[str, Any], place: Place, table: str
    ) -> None:
        place.rows(f"ALTER TABLE {table} RENAME TO gone")
        listing = store.list_audit if table == "audit" else filled[table][2]
        with pytest.raises(StoreUnreadable, match=r"a table (or a column )?is missing") as caught:
            listing()
        assert "SELECT" not in str(caught.value)
        if table == "rules":
            with pytest.raises(StoreUnreadable):
                store.policy()

    @pytest.mark.parametrize("damage", ["DELETE FROM store_state", "UPDATE store_state SET id = 2"])
    def test_a_store_without_its_state_says_so(self, store: Store, place: Place, damage: str) -> None:
        place.rows(damage)
        assert not store.ready().ready
        for ask in (store.revision, store.policy, store.verify_audit, lambda: store.create_group("g", name="", by=BY)):
            with pytest.raises(StoreUnreadable, match="state"):
                ask()

    def test_a_closed_store_answers_nothing(self, store: Store) -> None:
        store.close()
        store.close()
        assert store.ready().problem.endswith("it was closed")
        for ask in (
            store.revision,
            store.migrate,
            store.list_groups,
            lambda: store.watch(print),
            lambda: new_session(store),
        ):
            with pytest.raises(StoreUnreadable, match="closed"):
                ask()
