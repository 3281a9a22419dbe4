"""Calls, requests, questions, bypasses and nodes: what a store keeps of them, and what it tells of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alembic.script import ScriptDirectory

from stanch.gate.approval import Move
from stanch.storage.store import Store
from stanch.values.approval import (
    ApprovalRecord,
    ApprovalState,
    BypassRecord,
    BypassScope,
    CallRecord,
    CallState,
    ClarificationRecord,
    ClarificationState,
    Fingerprint,
)
from stanch.values.call import Category
from stanch.values.fault import BrokenRow, Conflict, NotFound
from stanch.values.identity import Source
from stanch.values.records import AuditRecord, Broken
from tests.stores.opened import OnAStore
from tests.stores.places import BY, Place, all_of, new_session, together

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
REASON = {"code": "rule", "layer": "persisted_rules", "rule": None, "subject": "a", "sentence": "It asks."}


def call_of(session: str, name: str, **fields: Any) -> CallRecord:
    given: dict[str, Any] = {
        "id": f"call_{name}",
        "session_id": session,
        "tool_call_id": "toolu_1",
        "tool": "write_file",
        "arguments": {"path": "a", "content": "é\u202e", "deep": [{"a": None, "b": 1.5}]},
        "state": CallState.AWAITING_APPROVAL,
        "reason": REASON,
        "request_id": f"req_{name}",
        "created_at": NOW,
        "changed_at": NOW,
    }
    return CallRecord(**{**given, **fields})


def request_of(call: CallRecord, **fields: Any) -> ApprovalRecord:
    given: dict[str, Any] = {
        "request_id": str(call.request_id),
        "call_id": call.id,
        "session_id": call.session_id,
        "tool_call_id": call.tool_call_id,
        "tool_name": call.tool,
        "arguments": call.arguments,
        "targets": ({"class": "write", "path": "/a"},),
        "agent_id": "coder",
        "source": Source.WEB,
        "context_label": "CronJob: Daily digest",
        "reason": REASON,
        "asked": ("persisted_rules:rule:default/1",),
        "tool_category": Category.FILESYSTEM,
        "diff": "+a",
        "scripts": {"/x.sh": "00"},
        "fingerprint": Fingerprint("a", "b", "c"),
        "created_at": call.created_at,
    }
    return ApprovalRecord(**{**given, **fields})


def added(store: Store, session: str, name: str, **fields: Any) -> tuple[CallRecord, ApprovalRecord]:
    call = call_of(session, name)
    request = request_of(call, **fields)
    store.add_call(call, request, by=BY)
    return call, request


def bypass_of(session: str, name: str, **fields: Any) -> BypassRecord:
    given: dict[str, Any] = {"scope": BypassScope.ALL, "node": "n1", "created_by": "ada", "created_at": NOW}
    return BypassRecord(**{"id": f"byp_{name}", "session_id": session, **given, **fields})


class Calls(OnAStore):
    def test_what_is_kept_is_read_again(self, store: Store, other: Store) -> None:
        session = new_session(store, approver=False)
        call, request = added(store, session.id, "1", expires_at=NOW + timedelta(days=99999))
        question = ClarificationRecord(
            request_id="ask_1", session_id=session.id, agent_id="coder", question="?", choices=("a",), created_at=NOW
        )
        store.add_clarification(question, by=BY)
        held = bypass_of(session.id, "1", category=Category.SHELL, scope=BypassScope.CATEGORY, include_subagents=True)
        store.add_bypass(held, by=BY)
        assert other.get_session(session.id).approver is False
        assert (other.get_call(call.id), other.get_approval(request.request_id)) == (call, request)
        assert (other.get_clarification("ask_1"), other.get_bypass(held.id)) == (question, held)
        assert other.list_calls(session_id=session.id).items == (call,)
        assert other.list_calls(session_id=session.id, tool=call.tool).items == (call,)
        assert other.list_calls(session_id=session.id, tool="no such").items == ()
        assert other.list_approvals().items == (request,)
        assert other.list_clarifications(session_id=session.id).items == (question,)
        assert other.list_clarifications(session_id="none").items == ()
        assert other.list_bypasses(session.id) == (held,)
        for ask in (other.get_call, other.get_approval, other.get_clarification, other.get_bypass):
            with pytest.raises(NotFound):
                ask("none")

    def test_lists_are_paged(self, store: Store) -> None:
        session = new_session(store).id
        made = [added(store, session, f"{at}", created_at=NOW + timedelta(seconds=at))[1] for at in range(7)]
        assert list(all_of(store.list_approvals)) == made
        store.resolve_approval("req_3", ApprovalState.REJECTED, by=BY, now=NOW)
        assert store.list_approvals().total == 6
        assert store.list_approvals(state=None).total == 7
        assert store.list_calls(state=CallState.REJECTED).total == 1

    def test_a_row_that_cannot_be_read_is_named(self, store: Store, place: Place) -> None:
        session = new_session(store).id
        added(store, session, "1")
        for table, column, value in (
            ("calls", "state", "done"),
            ("calls", "arguments", "[]"),
            ("approvals", "fingerprint", "x"),
            ("approvals", "asked", "{}"),
            ("approvals", "state", "yes"),
        ):
            kept = place.rows(f"SELECT {column} FROM {table}")[0][0]
            place.rows(f"UPDATE {table} SET {column} = '{value}'")
            read = store.get_call if table == "calls" else store.get_approval
            with pytest.raises(BrokenRow):
                read("call_1" if table == "calls" else "req_1")
            with pytest.raises(BrokenRow):
                store.resolve_approval("req_1", ApprovalState.APPROVED, by=BY)
            place.rows(f"UPDATE {table} SET {column} = '{kept}'")
        assert store.resolve_approval("req_1", ApprovalState.APPROVED, by=BY)[1].state is CallState.PENDING

    def test_a_new_request_takes_the_place_of_an_open_one_alone(self, store: Store) -> None:
        call, request = added(store, new_session(store).id, "1")
        new = replace(request, request_id="req_2")
        moved = store.ask_again(call.id, new, reason=REASON, replaces="req_1", answer="d", expected=call, by=BY)
        assert (moved.request_id, store.get_approval("req_1").state) == ("req_2", ApprovalState.REPLACED)
        third = replace(request, request_id="req_3")
        with pytest.raises(Conflict, match="replaced"):
            store.ask_again(call.id, third, reason=REASON, replaces="req_1", by=BY)
        with pytest.raises(Conflict, match="meanwhile"):
            store.ask_again(call.id, third, reason=REASON, expected=call, by=BY)
        late = added(store, call.session_id, "late", expires_at=NOW)[1]
        with pytest.raises(Conflict, match="expired"):
            store.ask_again("call_late", replace(late, request_id="r"), reason=REASON, replaces="req_late", by=BY)

    def test_expiry_takes_requests_and_questions_whose_time_has_come(self, store: Store) -> None:
        session = new_session(store).id
        for at in range(3):
            added(store, session, f"{at}", expires_at=NOW + timedelta(seconds=at))
            store.add_clarification(
                ClarificationRecord(
                    request_id=f"ask_{at}", session_id=session, agent_id="a", question="?", created_at=NOW,
                    expires_at=NOW + timedelta(seconds=at),
                ),
                by=BY,
            )  # fmt: skip
        assert store.expire_due(NOW + timedelta(seconds=1)) == ["req_0", "req_1", "ask_0", "ask_1"]
        assert store.expire_due(NOW + timedelta(seconds=1)) == []
        assert store.get_call("call_1").reason["code"] == "approval_expired"
        assert store.get_clarification("ask_1").state is ClarificationState.EXPIRED
        assert store.get_clarification("ask_2").state is ClarificationState.OPEN

    def test_a_plan_has_its_own_calls_alone_in_its_order(self, store: Store) -> None:
        session = new_session(store).id
        plan, near = f"plan_{'a' * 24}", f"plan_{'a' * 23}b"
        for name, call_id in (
            ("2", f"{plan}_0002"),
            ("0", f"{plan}_0000"),
            ("near", f"{near}_0000"),
            ("upper", f"{plan.upper()}_0000"),
            ("alone", plan),
            ("behind", f"{plan}`"),
        ):
            call = call_of(session, name, id=call_id)
            store.add_call(call, request_of(call), by=BY)
        found = store.list_plan(plan)
        assert [one.request_id for one in found if not isinstance(one, Broken)] == ["req_0", "req_2"]
        store.resolve_approval("req_0", ApprovalState.REJECTED, by=BY, now=NOW)
        assert store.open_in_plans([near, plan]) == {near: ("req_near",), plan: ("req_2",)}
        assert len(store.list_plan(plan)) == 2

    def test_a_call_whose_approval_nobody_used_in_time_ends(self, store: Store, other: Store) -> None:
        session = new_session(store).id
        spans = {"short": timedelta(seconds=1), "long": timedelta(days=99_999)}
        for name, span in spans.items():
            # WHY: an answer is as of the store's clock, from which it counts.
            added(store, session, name, created_at=NOW, expires_at=NOW + span)
            store.resolve_approval(f"req_{name}", ApprovalState.APPROVED, by=BY, now=NOW)
        pending = store.get_call("call_short")
        later = datetime.now(UTC) + timedelta(seconds=2)
        assert other.expire_due(later) == ["call_short"]
        assert store.expire_due(later) == []
        assert store.get_call("call_short").reason["code"] == "approval_lapsed"
        assert store.get_call("call_long").state is CallState.PENDING
        with pytest.raises(Conflict, match="rejected"):
            store.move_call(pending.id, Move.START, node="n", expected=pending, by=BY)
        with pytest.raises(Conflict, match="not over"):
            store.lapse_call("call_long")

    def test_events_are_told_from_where_one_stopped(self, store: Store, other: Store) -> None:
        start = store.last_event()
        session = new_session(store).id
        store.create_project(name="p", by=BY)
        added(store, session, "1")
        store.resolve_approval("req_1", ApprovalState.APPROVED, by=BY)
        store.move_call("call_1", Move.START, node="n1", by=BY)
        kinds = ("call", "approval", "session")
        told = [one for one in other.list_events(start, kinds) if isinstance(one, AuditRecord)]
        assert [one.action for one in told] == ["session.create", "call.ask", "approval.approved", "call.start"]
        assert other.list_events(told[1].seq, kinds) == told[2:]
        assert other.list_events(start, ("call",), limit=1) == [told[1]]
        assert other.list_events(other.last_event(), kinds) == []

    def test_a_request_is_claimed_by_one_who_may_tell_it(self, store: Store, other: Store) -> None:
        session, hold = new_session(store).id, timedelta(seconds=60)
        for at in range(12):
            added(store, session, f"{at}")
        revision = store.revision()
        claims = [
            claim
            for _ in range(3)
            for claim in together(*(lambda s=s: s.claim_untold(hold) for s in (store, other) * 3))
        ]
        assert sorted(one.request_id for one, tries in filter(None, claims) if tries == 1) == sorted(
            f"req_{at}" for at in range(12)
        )
        assert store.claim_untold(hold) is None
        store.told("req_0")
        store.tell_later("req_1", timedelta(seconds=-1))
        again = other.claim_untold(hold)
        assert again is not None
        assert (again[0].request_id, again[1]) == ("req_1", 2)
        assert store.revision() == revision, "who was told is nothing that anybody asks for"
        store.stop_telling("req_1", why="status 500", tries=2, by=BY)
        store.tell_later("req_1", timedelta(seconds=-1))
        assert store.claim_untold(hold) is None
        assert store.get_approval("req_1").state is ApprovalState.OPEN
        store.tell_later("req_2", timedelta(seconds=-1))
        store.resolve_approval("req_2", ApprovalState.REJECTED, by=BY)
        assert store.claim_untold(hold) is None, "what is answered is no news"

    def test_a_dead_node_leaves_nothing_running(self, store: Store) -> None:
        session = new_session(store).id
        added(store, session, "1")
        store.resolve_approval("req_1", ApprovalState.APPROVED, by=BY)
        store.add_node("n1")
        store.move_call("call_1", Move.START, node="n1", by=BY)
        store.add_bypass(bypass_of(session, "1"), by=BY)
        store.add_bypass(bypass_of(session, "2", node="n2"), by=BY)
        assert store.list_gone_nodes(timedelta(0), but="n2") == ["n1"]
        assert store.list_gone_nodes(timedelta(hours=1), but="n2") == []
        store.end_node("n1")
        assert store.get_call("call_1").state is CallState.INTERRUPTED
        held = [one.id for one in store.list_bypasses(session) if not isinstance(one, Broken)]
        assert held == ["byp_2"]
        assert store.list_gone_nodes(timedelta(0), but="n2") == []

    def test_an_older_store_is_brought_up_to_date_with_its_rows(self, place: Place) -> None:
        store = Store.open(place.url)
        with pytest.MonkeyPatch.context() as patch:
            real = ScriptDirectory.get_current_head
            wanted = ScriptDirectory._upgrade_revs
            patch.setattr(ScriptDirectory, "_upgrade_revs", lambda self, to, at: wanted(self, "0001", at))
            patch.setattr(ScriptDirectory, "get_current_head", lambda self: "0001")
            store.migrate()
            patch.setattr(ScriptDirectory, "get_current_head", real)
        assert "older version 0001" in store.ready().problem
        place.rows(
            "INSERT INTO sessions (id, agent_id, source, principal_kind, principal_id, context_given, created_at)"
            " VALUES ('s1', 'coder', 'web', 'user', 'ada', 0, '2026-05-04T12:00:00.000000+00:00')"
        )
        rules, rows = store.list_rules(limit=500).items, store.list_audit().total
        store.migrate()
        assert store.ready().ready
        assert store.get_session("s1").approver is True
        assert store.list_rules(limit=500).items == rules
        assert store.list_audit().total == rows + 1
        assert store.verify_audit().broken is None
        added(store, "s1", "1")
        assert store.list_approvals().total == 1
        store.close()
