"""Every noun: made, found, listed, changed, removed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stanch.storage.store import Store
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.fault import BadInput, Conflict, NotFound
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import Broken, RuleFields
from tests.stores.opened import OnAStore
from tests.stores.places import BY, PERSON, Place, all_of, new_session

CONTEXT = RunContext("strict", ("Be brief.", "späße \x00 \U0001f600"), ("data", "/srv/out"), ("docs",), "/srv")
DENY = RuleFields(tool_pattern="@read", action=Effect.DENY)


class Nouns(OnAStore):
    def test_groups(self, store: Store) -> None:
        made = store.create_group("strict", name="Strict", description="d", by=BY)
        assert store.get_group("strict") == made
        changed = store.update_group("strict", name="Stricter", description="", by=BY, expected=made)
        assert store.get_group("strict") == changed == replace(made, name="Stricter", description="")
        assert [group.id for group in store.list_groups().items if not isinstance(group, Broken)] == [
            "default",
            "strict",
        ]
        store.create_rule(replace(DENY, group_id="strict"), by=BY)
        store.delete_group("strict", by=BY)
        assert store.list_rules(group_id="strict").total == 0
        for ask in (
            lambda: store.get_group("strict"),
            lambda: store.rules("strict"),
            lambda: store.delete_group("strict", by=BY),
            lambda: store.update_group("strict", name="", description="", by=BY),
            lambda: store.duplicate_group("strict", new_id="x", new_name="", by=BY),
        ):
            with pytest.raises(NotFound, match="no group 'strict'"):
                ask()

    def test_default_can_be_renamed_and_not_deleted(self, store: Store) -> None:
        assert store.update_group("default", name="House rules", description="", by=BY).id == "default"
        with pytest.raises(Conflict, match="default"):
            store.delete_group("default", by=BY)
        assert store.get_group("default").name == "House rules"

    def test_a_copied_group_has_every_rule_in_the_same_order(self, store: Store) -> None:
        store.create_rule(replace(DENY, priority=-3, note="n", source=Source.CRON, agent_id="a"), by=BY)
        store.duplicate_group("default", new_id="copy", new_name="Copy", by=BY)
        original, copy = store.rules("default"), store.rules("copy")
        assert not isinstance(original, Broken)
        assert not isinstance(copy, Broken)
        assert [replace(rule, id=0, group_id="default") for rule in copy] == [replace(rule, id=0) for rule in original]
        assert not {rule.id for rule in copy} & {rule.id for rule in original}

    def test_rules(self, store: Store) -> None:
        fields = RuleFields(
            priority=7,
            agent_id="coder",
            source=Source.TELEGRAM,
            tool_pattern="mcp__*",
            path_pattern="src/**",
            command_pattern="git *",
            action=Effect.ASK,
            mandatory=True,
            note="",
        )
        made = store.create_rule(fields, by=BY)
        assert store.get_rule(made.id) == made
        changed = store.update_rule(made.id, DENY, by=BY, expected=made)
        assert store.get_rule(made.id) == changed
        assert (changed.id, changed.priority, changed.note) == (made.id, 100, None)
        store.delete_rule(made.id, by=BY)
        assert store.create_rule(DENY, by=BY).id > made.id, "an id was given twice"
        for number in (made.id, -1, 1 << 63, 1 << 200):
            with pytest.raises(NotFound):
                store.get_rule(number)

    def test_rules_come_by_priority_then_id(self, store: Store) -> None:
        store.create_group("g", name="", by=BY)
        made = [store.create_rule(replace(DENY, group_id="g", priority=p), by=BY) for p in (5, 1, 5, -2, 1)]
        assert store.rules("g") == tuple(sorted(made, key=lambda rule: (rule.priority, rule.id)))
        assert all_of(store.list_rules, group_id="g") == list(store.rules("g"))  # type: ignore[arg-type]

    def test_a_policy_is_read_whole(self, store: Store) -> None:
        store.create_group("a", name="A", by=BY)
        rule = store.create_rule(replace(DENY, group_id="a"), by=BY)
        policy = store.policy()
        assert [group.id for group in policy.groups] == ["a", "default"]
        assert policy.groups[0].rules == (rule,)
        assert policy.groups[1].rules == store.rules("default")
        assert policy.revision == store.revision()
        assert policy.orphans == ()

    def test_sessions(self, store: Store) -> None:
        parent = new_session(store, session_id="given")
        service = Principal(PrincipalKind.DELEGATED, "ada", "copilot")
        made = new_session(store, principal=service, source=Source.MCP, parent_id="given", run_context=CONTEXT)
        assert store.get_session(made.id) == made
        assert (made.run_context, made.context_given, made.principal) == (CONTEXT, False, service)
        cleared = store.set_run_context(made.id, None, by=BY)
        assert (cleared.run_context, cleared.context_given) == (None, True)
        assert store.set_run_context(made.id, CONTEXT, by=BY).run_context == CONTEXT
        assert store.set_model(made.id, "m-1", by=BY).model == "m-1"
        ended = store.end_session(made.id, by=BY)
        assert store.get_session(made.id) == ended
        assert ended.ended_at is not None
        lates: list[Callable[[], Any]] = [
            lambda: store.end_session(made.id, by=BY),
            lambda: store.set_model(made.id, None, by=BY),
            lambda: store.set_run_context(made.id, None, by=BY),
            lambda: new_session(store, parent_id=made.id),
        ]
        for late in lates:
            with pytest.raises(Conflict, match="has ended"):
                late()
        assert store.list_sessions(parent_id="given").items == (ended,)
        assert store.list_sessions(ended=False).items == (parent,)
        assert store.list_sessions(source=Source.MCP, agent_id="coder").items == (ended,)
        assert store.list_sessions(agent_id="nobody").total == 0
        assert [session.id for session in all_of(store.list_sessions)] == [made.id, "given"], "newest first"

    def test_a_session_names_only_what_exists(self, store: Store) -> None:
        project = store.create_project(name="p", by=BY)
        elsewhere = store.create_project(name="q", by=BY)
        ticket = store.create_ticket(project.id, title="t", by=BY)
        for wrong in (
            {"parent_id": "no"},
            {"project_id": "no"},
            {"job_id": "no"},
            {"project_id": elsewhere.id, "ticket_id": ticket.id},
        ):
            with pytest.raises(NotFound):
                new_session(store, **wrong)
        with pytest.raises(BadInput, match="project"):
            new_session(store, ticket_id=ticket.id)
        assert new_session(store, project_id=project.id, ticket_id=ticket.id).ticket_id == ticket.id

    def test_projects_and_tickets(self, store: Store) -> None:
        project = store.create_project(name="p", description="d", directory="/srv/p", run_context=CONTEXT, by=BY)
        assert store.get_project(project.id) == project
        changed = store.update_project(
            project.id, name="P", description="", directory=None, grant_tree=True, by=BY, expected=project
        )
        assert changed == replace(project, name="P", description="", directory=None, grant_tree=True)
        assert store.set_project_context(project.id, None, by=BY).run_context is None
        ticket = store.create_ticket(project.id, title="t", body="b", by=BY)
        assert store.set_ticket_context(project.id, ticket.id, CONTEXT, by=BY).run_context == CONTEXT
        changed_ticket = store.update_ticket(project.id, ticket.id, title="T", body="", by=BY)
        assert store.get_ticket(project.id, ticket.id) == changed_ticket
        assert store.list_tickets(project.id).items == (changed_ticket,)
        strays: list[Callable[[str], Any]] = [
            lambda nowhere: store.get_ticket(nowhere, ticket.id),
            lambda nowhere: store.set_ticket_context(nowhere, ticket.id, None, by=BY),
            lambda nowhere: store.update_ticket(nowhere, ticket.id, title="", body="", by=BY),
            lambda nowhere: store.delete_ticket(nowhere, ticket.id, by=BY),
        ]
        for stray in strays:
            for nowhere in ("elsewhere", "a\0b", "\ud800"):
                with pytest.raises(NotFound, match="no ticket"):
                    stray(nowhere)
        session = new_session(store, project_id=project.id, ticket_id=ticket.id)
        earlies: list[Callable[[], Any]] = [
            lambda: store.delete_project(project.id, by=BY),
            lambda: store.delete_ticket(project.id, ticket.id, by=BY),
        ]
        for early in earlies:
            with pytest.raises(Conflict, match="in use"):
                early()
        store.end_session(session.id, by=BY)
        store.delete_project(project.id, by=BY)
        assert store.list_projects().total == 0
        with pytest.raises(NotFound, match="no project"):
            store.list_tickets(project.id)
        assert store.get_session(session.id).project_id == project.id, "a session that ended remembers"

    def test_a_ticket_is_deleted_alone(self, store: Store) -> None:
        project = store.create_project(name="p", by=BY)
        keep, gone = (store.create_ticket(project.id, title=title, by=BY) for title in "ab")
        store.delete_ticket(project.id, gone.id, by=BY)
        assert store.list_tickets(project.id).items == (keep,)

    def test_jobs(self, store: Store) -> None:
        job = store.create_job(name="n", cron="0 9 * * *", prompt="p", agent_id="a", run_context=CONTEXT, by=BY)
        assert store.get_job(job.id) == job
        off = store.update_job(job.id, name="m", cron="@daily", prompt="", agent_id="b", enabled=False, by=BY)
        assert off == replace(job, name="m", cron="@daily", prompt="", agent_id="b", enabled=False)
        assert store.list_jobs(enabled=True).total == 0
        assert store.list_jobs(enabled=False).items == (off,)
        assert store.set_job_context(job.id, None, by=BY).run_context is None
        session = new_session(store, job_id=job.id, source=Source.CRON)
        with pytest.raises(Conflict, match="in use"):
            store.delete_job(job.id, by=BY)
        store.end_session(session.id, by=BY)
        store.delete_job(job.id, by=BY)
        with pytest.raises(NotFound, match="no job"):
            store.get_job(job.id)

    def test_tokens(self, store: Store, place: Place) -> None:
        made = store.create_token(name="laptop", principal=PERSON, by=BY)
        assert store.find_token(made.secret) == made.record == store.get_token(made.record.id)
        assert made.secret not in repr(made)
        assert len(made.secret) >= 43
        for wrong in ("", made.secret[:-1], made.secret + "x", "\x00", "\ud800", made.record.id):
            assert store.find_token(wrong) is None
        kept = repr(place.dump())
        assert made.secret not in kept
        assert hashlib.sha256(made.secret.encode()).hexdigest() in kept
        revoked = store.revoke_token(made.record.id, by=BY)
        assert store.find_token(made.secret) is None
        assert store.list_tokens(revoked=True).items == (revoked,)
        assert store.list_tokens(revoked=False).total == 0
        with pytest.raises(Conflict, match="revoked"):
            store.revoke_token(made.record.id, by=BY)
