"""A change happens whole, once, with its audit row, or not at all."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from stanch.storage.store import Store
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.fault import BadInput, Conflict, Fault, StoreUnreadable
from stanch.values.message import Message, Role, Text
from stanch.values.records import Actor, AuditRecord, Broken, RuleFields
from stanch.values.turn import JobRunState, TurnProblem, TurnState
from stanch.values.vault import SecretScope
from tests.stores.opened import OnAStore
from tests.stores.places import BY, PERSON, Place, all_of, new_session, together

RULE = RuleFields(tool_pattern="read_file", action=Effect.ALLOW)
CANARY = "tok_5cz81qkd"
DUE = datetime(2026, 5, 4, 9, tzinfo=UTC)


def changes(store: Store) -> dict[str, Callable[[Actor], Any]]:
    """Every way to change a store, each ready to be done once, with names that hold the canary where any may."""
    rule = store.create_rule(RULE, by=BY)
    project = store.create_project(name="p", by=BY)
    ticket = store.create_ticket(project.id, title="t", by=BY)
    job = store.create_job(name="j", cron="* * * * *", prompt="p", agent_id="a", by=BY)
    session = new_session(store)
    token = store.create_token(name="t", principal=PERSON, by=BY).record
    store.create_group("spare", name="", by=BY)
    chat, running, stopping = (new_session(store).id for _ in range(3))
    turn, stopped = (store.begin_turn(one, "n1", by=BY).id for one in (running, stopping))
    for due in (DUE, DUE.replace(hour=10)):
        store.claim_job_run(job.id, due, "n1")
    for name in ("KEPT", "GONE", "LOST"):
        store.set_vault_secret(
            name, scope=SecretScope.WORKSPACE, owner=None, note="", value=(f"{name}.1", f"s1.{CANARY}"), by=BY
        )
    store.revoke_vault_secret("GONE", by=BY)
    prompt = Message(Role.USER, (Text(CANARY),))
    problem = TurnProblem("failed", CANARY)
    context, text = RunContext(None, (CANARY,)), CANARY
    job_fields: dict[str, Any] = {"name": text, "cron": "* * * * *", "prompt": text, "agent_id": "a"}
    return {
        "group.create": lambda by: store.create_group("new", name=text, by=by),
        "group.update": lambda by: store.update_group("spare", name=text, description=text, by=by),
        "group.duplicate": lambda by: store.duplicate_group("default", new_id="copy", new_name=text, by=by),
        "rule.create": lambda by: store.create_rule(replace(RULE, note=text), by=by),
        "rule.update": lambda by: store.update_rule(rule.id, replace(RULE, note=text), by=by),
        "rule.delete": lambda by: store.delete_rule(rule.id, by=by),
        "group.delete": lambda by: store.delete_group("spare", by=by),
        "session.create": lambda by: new_session(store, run_context=context, by=by),
        "session.set_run_context": lambda by: store.set_run_context(session.id, context, by=by),
        "session.set_model": lambda by: store.set_model(session.id, "m", by=by),
        "session.end": lambda by: store.end_session(session.id, by=by),
        "turn.begin": lambda by: store.begin_turn(chat, "n1", (prompt,), by=by),
        "turn.failed": lambda by: store.end_turn(turn, TurnState.FAILED, problem, by=by),
        "turn.stopped": lambda by: store.stop_turn(stopped, by=by),
        "job.claim": lambda by: store.claim_job_run(job.id, DUE.replace(hour=11), "n1", by=by),
        "job.start": lambda by: store.start_job_run(job.id, DUE, chat, by=by),
        "job.completed": lambda by: store.end_job_run(
            job.id, DUE.replace(hour=10), JobRunState.COMPLETED, CANARY, by=by
        ),
        "project.create": lambda by: store.create_project(name=text, run_context=context, by=by),
        "project.update": lambda by: store.update_project(
            project.id, name=text, description=text, directory=None, grant_tree=False, by=by
        ),
        "project.set_run_context": lambda by: store.set_project_context(project.id, context, by=by),
        "ticket.create": lambda by: store.create_ticket(project.id, title=text, body=text, by=by),
        "ticket.update": lambda by: store.update_ticket(project.id, ticket.id, title=text, body=text, by=by),
        "ticket.set_run_context": lambda by: store.set_ticket_context(project.id, ticket.id, context, by=by),
        "ticket.delete": lambda by: store.delete_ticket(project.id, ticket.id, by=by),
        "project.delete": lambda by: store.delete_project(project.id, by=by),
        "job.create": lambda by: store.create_job(**job_fields, run_context=context, by=by),
        "job.update": lambda by: store.update_job(job.id, **job_fields, enabled=True, by=by),
        "job.set_run_context": lambda by: store.set_job_context(job.id, context, by=by),
        "job.delete": lambda by: store.delete_job(job.id, by=by),
        "token.create": lambda by: store.create_token(name=text, principal=PERSON, by=by),
        "token.revoke": lambda by: store.revoke_token(token.id, by=by),
        "vault.set": lambda by: store.set_vault_secret(
            "NEW", scope=SecretScope.WORKSPACE, owner=None, note=text, value=("NEW.1", f"s1.{text}"), by=by
        ),
        "vault.reseal": lambda by: store.reseal_vault_values(
            {"KEPT.1": (f"s1.{text}", f"s1.{text}.again")}, by=by, detail={"key": "k"}
        ),
        "vault.forget": lambda by: store.forget_vault_secret("GONE", by=by),
        "vault.forget_unreadable": lambda by: store.forget_vault_rows((), ("LOST.1",), by=by),
        "vault.revoke": lambda by: store.revoke_vault_secret("KEPT", by=by),
        "event.seen": lambda by: store.append_audit(action="event.seen", subject="s", by=by),
    }


class Changes(OnAStore):
    def test_every_change_has_one_audit_row_and_one_revision(self, store: Store) -> None:
        for action, change in changes(store).items():
            revision, total = store.revision(), store.list_audit().total
            change(Actor("eve", "door"))
            assert store.revision() == revision + 1, action
            page = store.list_audit(newest_first=True, limit=1)
            row = page.items[0]
            assert isinstance(row, AuditRecord)
            assert (page.total, row.action, row.actor, row.surface) == (total + 1, action, "eve", "door")
            assert CANARY not in repr(row), "an audit row holds names only"
            moved = store.policy_revision() == store.revision()
            assert moved is action.startswith(("group.", "rule.")), action
        assert store.verify_audit().broken is None

    def test_a_change_whose_audit_row_fails_changes_nothing(self, store: Store, place: Place) -> None:
        ready = changes(store)
        place.refuse("audit", "INSERT", "NEW.surface = 'nowhere'")
        before = place.dump()
        for action, change in ready.items():
            with pytest.raises(StoreUnreadable) as caught:
                change(Actor("ada", "nowhere"))
            assert CANARY not in str(caught.value), action
            assert place.dump() == before, action
        assert ready["session.set_model"](BY).model == "m"

    def test_a_change_by_nobody_changes_nothing(self, store: Store, place: Place) -> None:
        ready = changes(store)
        before = place.dump()
        for nobody in (Actor("", "cli"), Actor("ada", ""), Actor("a\x00", "cli"), Actor("ada", "x" * 600)):
            for change in ready.values():
                with pytest.raises(BadInput, match=r"by\."):
                    change(nobody)
        assert place.dump() == before

    def test_a_copy_that_fails_half_way_leaves_nothing(self, store: Store, place: Place) -> None:
        place.refuse("rules", "INSERT", "NEW.group_id = 'copy' AND NEW.tool_pattern = 'run_code'")
        before = place.dump()
        with pytest.raises(StoreUnreadable):
            store.duplicate_group("default", new_id="copy", new_name="Copy", by=BY)
        assert place.dump() == before

    def test_a_refused_change_changes_nothing(self, store: Store, place: Place) -> None:
        session = new_session(store, session_id="s", run_context=RunContext("g"))
        store.create_group("other", name="", by=BY)
        stale = store.create_rule(RULE, by=BY)
        store.update_rule(stale.id, replace(RULE, priority=1), by=BY)
        token = store.create_token(name="", principal=PERSON, by=BY).record
        before = place.dump()
        refused: list[Callable[[], Any]] = [
            lambda: store.create_group("default", name="", by=BY),
            lambda: store.create_group("", name="", by=BY),
            lambda: store.create_group("x" * 600, name="", by=BY),
            lambda: store.create_group("nul\x00", name="", by=BY),
            lambda: store.create_group("g", name="\ud800", by=BY),
            lambda: store.delete_group("default", by=BY),
            lambda: store.duplicate_group("default", new_id="other", new_name="", by=BY),
            lambda: store.update_group("default", name="\x00", description="", by=BY),
            lambda: store.create_rule(replace(RULE, group_id="nowhere"), by=BY),
            lambda: store.create_rule(replace(RULE, tool_pattern=""), by=BY),
            lambda: store.create_rule(replace(RULE, priority=1 << 40), by=BY),
            lambda: store.update_rule(stale.id, RULE, by=BY, expected=stale),
            lambda: store.update_rule(stale.id, replace(RULE, group_id="nowhere"), by=BY),
            lambda: store.update_rule(stale.id, replace(RULE, path_pattern=""), by=BY),
            lambda: store.set_run_context(session.id, RunContext(""), by=BY),
            lambda: store.set_run_context(session.id, RunContext(None, (5,)), by=BY),  # type: ignore[arg-type]
            lambda: store.set_model(session.id, "", by=BY),
            lambda: new_session(store, session_id="s"),
            lambda: new_session(store, parent_id="\x00"),
            lambda: store.append_audit(action="a", subject="", by=BY),
            lambda: store.append_audit(action="a", subject="s", detail={"x": float("nan")}, by=BY),
            lambda: store.append_audit(action="a", subject="s", detail={"x": object()}, by=BY),
            lambda: store.revoke_token(token.id + "x", by=BY),
        ]
        for at, change in enumerate(refused):
            with pytest.raises(Fault):
                change()
            assert place.dump() == before, at

    def test_of_two_writers_who_saw_the_same_rule_one_wins(self, store: Store, other: Store) -> None:
        seen = store.create_rule(RULE, by=BY)
        ends = together(
            lambda: store.update_rule(seen.id, replace(RULE, priority=1), by=BY, expected=seen),
            lambda: other.update_rule(seen.id, replace(RULE, priority=2), by=BY, expected=seen),
        )
        (winner,) = [end for end in ends if not isinstance(end, Exception)]
        assert [type(end) for end in ends if end is not winner] == [Conflict]
        assert store.get_rule(seen.id) == other.get_rule(seen.id) == winner

    def test_of_two_who_take_one_name_one_gets_it(self, store: Store, other: Store) -> None:
        ends = together(
            lambda: store.create_group("g", name="a", by=BY),
            lambda: other.duplicate_group("default", new_id="g", new_name="b", by=BY),
        )
        assert sum(isinstance(end, Conflict) for end in ends) == 1
        assert sum(isinstance(end, Exception) for end in ends) == 1

    def test_many_writers_lose_nothing(self, store: Store, other: Store) -> None:
        revision = store.revision()

        def work(node: Store, name: str) -> None:
            for number in range(20):
                node.create_rule(replace(RULE, note=f"{name}{number}"), by=Actor(name, "test"))
                assert node.revision() > revision

        assert together(*(lambda n=n, s=s: work(s, n) for n, s in zip("abcd", (store, other) * 2, strict=True))) == (
            [None] * 4
        )
        rules = store.rules("default")
        assert not isinstance(rules, Broken)
        assert {r.note for r in rules} >= {f"{name}{number}" for name in "abcd" for number in range(20)}
        assert store.revision() == revision + 80
        assert store.verify_audit().broken is None

    def test_pages_stay_put_while_rows_come_and_go(self, store: Store) -> None:
        made = [new_session(store) for _ in range(7)]
        first = store.list_sessions(limit=3)
        new_session(store)
        second = store.list_sessions(limit=3, cursor=first.next)
        assert second.total == 8
        third = store.list_sessions(limit=3, cursor=second.next)
        seen = [*first.items, *second.items, *third.items]
        assert seen == made[::-1]
        assert third.next is None
        store.create_group("b", name="", by=BY)
        page = store.list_groups(limit=1)
        store.create_group("a", name="", by=BY)
        store.delete_group("b", by=BY)
        assert [group.id for group in store.list_groups(cursor=page.next).items if not isinstance(group, Broken)] == [
            "default"
        ]

    def test_ids_are_ordered_byte_by_byte(self, store: Store) -> None:
        names = ["Z", "a", "é", "~", "a-b", "aB", "_", "A", "\U0001f600", "ﬀ"]
        for name in names:
            store.create_group(name, name="", by=BY)
        assert [group.id for group in all_of(store.list_groups)] == sorted([*names, "default"])

    def test_a_cursor_that_somebody_made_up_starts_where_it_says_or_is_refused(self, store: Store) -> None:
        page = store.list_rules(limit=1)
        name, *keys = json.loads(urlsafe_b64decode(f"{page.next}=="))

        def forged(priority: int, rule_id: int) -> str:
            said = json.dumps([name, keys[0], priority, rule_id])
            return urlsafe_b64encode(said.encode()).decode().rstrip("=")

        assert store.list_rules(cursor=forged(*keys[1:])).total == page.total
        for far in (1 << 31, (1 << 63) - 1):
            assert store.list_rules(cursor=forged(far, 1)).items == ()
            assert len(store.list_rules(cursor=forged(-far, 1)).items) == page.total
        for priority, rule_id in ((1 << 63, 1), (1, 1 << 63), (1, -(1 << 63) - 1)):
            with pytest.raises(BadInput, match="cursor"):
                store.list_rules(cursor=forged(priority, rule_id))

    def test_a_cursor_belongs_to_its_list(self, store: Store) -> None:
        for _ in range(3):
            new_session(store)
        cursor = store.list_sessions(limit=1).next
        assert cursor is not None
        wrong = ["", "x", "é", cursor[:-3], cursor + "AAAA", "W10", "bnVsbA", "A" * 10_000, "WyJhIiwgMV0"]
        for bad in wrong:
            with pytest.raises(BadInput, match="cursor"):
                store.list_sessions(cursor=bad)
        for listing in (
            lambda: store.list_sessions(cursor=cursor, agent_id="coder"),
            lambda: store.list_sessions(cursor=cursor, ended=False),
            lambda: store.list_projects(cursor=cursor),
            lambda: store.list_audit(cursor=cursor),
        ):
            with pytest.raises(BadInput, match="cursor"):
                listing()
        for limit in (0, -1, 501, True):
            with pytest.raises(BadInput, match="limit"):
                store.list_sessions(limit=limit)
        with pytest.raises(BadInput, match="filtered"):
            store.list_sessions(agent_id="\x00")
